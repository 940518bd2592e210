package native

// The gate before a provider: when it is down, one turn tries and all others wait for what comes of it, and for their turn.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A Gate stands before one provider; all turns that ask it share the Gate. The zero Gate is open. It is safe for concurrent use.
//
// Who tries and fails pays for it with a recovery of its own. So that no turn pays for all, those that wait try in the order in which
// they came, and who has failed comes behind them.
type Gate struct {
	mu      sync.Mutex
	down    bool
	probing bool          // one is trying
	tried   time.Time     // ... since then
	next    time.Time     // no try before this
	asked   time.Time     // ... and not before this by the provider's own word
	queue   []*turnstile  // who waits, in the order in which they came
	changed chan struct{} // closed when the above changes; nil: nobody waits
}

// A turnstile is one that waits; it is not empty, so that each has an address of its own.
type turnstile struct{ _ byte }

// longestTry is how long one that tries holds up the others: a model that thinks before its first word may take minutes, and the
// provider is well.
const longestTry = mostDelay

// enter waits until the provider may be asked: at once while all is well, else as the one that tries. A nil Gate is open. When
// the provider has said that it answers nobody before ctx ends, the error is a *model.Error, rate_limited, and comes at once:
// another agent can use the time.
func (g *Gate) enter(ctx context.Context) (probe bool, err error) {
	if g == nil {
		return false, ctx.Err()
	}
	var me *turnstile // nil: not in the queue
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
				Message: fmt.Sprintf("the provider has asked to be left alone for another %s, which is more time than there is", left.Round(time.Second)),
			}
		}
		if me == nil {
			me = &turnstile{}
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
		if !first {
			wait = forEver
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

const forEver = math.MaxInt64 * time.Nanosecond

// wait is how long nobody may try. g.mu is held.
func (g *Gate) wait() time.Duration {
	next := g.next
	if held := g.tried.Add(longestTry); g.probing && held.After(next) {
		next = held
	}
	return time.Until(next)
}

// leave takes one out of the queue; the next in it looks again.
func (g *Gate) leave(me *turnstile) {
	if me != nil {
		g.set(func() { g.queue = slices.DeleteFunc(g.queue, func(w *turnstile) bool { return w == me }) })
	}
}

// failed closes the gate: nobody tries before wait has passed. probe is what enter said.
func (g *Gate) failed(probe bool, wait time.Duration) {
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

// limited closes the gate for as long as the provider asked for.
func (g *Gate) limited(probe bool, wait time.Duration) {
	g.failed(probe, wait)
	g.set(func() {
		if until := time.Now().Add(wait); until.After(g.asked) {
			g.asked = until
		}
	})
}

// closed says whether enter would wait now, and how long at least.
func (g *Gate) closed() (wait time.Duration, closed bool) {
	if g == nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	wait = max(0, time.Until(g.next))
	return wait, g.down && (g.probing || wait > 0 || len(g.queue) > 0)
}

// answered opens the gate: the provider was heard.
func (g *Gate) answered(probe bool) {
	g.set(func() {
		g.down, g.next, g.asked = false, time.Time{}, time.Time{}
		if probe {
			g.probing = false
		}
	})
}

// left says that the one that tried has gone without an answer either way; another may try.
func (g *Gate) left(probe bool) {
	if probe {
		g.set(func() { g.probing = false })
	}
}

func (g *Gate) set(change func()) {
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
