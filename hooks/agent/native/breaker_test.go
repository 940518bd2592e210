package native

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// When the provider is down, one turn tries at a time, not before it may, and all others wait; when it answers, all
// go.
func TestGateLetsOneTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g Breaker
		ctx := context.Background()
		start := time.Now()
		if probe, err := g.enter(ctx); probe || err != nil {
			t.Fatal("an open breaker stops")
		}
		g.failed(false, 4*time.Second)

		var mu sync.Mutex
		var entered []time.Duration
		probes := 0
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				probe, err := g.enter(ctx)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				entered = append(entered, time.Since(start))
				first := probe && probes == 0
				if probe {
					probes++
				}
				mu.Unlock()
				if !probe {
					return
				}
				time.Sleep(time.Second)
				if first {
					g.failed(true, 8*time.Second)
				} else {
					g.answered(true)
				}
			})
		}
		wg.Wait()
		want := []time.Duration{4 * time.Second, 13 * time.Second, 14 * time.Second, 14 * time.Second, 14 * time.Second}
		for i, at := range entered {
			if at != want[i] {
				t.Fatalf("entered at %v, want %v", entered, want)
			}
		}
		if probes != 2 {
			t.Errorf("%d tried, want 2", probes)
		}
	})
}

func TestGateForgetsOneThatLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g Breaker
		g.failed(false, time.Second)
		if probe, _ := g.enter(context.Background()); !probe {
			t.Fatal("nobody tries")
		}
		ctx, cancel := context.WithTimeout(context.Background(), longestTry-time.Second)
		defer cancel()
		if _, err := g.enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a second one was let in beside the one that tries: %v", err)
		}
		g.left(true)
		if probe, err := g.enter(context.Background()); !probe || err != nil {
			t.Error("after the one that tried had gone, nobody may try")
		}
	})
}

// Those that wait try in the order in which they came; who failed comes behind them, also when it is there at the
// same moment.
func TestGateKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g Breaker
		g.failed(false, 10*time.Second)
		var mu sync.Mutex
		var tried []int
		var wg sync.WaitGroup
		for name := range 4 {
			time.Sleep(time.Millisecond) // they come one after the other
			wg.Go(func() {
				for range 3 {
					if probe, err := g.enter(context.Background()); !probe || err != nil {
						t.Errorf("%d was let in, %v", name, err)
					}
					mu.Lock()
					tried = append(tried, name)
					mu.Unlock()
					time.Sleep(time.Second)
					g.failed(true, 4*time.Second)
					time.Sleep(4 * time.Second)
				}
			})
		}
		wg.Wait()
		if want := []int{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}; !slices.Equal(tried, want) {
			t.Errorf("tried %v, want %v", tried, want)
		}
		if len(g.queue) != 0 {
			t.Errorf("%d wait for ever", len(g.queue))
		}
	})
}

// Who gives up while it waits holds up nobody behind it.
func TestGateWithoutItsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g Breaker
		g.failed(false, 10*time.Second)
		start := time.Now()
		impatient, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := g.enter(impatient); !errors.Is(err, context.Canceled) {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if probe, err := g.enter(context.Background()); !probe || err != nil || time.Since(start) != 10*time.Second {
				t.Errorf("the second: %v, %v after %v", probe, err, time.Since(start))
			}
		})
		synctest.Wait()
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
	})
}

// A try that takes long, a model that thinks before its first word, does not hold up the others for minutes.
func TestGateOfALongTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g Breaker
		g.failed(false, 0)
		start := time.Now()
		var wg sync.WaitGroup
		for n := range 3 {
			time.Sleep(time.Millisecond)
			wg.Go(func() {
				probe, err := g.enter(context.Background())
				if at := time.Since(start).Round(time.Second); !probe || err != nil || at != time.Duration(n)*longestTry {
					t.Errorf("%d: %v, %v at %v", n, probe, err, at)
				}
				time.Sleep(10 * time.Minute)
				g.answered(probe)
			})
		}
		wg.Wait()
		if probe, err := g.enter(context.Background()); probe || err != nil || g.down {
			t.Errorf("the breaker is not open: %v, %v", probe, err)
		}
	})
}

