package fix

import (
	"slices"
	"testing"
	"time"
)

// From the files: what is applied, passes and comes back.
func TestListFollows(t *testing.T) {
	t.Parallel()
	before, after := files{"a": "f:1"}, files{"a": "f:2"}
	s := newStore(t, before)
	p := sealed(t, s, "test", before, after, func(_ *Draft, f *Fix) { f.Fingerprint = ptr("fp:1") })
	check(t, addDecision(p.statePath(), p.digest, decision{To: applied}))
	items, errs := s.List()
	if len(errs) > 0 || len(items) != 1 || *items[0].Fingerprint != "fp:1" || items[0].PassedIn != nil || items[0].RecurredIn == nil {
		t.Fatalf("%+v %v", items, errs)
	}
	later := time.Now().Add(time.Hour)
	Follow(items, []End{{Run: "x", Task: "test", At: later, Passed: true}, {Run: "y", Task: "test", At: later, Fingerprint: func() string { return "fp:1" }}})
	if items[0].PassedIn == nil || *items[0].PassedIn != "x" || !slices.Equal(items[0].RecurredIn, []string{"y"}) {
		t.Errorf("%+v", items[0])
	}
	s.Follow(p, []End{{Run: "x", Task: "test", At: later, Passed: true}})
	if p.PassedIn == nil || *p.PassedIn != "x" {
		t.Errorf("%v", p.PassedIn)
	}
}
