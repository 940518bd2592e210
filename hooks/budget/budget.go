// Package budget bounds what the agents of one hook use: the wall clock, attempts, retries, waits, tokens and cost.
// Every layer asks it, and nobody counts beside it.
package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
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
	apart    func() time.Duration // how long the wall clock was stopped since it was started
	need     time.Duration        // that verification will take
	reserved time.Duration        // of the wall clock, for verification
	now      Attempt
	retried  map[string]bool // agents that had their retry
	waits    int             // for a reset that an agent announced
	review   bool            // a share is kept for a second opinion
	warned   map[string]bool // caps that cannot be enforced
	tokens   tally[int64]
	cost     tally[float64] // US dollars
}

// Start starts the wall clock. Of it need is kept back: for verification, at most half, and before it for the end of an
// agent that does not stop by itself. While the time that apart returns grows, the wall clock stops.
func Start(limit pipeline.Budget, need time.Duration, apart func() time.Duration) *Budget {
	before := apart()
	return &Budget{
		Limit: limit, started: time.Now(), apart: func() time.Duration { return apart() - before },
		need: need, reserved: min(need, mostKept(limit)), now: Attempt{Of: limit.Attempts},
		retried: map[string]bool{}, warned: map[string]bool{},
	}
}

// mostKept returns the most that is kept back of a wall clock. A quarter at least is an agent's own.
func mostKept(limit pipeline.Budget) time.Duration {
	return limit.WallClock/2 + min(sandbox.Grace, limit.WallClock/4)
}

// Enough returns the wall clock that would have left enough time for a verification that needs so long; 0: it did.
func Enough(limit pipeline.Budget, need time.Duration) time.Duration {
	if need <= mostKept(limit) {
		return 0
	}
	return (2*need + time.Second).Truncate(time.Second)
}

// Used returns how much of the wall clock is used.
func (b *Budget) Used() time.Duration { return time.Since(b.started) - b.apart() }

// Left returns how much of the wall clock is left.
func (b *Budget) Left() time.Duration { return max(0, time.Until(b.end())) }

// LeftForAgent returns how much of the wall clock an agent may still use; verification needs the rest.
func (b *Budget) LeftForAgent() time.Duration { return b.leftBut(b.reserved) }

// leftBut returns how much of the wall clock is left but for what is kept.
func (b *Budget) leftBut(kept time.Duration) time.Duration {
	return max(0, time.Until(b.end().Add(-kept)))
}

// Short returns why there is no time for an agent that needs at least so much; empty: there is.
func (b *Budget) Short(least time.Duration) string { return short(b.LeftForAgent(), least) }

func short(left, least time.Duration) string {
	if left >= least {
		return ""
	}
	return fmt.Sprintf("an agent would have only %s of the wall clock, verification needs the rest",
		left.Round(time.Second))
}

// Kept tells how much of the wall clock no agent may use, and what for; empty: nothing.
func (b *Budget) Kept() string {
	kept, use := b.reserved+b.reviewWall(), "its end and verification"
	if kept == 0 {
		return ""
	}
	if b.review {
		use = "its end, verification and a second opinion"
	}
	return fmt.Sprintf("%s of wall_clock %s are kept for %s", kept.Round(100*time.Millisecond), b.Limit.WallClock, use)
}

// end returns when the wall clock ends if it is not stopped any more, without what is kept for a second opinion.
func (b *Budget) end() time.Time {
	return b.started.Add(b.Limit.WallClock - b.reviewWall() + b.apart())
}

// Wall returns a context that ends with the wall clock. It does not see that the clock stops, so it is made anew for
// each piece of work.
func (b *Budget) Wall(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, b.end(), ErrWallClock)
}

// ForAgent returns a context that ends when an agent has used its part of the wall clock. As for Wall, it is made when
// the agent starts.
func (b *Budget) ForAgent(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, b.end().Add(-b.reserved), ErrWallClock)
}

const (
	leastReport = 10 * time.Second // of the wall clock; with less no agent is asked for its report
	mostReport  = 2 * time.Minute
)

// ShortForReport returns why there is no time to ask an agent for its report; empty: there is. changed means that the
// agent left a difference.
func (b *Budget) ShortForReport(changed bool) string {
	return short(b.leftBut(b.keptOfReport(changed)), leastReport)
}

// ForReport is ForAgent for a turn in which an agent is only asked for its report.
func (b *Budget) ForReport(ctx context.Context, changed bool) (context.Context, context.CancelFunc) {
	left := min(b.leftBut(b.keptOfReport(changed)), mostReport)
	return context.WithDeadlineCause(ctx, time.Now().Add(left), ErrWallClock)
}

