package native

// The fault sweep: every turn of a session is cut behind every byte of its stream, on every protocol. Whatever is lost, the session
// ends as if nothing had happened.

import (
	"context"
	"net/http"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// sweepStep is how many bytes lie between two cuts of a sweep.
func sweepStep() int {
	if sweepFull() || !testing.Short() && !raceOn {
		return 1
	}
	return 17
}

func sweepFull() bool { return os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" }

// A spot is where a turn of the story is cut, and how.
type spot struct {
	turn int
	modeltest.Fault
}

// A sweep is many sessions on one protocol, one after the other, in a bubble in which waiting takes no time.
type sweep struct {
	t        *testing.T
	provider string
	dir      string
	lost     map[spot]bool // cut there, the turn was asked for again
	sessions int
}

// sweeping begins two sweeps a protocol, of one kind of cut each. spots are behind every byte of every turn, by turn.
func sweeping(t *testing.T, do func(s *sweep, spots [][]spot)) {
	t.Helper()
	for _, provider := range allProviders {
		for _, kind := range []string{modeltest.Cut, modeltest.End} {
			t.Run(provider+"/"+kind, func(t *testing.T) {
				t.Parallel()
				var spots [][]spot
				for turn, stream := range record(t, provider) {
					var all []spot
					for at := 0; at < len(stream); at += sweepStep() {
						all = append(all, spot{turn, modeltest.Fault{Kind: kind, Bytes: at}})
					}
					spots = append(spots, append(all, spot{turn, modeltest.Fault{Kind: kind, Bytes: len(stream)}}))
				}
				s := &sweep{provider: provider, dir: t.TempDir(), lost: map[spot]bool{}}
				synctest.Test(t, func(t *testing.T) {
					s.t = t
					do(s, spots)
				})
				t.Logf("%d cuts in %d sessions", len(s.lost), s.sessions)
			})
		}
	}
}

// play plays one session with cuts, and gives those to which it did not come, because what came before them lost nothing.
func (s *sweep) play(cuts []spot, again bool) (one *session, left []spot) {
	s.t.Helper()
	s.sessions++
	faults := map[int][]modeltest.Fault{}
	for _, c := range cuts {
		faults[c.turn] = append(faults[c.turn], c.Fault)
	}
	one = &session{provider: s.provider, stage: &stage{faults: faults, again: again}, dir: s.dir, takes: slow}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := one.play(ctx, inMemory, &http.Client{Transport: wire{one.stage}}); err != nil {
		s.t.Fatalf("cut at %v: %v", cuts, err)
	}
	for turn, all := range faults {
		served := count(one.stage.served, turn)
		for i, f := range all {
			if i < served {
				s.lost[spot{turn, f}] = i+1 < served
			} else {
				left = append(left, spot{turn, f})
			}
		}
	}
	return one, left
}

// whole says that the session ended as if nothing had happened to it.
func (s *sweep) whole(one *session, cuts []spot) {
	s.t.Helper()
	if err := one.wrong(); err != nil {
		s.t.Fatalf("cut at %v: %v\n%s", cuts, err, one.show())
	}
	if !slices.IsSorted(one.stage.served) {
		s.t.Fatalf("cut at %v: the turns came as %v", cuts, one.stage.served)
	}
}

// counted says that of every turn the cuts up to some byte lost something, and those after it nothing.
func (s *sweep) counted(spots [][]spot) {
	s.t.Helper()
	for _, all := range spots {
		n := 0
		for i, c := range all {
			lost, was := s.lost[c]
			if !was || lost && n < i {
				s.t.Errorf("cut %+v: made: %v, lost anything: %v; %d cuts before it did", c, was, lost, n)
			}
			if lost {
				n++
			}
		}
		if n == 0 || n == len(all) {
			s.t.Errorf("of %d cuts of turn %d %d lost something", len(all), all[0].turn+1, n)
		}
	}
}

// Each session takes as many cuts as the budget has recoveries.
func TestSweepEveryByte(t *testing.T) {
	t.Parallel()
	sweeping(t, func(s *sweep, spots [][]spot) {
		todo := make([][]spot, len(spots))
		copy(todo, spots)
		for {
			var cuts []spot
			for range maxRecoveries {
				most := 0
				for turn := range todo {
					if len(todo[turn]) > len(todo[most]) {
						most = turn
					}
				}
				if len(todo[most]) == 0 {
					break
				}
				cuts = append(cuts, todo[most][0])
				todo[most] = todo[most][1:]
			}
			if len(cuts) == 0 {
				break
			}
			one, left := s.play(cuts, false)
			s.whole(one, cuts)
			for _, c := range left {
				todo[c.turn] = append(todo[c.turn], c)
			}
		}
		s.counted(spots)
	})
}
