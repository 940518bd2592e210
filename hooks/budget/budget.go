// Package budget bounds what the agents of one hook use: the wall clock, attempts, retries, waits, tokens and cost.
// Every layer asks it, and nobody counts beside it.
package budget

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// ErrWallClock is the cause of a context that ended because the wall clock of the budget did.
var ErrWallClock = errors.New("the wall clock of the budget ended")

// leastUseful is the least wall clock that is worth another attempt.
const leastUseful = 20 * time.Second

// A Budget belongs to the goroutine that started it, but for Left, which any may call.
type Budget struct {
	Limit pipeline.Budget

	started  time.Time
	reserved time.Duration // of the wall clock, for verification
	now      Attempt
	retried  map[string]bool // agents that had their retry
	waits    int             // for a reset that an agent announced
	warned   map[string]bool // caps that cannot be enforced
	tokens   tally
	cost     tally
}

// Start starts the wall clock. Of it need is kept back for verification, but at most half.
func Start(limit pipeline.Budget, need time.Duration) *Budget {
	return &Budget{
		Limit: limit, started: time.Now(), reserved: min(need, limit.WallClock/2), now: Attempt{Of: limit.Attempts},
		retried: map[string]bool{}, warned: map[string]bool{},
	}
}

// Enough returns the wall clock that would have left enough time for a verification that needs so long; 0: it did.
func Enough(limit pipeline.Budget, need time.Duration) time.Duration {
	if need <= limit.WallClock/2 {
		return 0
	}
	return (2*need + time.Second).Truncate(time.Second)
}

// Used returns how much of the wall clock is used.
func (b *Budget) Used() time.Duration { return time.Since(b.started) }

// Left returns how much of the wall clock is left.
func (b *Budget) Left() time.Duration { return max(0, time.Until(b.end())) }

// LeftForAgent returns how much of the wall clock an agent may still use; verification needs the rest.
func (b *Budget) LeftForAgent() time.Duration { return max(0, time.Until(b.end().Add(-b.reserved))) }

func (b *Budget) end() time.Time { return b.started.Add(b.Limit.WallClock) }

// Wall returns a context that ends with the wall clock.
func (b *Budget) Wall(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, b.end(), ErrWallClock)
}

// ForAgent returns a context that ends when an agent has used its part of the wall clock, or after most, where most
// is not 0.
func (b *Budget) ForAgent(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	until := b.end().Add(-b.reserved)
	if most > 0 && time.Until(until) > most {
		until = time.Now().Add(most)
	}
	return context.WithDeadlineCause(ctx, until, ErrWallClock)
}

// An Attempt tells whose turn it is, as a person counts: attempts of the budget, and tries of one. What follows a
// failure inside an attempt (a retry, a wait, the next agent) is another try of it. The rows of the record, and the
// files that are named after them, count tries from the first to the last.
type Attempt struct {
	Number, Of int // from 1
	Try        int // from 1; 0: it has not begun
}

// Attempt returns whose turn it is.
func (b *Budget) Attempt() Attempt { return b.now }

// Next begins the next attempt. Where there is none it returns false, and why: empty where all attempts are used.
func (b *Budget) Next() (ok bool, why string) {
	next := Attempt{Number: b.now.Number + 1, Of: b.now.Of}
	if next.Number > next.Of {
		return false, ""
	}
	if next.Number > 1 { // the first is always worth it
		why = b.Spent()
		if left := b.LeftForAgent(); left < leastUseful {
			why = fmt.Sprintf("only %s of the wall clock is left", left.Round(time.Second))
		}
		if why != "" {
			return false, fmt.Sprintf("%s not started: %s", next.Long(), why)
		}
	}
	b.now = next
	return true, ""
}

// Try begins the next try of the attempt.
func (b *Budget) Try() { b.now.Try++ }

// String returns "attempt 1", or "attempt 1, try 2".
func (a Attempt) String() string { return fmt.Sprintf("attempt %d", a.Number) + a.again() }

// Long also tells how many attempts there can be: "attempt 1 of 2, try 2".
func (a Attempt) Long() string { return fmt.Sprintf("attempt %d of %d", a.Number, a.Of) + a.again() }

func (a Attempt) again() string {
	if a.Try < 2 {
		return ""
	}
	return fmt.Sprintf(", try %d", a.Try)
}
