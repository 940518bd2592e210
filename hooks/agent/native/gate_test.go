package native

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// When the provider is down, one turn tries at a time, not before it may, and all others wait; when it answers, all go.
func TestGateLetsOneTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		ctx := context.Background()
		start := time.Now()
		if probe, err := g.enter(ctx); probe || err != nil {
			t.Fatal("an open gate stops")
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
		var g Gate
		g.failed(false, time.Second)
		if probe, _ := g.enter(context.Background()); !probe {
			t.Fatal("nobody tries")
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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

func TestNoGateIsOpen(t *testing.T) {
	t.Parallel()
	var g *Gate
	g.failed(false, time.Hour)
	if _, err := g.enter(context.Background()); err != nil {
		t.Error(err)
	}
	g.answered(false)
	g.left(false)
}

// Turns that share a gate do not ask a provider that is down all at once.
func TestGateOfTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := &Gate{}
		start := time.Now()
		down := start.Add(10 * time.Second)
		s := newScript(t)
		s.more = func(int) step {
			if time.Now().Before(down) {
				return step{err: lost()}
			}
			return step{text: finalText}
		}
		kinds := make(chan agent.Kind)
		for range 4 {
			go func() {
				a := &Agent{Ask: s.ask, Gate: gate, open: (&toolbox{}).hands, random: func() float64 { return 1 }}
				turn, _ := a.Turn(context.Background(), agent.Request{Prompt: "x"})
				kinds <- turn.Kind
			}()
		}
		for range 4 {
			if k := <-kinds; k != "" {
				t.Errorf("kind %q", k)
			}
		}
		var at []int
		for _, when := range s.at[4:] { // the first of each came at once
			at = append(at, int(when.Sub(start)/time.Second))
		}
		tries := 0
		for _, s := range at {
			if s < 10 {
				tries++
			}
		}
		if tries > 3 {
			t.Errorf("asked at %v s: %d times while it was down", at, tries)
		}
	})
}

// What a provider asks for holds for those that have the time; who has not is told at once, and another agent can use the time.
func TestGateThatWillNotOpenInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := func(after time.Duration) step {
			return step{err: &model.Error{Kind: "rate_limited", Status: 429, Message: "slow down", RetryAfter: after}}
		}
		gate := &Gate{}
		first := newDesk(t, limit(5*time.Minute), step{text: finalText})
		first.Gate = gate
		turns := make(chan agent.Turn)
		go func() { turns <- first.turn(context.Background()) }()
		synctest.Wait()

		second := newDesk(t)
		second.Gate = gate
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		start := time.Now()
		turn := second.turn(ctx)
		if turn.Kind != agent.RateLimited || *turn.Requests != 0 || time.Since(start) != 0 || turn.RetryAfter == nil || *turn.RetryAfter != 5*time.Minute {
			t.Errorf("kind %q (%s) after %d requests and %s", turn.Kind, turn.Evidence, *turn.Requests, time.Since(start))
		}
		if want := "the model's provider is in trouble: another conversation tries it first, in 300 s"; len(second.notices) != 1 || second.notices[0] != want {
			t.Errorf("the terminal shows %q", second.notices)
		}
		if turn := <-turns; turn.Kind != "" || time.Since(start) != 5*time.Minute {
			t.Errorf("the first ended with kind %q after %s", turn.Kind, time.Since(start))
		}
	})
}

// A turn that gives up because it would have to wait too long does not close the gate for so long.
func TestGateOfOneThatGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := &Gate{}
		first := newDesk(t, step{err: &model.Error{Kind: "rate_limited", Status: 429, Message: "in an hour", RetryAfter: time.Hour}})
		first.Gate = gate
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		if turn := first.turn(ctx); turn.Kind != agent.RateLimited || *turn.RetryAfter != time.Hour {
			t.Errorf("kind %q", turn.Kind)
		}
		second := newDesk(t, step{text: finalText})
		second.Gate = gate
		start := time.Now()
		if turn := second.turn(ctx); turn.Kind != "" || time.Since(start) > mostDelay {
			t.Errorf("the next ended with kind %q after %s", turn.Kind, time.Since(start))
		}
	})
}
