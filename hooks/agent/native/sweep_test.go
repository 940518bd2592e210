package native

// The fault sweep: every turn of a session is cut behind every byte of its stream, on every protocol. Whatever is
// lost, the session ends as if nothing had happened.

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// sweepStep is how many bytes lie between two cuts of a sweep.
func sweepStep() int {
	switch {
	case sweepFull():
		return 1
	case testing.Short() || raceOn:
		return 29
	}
	return 5
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

// A downtime refuses every request until it is over, each after a while.
type downtime struct {
	until time.Time
	takes time.Duration
	down  modeltest.Server // what it says until then

	mu        sync.Mutex
	waiting   int
	most      int // at once, after the first was refused
	refused   int
	whenAsked []time.Duration // before the end
}

func (d *downtime) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		left := time.Until(d.until)
		if left <= 0 {
			next.ServeHTTP(w, r)
			return
		}
		d.mu.Lock()
		d.waiting++
		if d.refused > 0 {
			d.most = max(d.most, d.waiting)
		}
		d.whenAsked = append(d.whenAsked, left)
		d.mu.Unlock()
		time.Sleep(d.takes)
		d.mu.Lock()
		d.waiting--
		d.refused++
		d.mu.Unlock()
		d.down.ServeHTTP(w, r)
	})
}

// Three conversations go to one provider, which is down for a while: each learns it for itself once, then one at a
// time tries, and who tries pays with its own budget; when it is up again all of them end as if nothing had happened.
func TestThreeTurnsBeforeOneGate(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
			synctest.Test(t, func(t *testing.T) {
				const length = 40 * time.Second // one turn alone can outlast it
				breaker := &Breaker{}
				down := &downtime{until: time.Now().Add(length), takes: 5 * time.Second, down: modeltest.Server{
					Scenario: modeltest.Scenario{Turns: []modeltest.Turn{{Status: http.StatusServiceUnavailable, Times: 1000}}},
				}}
				var all sync.WaitGroup
				start := time.Now()
				for _, dir := range dirs {
					all.Go(func() {
						s := &session{provider: provider, stage: &stage{}, dir: dir, takes: time.Second, breaker: breaker}
						ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
						defer cancel()
						err := s.play(ctx, inMemory, &http.Client{Transport: wire{down.before(s.stage)}})
						if err == nil {
							err = s.journalHolds()
						}
						if err != nil {
							t.Errorf("%v\n%s", err, s.show())
						}
					})
				}
				all.Wait()
				if down.most != 1 || down.refused > len(dirs)+5 || down.refused < len(dirs)+2 {
					t.Errorf("while it was down it was asked %d times, %d at once at most; %v before the end", down.refused, down.most, down.whenAsked)
				}
				if took := time.Since(start); took > length+mostDelay+10*time.Second {
					t.Errorf("all ended after %v", took)
				}
				if breaker.down || breaker.probing {
					t.Error("the breaker is closed")
				}
			})
		})
	}
}

// journalHolds is wrong without the requests that were refused, which the stage has not seen.
func (s *session) journalHolds() error {
	if _, _, err := s.journal(); err != nil {
		return err
	}
	return s.differs()
}

// The same session cut at places that are drawn, on real connections: the kernel decides what of a reset stream still
// arrives.

// sweepSeed is new each time; ASYNC_PIPELINE_SWEEP_SEED asks for the draws of an earlier sweep.
func sweepSeed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("ASYNC_PIPELINE_SWEEP_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("ASYNC_PIPELINE_SWEEP_SEED=%d", seed)
	return seed
}

func TestSweepSockets(t *testing.T) {
	t.Parallel()
	draws := 20
	if sweepFull() {
		draws = 200
	}
	rng := rand.New(rand.NewPCG(sweepSeed(t), 1))
	streams := map[string][]string{}
	for _, p := range allProviders {
		streams[p] = record(t, p)
	}
	next := make(chan func())
	var hands sync.WaitGroup
	for range 10 { // most of a session is the second before it goes on
		hands.Go(func() {
			for do := range next {
				do()
			}
		})
	}
	for range draws {
		provider := allProviders[rng.IntN(len(allProviders))]
		turn := rng.IntN(len(sweepStory))
		f := modeltest.Fault{Kind: []string{modeltest.Cut, modeltest.End}[rng.IntN(2)], Bytes: rng.IntN(len(streams[provider][turn]) + 1)}
		dir := t.TempDir()
		next <- func() {
			s := &session{provider: provider, stage: &stage{faults: map[int][]modeltest.Fault{turn: {f}}}, dir: dir}
			web := httptest.NewServer(s.stage)
			defer web.Close()
			defer s.stage.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			transport := &http.Transport{DisableCompression: true}
			defer transport.CloseIdleConnections()
			err := s.play(ctx, web.URL, &http.Client{Transport: transport})
			if err == nil {
				err = s.wrong()
			}
			if n := count(s.stage.served, turn); err != nil || n > 2 || len(s.stage.served) != len(sweepStory)+n-1 {
				t.Errorf("%s, turn %d cut (%s) behind byte %d: %v\n%s", provider, turn+1, f.Kind, f.Bytes, err, s.show())
			}
		}
	}
	close(next)
	hands.Wait()
}
