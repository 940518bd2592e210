package native

// The gate before a provider: when it is down, one turn tries and all others wait for what comes of it.

import (
	"context"
	"sync"
	"time"
)

// A Gate stands before one provider; all turns that ask it share the Gate. The zero Gate is open. It is safe for concurrent use.
type Gate struct {
	mu      sync.Mutex
	down    bool
	probing bool          // one is trying
	next    time.Time     // no try before this
	changed chan struct{} // closed when the above changes; nil: nobody waits
}

// enter waits until the provider may be asked: at once while all is well, else as the one that tries. A nil Gate is open.
func (g *Gate) enter(ctx context.Context) (probe bool, err error) {
	if g == nil {
		return false, ctx.Err()
	}
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		g.mu.Lock()
		if !g.down {
			g.mu.Unlock()
			return false, nil
		}
		wait := time.Until(g.next)
		if !g.probing && wait <= 0 {
			g.probing = true
			g.mu.Unlock()
			return true, nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed, probing := g.changed, g.probing
		g.mu.Unlock()

		var soon <-chan time.Time
		var timer *time.Timer
		if !probing {
			timer = time.NewTimer(wait)
			soon = timer.C
		}
		select {
		case <-changed:
		case <-soon:
		case <-ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
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

// answered opens the gate: the provider was heard.
func (g *Gate) answered(probe bool) {
	g.set(func() {
		g.down, g.next = false, time.Time{}
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
