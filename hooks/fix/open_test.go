package fix_test

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

func TestEarlier(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := fixtest.NewStore(t, before)
	fixtest.Sealed(t, s, "test", before, after, fixtest.Printed("fp:1"))
	fixtest.SealedIn(t, s, fixtest.LaterRun, "test", fixtest.Change(before, after), fixtest.Printed("fp:1"))
	rejectedOne := fixtest.SealedIn(t, s, fixtest.LaterRun, "lint", fixtest.Change(before, after),
		fixtest.Printed("fp:2"))
	fixtest.Check(t, fix.AddState(rejectedOne.StatePath(), rejectedOne.Digest, fix.StateChange{To: fix.Rejected}))
	fixtest.SealedIn(t, s, fixtest.LaterRun, "vet", nil, fixtest.Printed("fp:1")) // no proposal
	alike, opened, errs := s.Earlier("fp:1")
	if len(errs) > 0 || opened != 2 || len(alike) != 2 || alike[0].Run != fixtest.LaterRun ||
		alike[1].Run != fixtest.RunID {
		t.Errorf("%d open, alike %v, %v", opened, alike, errs)
	}
	if alike, opened, _ := s.Earlier("fp:2"); opened != 2 || len(alike) != 1 || alike[0].Disposition != fix.Rejected {
		t.Errorf("%d open, alike %v", opened, alike)
	}
	if alike, _, _ := s.Earlier(""); len(alike) > 0 {
		t.Errorf("alike nothing: %v", alike)
	}
}