// keptOfReport returns how much of the wall clock a question for a report leaves to the verification: all that it needs,
// where there is a difference to verify. The report is worth less than the verdict.
func (b *Budget) keptOfReport(changed bool) time.Duration {
	if changed {
		return b.need
	}
	return b.reserved
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
		if why := cmp.Or(b.Short(leastUseful), b.Spent()); why != "" {
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

// A tally is a sum of what agents said that they used. What they do not say is unknown, never 0; the caps of a budget
// hold for what is known.
type tally[N int64 | float64] struct {
	sum     N
	any     bool // something was said
	partial bool // something was not
}

func (k *tally[N]) add(n, atLeast *N) {
	switch {
	case n != nil:
		k.sum, k.any = k.sum+*n, true
	case atLeast != nil:
		k.sum, k.any, k.partial = k.sum+*atLeast, true, true
	default:
		k.partial = true
	}
}

// total returns the sum, or, where a part of it is unknown, what it is at least.
func (k *tally[N]) total() (sum, atLeast *N) {
	switch {
	case !k.any:
		return nil, nil
	case k.partial:
		return nil, new(k.sum)
	}
	return new(k.sum), nil
}

// Add adds what a turn used.
func (b *Budget) Add(t agent.Turn) {
	b.tokens.add(tokens(t), t.Tokens.AtLeast)
	b.cost.add(t.CostUSD, t.CostAtLeast)
}

// tokens returns input and output together; nil: a part is unknown.
func tokens(t agent.Turn) *int64 {
	if t.Tokens.Input == nil || t.Tokens.Output == nil {
		return nil
	}
	return new(*t.Tokens.Input + *t.Tokens.Output)
}

// Tokens returns how many tokens were used, or, where a part of that is unknown, how many at least. Both are nil
// where nobody said anything.
func (b *Budget) Tokens() (used, atLeast *int64) { return b.tokens.total() }

// Cost is Tokens for the cost in US dollars.
func (b *Budget) Cost() (used, atLeast *float64) { return b.cost.total() }

// Spent tells which cap of the budget is spent; empty: none.
func (b *Budget) Spent() string {
	switch {
	case b.Limit.Tokens > 0 && b.tokens.sum >= b.Limit.Tokens-b.reviewTokens():
		return fmt.Sprintf("%d of %d tokens are used", b.tokens.sum, b.Limit.Tokens) + b.restKept()
	case b.Limit.CostUSD > 0 && b.cost.sum >= b.Limit.CostUSD-b.reviewCost():
		return fmt.Sprintf("$%.4f of $%.4f are used", b.cost.sum, b.Limit.CostUSD) + b.restKept()
	}
	return ""
}

// Caps returns what a turn may use; 0 is no cap. A cap that is spent leaves the least amount there is.
func (b *Budget) Caps() (tokens int64, cost float64) {
	if b.Limit.Tokens > 0 {
		tokens = max(1, b.Limit.Tokens-b.reviewTokens()-b.tokens.sum)
	}
	if b.Limit.CostUSD > 0 {
		cost = max(1e-9, b.Limit.CostUSD-b.reviewCost()-b.cost.sum)
	}
	return tokens, cost
}

// Unenforced tells which caps do not hold because the agent did not tell what the turn used, each once a hook.
func (b *Budget) Unenforced(agent string, t agent.Turn) (told []string) {
	if t.Requests != nil && *t.Requests == 0 {
		return nil // it used nothing
	}
	tell := func(limit, format string, args ...any) {
		if !b.warned[limit] {
			b.warned[limit] = true
			told = append(told, fmt.Sprintf(format, args...))
		}
	}
	metered, least := tokens(t) != nil, t.Tokens.AtLeast
	switch {
	case b.Limit.Tokens == 0 || metered:
	case least != nil:
		tell("tokens", "agent %s did not report all tokens it used: the budget counts the %d it reported",
			agent, *least)
	default:
		tell("tokens", "agent %s does not report its tokens: the budget's tokens are not enforced, its wall_clock is", agent)
	}
	switch {
	case b.Limit.CostUSD == 0 || t.CostUSD != nil:
	case t.CostAtLeast != nil:
		tell("cost_usd", "agent %s did not report its whole cost: the budget counts the $%.4f it reported", agent,
			*t.CostAtLeast)
	case metered || least != nil:
		tell("cost_usd", "the price of agent %s's model is not known: the budget's cost_usd is not enforced, its wall_clock is", agent)
	default:
		tell("cost_usd", "agent %s does not report its cost: the budget's cost_usd is not enforced, its wall_clock is",
			agent)
	}
	return told
}
