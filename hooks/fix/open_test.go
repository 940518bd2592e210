package fix

import (
	"testing"
)

func TestEarlier(t *testing.T) {
	t.Parallel()
	before, after := files{"a": "f:1"}, files{"a": "f:2"}
	s := newStore(t, before)
	sealed(t, s, "test", before, after, printed("fp:1"))
	sealedIn(t, s, laterRun, "test", change(before, after), printed("fp:1"))
	rejectedOne := sealedIn(t, s, laterRun, "lint", change(before, after), printed("fp:2"))
	check(t, addDecision(rejectedOne.statePath(), rejectedOne.digest, decision{To: rejected}))
	sealedIn(t, s, laterRun, "vet", nil, printed("fp:1")) // no proposal
	alike, opened, errs := s.Earlier("fp:1")
	if len(errs) > 0 || opened != 2 || len(alike) != 2 || alike[0].Run != laterRun || alike[1].Run != runID {
		t.Errorf("%d open, alike %v, %v", opened, alike, errs)
	}
	if alike, opened, _ := s.Earlier("fp:2"); opened != 2 || len(alike) != 1 || alike[0].Disposition != rejected {
		t.Errorf("%d open, alike %v", opened, alike)
	}
	if alike, _, _ := s.Earlier(""); len(alike) > 0 {
		t.Errorf("alike nothing: %v", alike)
	}
}
