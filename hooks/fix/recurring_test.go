package fix_test

import (
	"slices"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// From the files: what is applied, passes and comes back.
func TestListFollows(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := fixtest.NewStore(t, before)
	p := fixtest.Sealed(t, s, "test", before, after, func(_ *draft.Draft, f *fix.Fix) { f.Fingerprint = new("fp:1") })
	fixtest.Check(t, fix.AddState(p.StatePath(), p.Digest, fix.StateChange{To: fix.Applied}))
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 1 || *items[0].Fingerprint != "fp:1" || items[0].PassedIn != nil ||
		items[0].RecurredIn == nil {
		t.Fatalf("%+v %v", items, errs)
	}
	later := time.Now().Add(time.Hour)
	fix.Follow(items, []fix.End{{Run: "x", Task: "test", At: later, Passed: true},
		{Run: "y", Task: "test", At: later, Fingerprint: func() string { return "fp:1" }}})
	if items[0].PassedIn == nil || *items[0].PassedIn != "x" || !slices.Equal(items[0].RecurredIn, []string{"y"}) {
		t.Errorf("%+v", items[0])
	}
	s.Follow(p, []fix.End{{Run: "x", Task: "test", At: later, Passed: true}})
	if p.PassedIn == nil || *p.PassedIn != "x" {
		t.Errorf("%v", p.PassedIn)
	}
}