// Turns that share a breaker do not ask a provider that is down all at once. In a long outage no turn spends its
// budget for the others: together they last as long as all their recoveries, and nobody ends much before the last.
func TestGateInAnOutage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outage time.Duration
		turns  int
		tries  int // requests while it is down, besides the first of each turn
		kind   failure.Kind
	}{
		{10 * time.Second, 4, 3, ""},
		{150 * time.Second, 3, 3 * maxRecoveries, ""},
		{time.Hour, 3, 3 * maxRecoveries, failure.TransportDisconnect},
	} {
		synctest.Test(t, func(t *testing.T) {
			breaker, start := &Breaker{}, time.Now()
			first, last := time.Hour, time.Duration(0)
			tries := -c.turns
			var mu sync.Mutex
			var all sync.WaitGroup
			for range c.turns {
				d := newDesk(t)
				d.Breaker = breaker
				d.script.more = func(int) step {
					if time.Since(start) >= c.outage {
						return step{text: finalText}
					}
					mu.Lock()
					defer mu.Unlock()
					tries++
					return step{err: lost()}
				}
				all.Go(func() {
					turn := d.turn(context.Background())
					mu.Lock()
					defer mu.Unlock()
					if turn.Kind != c.kind || *turn.Requests > 1+maxRecoveries {
						t.Errorf("outage of %v: kind %q after %d requests", c.outage, turn.Kind, *turn.Requests)
					}
					first, last = min(first, time.Since(start)), max(last, time.Since(start))
				})
			}
			all.Wait()
			if tries > c.tries {
				t.Errorf("outage of %v: asked %d times while it was down", c.outage, tries)
			}
			if c.kind != "" && (last < 2*time.Minute || last-first > 2*mostDelay) {
				t.Errorf("outage of %v: the first gave up after %v, the last after %v", c.outage, first, last)
			}
		})
	}
}

func TestNoGateIsOpen(t *testing.T) {
	t.Parallel()
	var g *Breaker
	g.failed(false, time.Hour)
	if _, err := g.enter(context.Background()); err != nil {
		t.Error(err)
	}
	g.answered(false)
	g.left(false)
}

// What a provider asks for holds for those that have the time; who has not is told at once, and another agent can use
// the time.
func TestGateThatWillNotOpenInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := func(after time.Duration) step {
			return step{err: &model.Error{Kind: "rate_limited", Status: 429, Message: "slow down", RetryAfter: after}}
		}
		breaker := &Breaker{}
		first := newDesk(t, limit(5*time.Minute), step{text: finalText})
		first.Breaker = breaker
		turns := make(chan agent.Turn)
		go func() { turns <- first.turn(context.Background()) }()
		synctest.Wait()

		second := newDesk(t)
		second.Breaker = breaker
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		start := time.Now()
		turn, took := second.ends(ctx, failure.RateLimited, 0)
		if took != 0 || turn.RetryAfter == nil || *turn.RetryAfter != 5*time.Minute {
			t.Errorf("after %s, retry after %v", took, turn.RetryAfter)
		}
		if want := "the provider is down: waiting for another turn's retry, in 300 s"; !slices.Equal(second.notices, []string{want}) {
			t.Errorf("the terminal shows %q", second.notices)
		}
		if turn := <-turns; turn.Kind != "" || time.Since(start) != 5*time.Minute {
			t.Errorf("the first ended with kind %q after %s", turn.Kind, time.Since(start))
		}
	})
}

// A turn that gives up because it would have to wait too long does not close the breaker for so long.
func TestGateOfOneThatGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		breaker := &Breaker{}
		first := newDesk(t, step{err: &model.Error{Kind: "rate_limited", Status: 429, Message: "in an hour", RetryAfter: time.Hour}})
		first.Breaker = breaker
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		if turn, _ := first.ends(ctx, failure.RateLimited, 1); *turn.RetryAfter != time.Hour {
			t.Errorf("retry after %s", turn.RetryAfter)
		}
		second := newDesk(t, step{text: finalText})
		second.Breaker = breaker
		if _, took := second.ends(ctx, "", 1); took > mostDelay {
			t.Errorf("the next ended after %s", took)
		}
	})
}
