package native

// The fault sweep: every turn of a session is cut behind every byte of its stream, on every protocol. Whatever is
// lost, the session ends as if nothing had happened.

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
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

// lessGC: the heap of a sweep is small and what it throws away is not; a third of its time would go into looking for
// that.
var lessGC = sync.OnceFunc(func() { debug.SetGCPercent(800) })

func sweepFull() bool { return os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" }

// The kinds of cuts: the connection is reset, or it ends as if all were well.
var cutKinds = []string{modeltest.Cut, modeltest.End}

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

// sweeping begins a sweep for each protocol and kind of cut. spots lie step bytes apart, by turn. Unless all is asked
// for, the kinds take turns at them.
func sweeping(t *testing.T, step int, kinds []string, do func(s *sweep, spots [][]spot)) {
	t.Helper()
	lessGC()
	for _, provider := range allProviders {
		for k, kind := range kinds {
			t.Run(provider+"/"+kind, func(t *testing.T) {
				t.Parallel()
				var spots [][]spot
				for turn, stream := range record(t, provider) {
					var all []spot
					for i, at := 0, 0; at < len(stream); i, at = i+1, at+step {
						if sweepFull() || i%len(kinds) == k {
							all = append(all, spot{turn, modeltest.Fault{Kind: kind, Bytes: at}})
						}
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

// play plays one session with cuts, and gives those to which it did not come, because what came before them lost
// nothing.
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

// Each session takes as many cuts as the budget has recoveries; where all is asked for, each cut has a session of its
// own too.
func TestSweepEveryByte(t *testing.T) {
	t.Parallel()
	sweeping(t, sweepStep(), cutKinds, func(s *sweep, spots [][]spot) {
		s.all(spots, maxRecoveries)
		s.counted(spots)
		if sweepFull() {
			clear(s.lost)
			s.all(spots, 1)
			s.counted(spots)
		}
	})
}

// A stream that falls silent is given up, and that is all that is different.
func TestSweepSilence(t *testing.T) {
	t.Parallel()
	step := max(61, 5*sweepStep())
	if sweepFull() {
		step = 1
	}
	sweeping(t, step, []string{modeltest.Stall}, func(s *sweep, spots [][]spot) {
		s.all(spots, maxRecoveries)
		s.counted(spots)
	})
}

// all cuts at every spot, most in one session.
func (s *sweep) all(spots [][]spot, most int) {
	s.t.Helper()
	todo := slices.Clone(spots)
	for {
		var cuts []spot
		for range most {
			next := 0
			for turn := range todo {
				if len(todo[turn]) > len(todo[next]) {
					next = turn
				}
			}
			if len(todo[next]) == 0 {
				break
			}
			cuts = append(cuts, todo[next][0])
			todo[next] = todo[next][1:]
		}
		if len(cuts) == 0 {
			return
		}
		one, left := s.play(cuts, false)
		if err := one.wrong(); err != nil {
			s.t.Fatalf("cut at %v: %v\n%s", cuts, err, one.show())
		}
		if !slices.IsSorted(one.stage.served) {
			s.t.Fatalf("cut at %v: the turns came as %v", cuts, one.stage.served)
		}
		for _, c := range left {
			todo[c.turn] = append(slices.Clone(todo[c.turn]), c)
		}
	}
}

// A model that asks anew for what it had asked for, under another ID, is not refused: what ran already runs again
// only because it was told so and asked all the same. What it is told is that the call is done, with its result; or
// that nothing was done.
func TestSweepAskedAnew(t *testing.T) {
	t.Parallel()
	step := max(61, 5*sweepStep())
	if sweepFull() {
		step = 3
	}
	sweeping(t, step, cutKinds, func(s *sweep, spots [][]spot) {
		for _, c := range slices.Concat(spots...) {
			one, _ := s.play([]spot{c}, true)
			if err := s.askedAnew(one, c); err != nil {
				s.t.Fatalf("cut at %+v: %v\n%s", c, err, one.show())
			}
		}
	})
}

func (s *sweep) askedAnew(one *session, c spot) error {
	if err := one.always(); err != nil {
		return err
	}
	first := slices.Index(one.stage.served, c.turn)
	if first+1 == len(one.stage.served) { // the cut lost nothing of the last turn
		return one.wrong()
	}
	told := one.stage.bodies[first+1]
	page := sweepStory[c.turn]
	done := len(page.proofs) > 0 && strings.Contains(told, page.proofs[0])
	ran, want := slices.Clone(sweepTools), maps.Clone(sweepAfter)
	if done {
		for _, call := range page.Calls {
			ran = append(ran, call.Name)
			if call.Name == "run" {
				want["witness"] += want["witness"]
			}
		}
		slices.Sort(ran)
	}
	found, err := tree(one.dir)
	switch {
	case err != nil:
		return err
	case !maps.Equal(found, want):
		return fmt.Errorf("the tree is %q", found)
	case !slices.Equal(one.ran, ran):
		return fmt.Errorf("done before it was asked for again: %v; the tools ran as %v", done, one.ran)
	}
	for _, proof := range page.proofs {
		if strings.Count(told, proof) != map[bool]int{true: 1}[done] {
			return fmt.Errorf("done: %v, and the model was told %q %d times", done, proof, strings.Count(told, proof))
		}
	}
	unstarted := 0
	for _, l := range one.lines {
		if l.Type == "tool_result" && l.Data["started"] == false {
			unstarted++
			if text := l.Data["text"]; text != saidBroken && text != saidUnstarted {
				return fmt.Errorf("of a call that never ran the model was told %q", text)
			}
		}
	}
	nothing := strings.Count(told, saidBroken) + strings.Count(told, saidUnstarted)
	if nothing != unstarted || done && nothing > 0 || strings.Contains(told, "Do not repeat") {
		return fmt.Errorf("done: %v; of %d calls that never ran it was told of %d: %s", done, unstarted, nothing, told)
	}
	return nil
}
