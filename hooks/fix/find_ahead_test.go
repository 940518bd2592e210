package fix

import (
	"testing"
)

// A proposal of a run that was made while the clock was wrong does not hide those that are made later.
func TestFindLatestAheadOfTheClock(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	ahead := "20991231T235959Z-ffff"
	sealedIn(t, s, ahead, "test", change(one, two), nil)
	if p, err := s.Find("latest", ""); err != nil || p.Run != ahead {
		t.Errorf("of one run: %+v, %v", p, err)
	}
	sealedIn(t, s, runID, "test", change(one, two), nil)
	if p, err := s.Find("latest", "test"); err != nil || p.Run != runID {
		t.Errorf("latest: %+v, %v", p, err)
	}
}
