package fix_test

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// A proposal of a run that was made while the clock was wrong does not hide those that are made later.
func TestFindLatestAheadOfTheClock(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	ahead := "20991231T235959Z-ffff"
	fixtest.SealedIn(t, s, ahead, "test", fixtest.Change(fixtest.One, fixtest.Two), nil)
	if p, err := s.Find("latest", ""); err != nil || p.Run != ahead {
		t.Errorf("of one run: %+v, %v", p, err)
	}
	fixtest.SealedIn(t, s, fixtest.RunID, "test", fixtest.Change(fixtest.One, fixtest.Two), nil)
	if p, err := s.Find("latest", "test"); err != nil || p.Run != fixtest.RunID {
		t.Errorf("latest: %+v, %v", p, err)
	}
}
