package native

// A circuit breaker for one provider.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A Breaker is the circuit breaker of one provider. All turns that ask the provider share it. While the provider is
// down, one turn at a time tries it and all others wait for the result. The zero Breaker lets everybody pass. It is
// safe for concurrent use. A turn that tries and fails pays with a recovery of its own. So that no turn pays for all,
// those that wait try in the order in which they came, and one that has failed goes to the end of the queue.
type Breaker struct {
	mu      sync.Mutex
	down    bool
	probing bool          // one turn is trying
	tried   time.Time     // ... since then
	next    time.Time     // no try before this
	asked   time.Time     // no try before this, as the provider asked
	queue   []*waiter     // in the order in which they came
	changed chan struct{} // closed when the above changes; nil: nobody waits
}

// A waiter is a turn that waits. It is not empty, so that each has an address of its own.
type waiter struct{ _ byte }

// longestTry is how long one try holds up the others. The provider may be well although a model thinks for minutes
// before its first word.
const longestTry = mostDelay

// enter waits until the provider may be asked: not at all while it is up, else until this turn is the one to try. It
// reports whether the request is such a try. A nil Breaker lets everybody pass. If the provider has said that it
// answers nobody before ctx ends, enter returns a *model.Error of kind rate_limited at once: the time is enough for
// another agent.
func (g *Breaker) enter(ctx context.Context) (probe bool, err error) {
	if g == nil {
		return false, ctx.Err()
	}
	var me *waiter // nil: not in the queue
	defer func() { g.leave(me) }()
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		g.mu.Lock()
		if !g.down {
			g.mu.Unlock()
			return false, nil
		}
		if until, ok := ctx.Deadline(); ok && g.asked.After(until) {
			left := time.Until(g.asked)
			g.mu.Unlock()
			return false, &model.Error{
				Kind: failure.RateLimited, RetryAfter: left, Retryable: true,
				Message: fmt.Sprintf("the provider asks to wait another %s, which is more time than is left",
					left.Round(time.Second)),
			}
		}
		if me == nil {
			me = &waiter{}
			g.queue = append(g.queue, me)
		}
		first := g.queue[0] == me
		wait := g.wait()
		if first && wait <= 0 {
			g.probing, g.tried = true, time.Now()
			g.mu.Unlock()
			return true, nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		var may <-chan time.Time // nil: only a change lets this turn try
		if first {
			may = time.After(wait)
		}
		select {
		case <-changed:
		case <-may:
		case <-ctx.Done():
		}
	}
}

// wait returns how long nobody may try. g.mu is held.
func (g *Breaker) wait() time.Duration {
	next := g.next
	if held := g.tried.Add(longestTry); g.probing && held.After(next) {
		next = held
	}
	return time.Until(next)
}

// leave removes a waiter from the queue and wakes the others.
func (g *Breaker) leave(me *waiter) {
	if me != nil {
		g.set(func() { g.queue = slices.DeleteFunc(g.queue, func(w *waiter) bool { return w == me }) })
	}
}

// failed records that the provider is down: nobody tries before wait has passed. probe is the result of enter.
func (g *Breaker) failed(probe bool, wait time.Duration) {
	g.set(func() {
		g.down = true
		if until := time.Now().Add(wait); until.After(g.next) {
			g.next = until
		}
		if probe {
			g.probing = false
		}
	})
}

// limited is failed for as long as the provider asked for.
func (g *Breaker) limited(probe bool, wait time.Duration) {
	g.failed(probe, wait)
	g.set(func() {
		if until := time.Now().Add(wait); until.After(g.asked) {
			g.asked = until
		}
	})
}

// blocked reports whether enter would wait now, and how long at least.
func (g *Breaker) blocked() (wait time.Duration, closed bool) {
	if g == nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	wait = max(0, time.Until(g.next))
	return wait, g.down && (g.probing || wait > 0 || len(g.queue) > 0)
}

// answered records that the provider is up.
func (g *Breaker) answered(probe bool) {
	g.set(func() {
		g.down, g.next, g.asked = false, time.Time{}, time.Time{}
		if probe {
			g.probing = false
		}
	})
}

// left records that a try was given up without a result. Another turn may try.
func (g *Breaker) left(probe bool) {
	if probe {
		g.set(func() { g.probing = false })
	}
}

// set changes the state and wakes those that wait for a change.
func (g *Breaker) set(change func()) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
