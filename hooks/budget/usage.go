package budget

import (
	"fmt"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
)

// A tally is a sum of what agents said that they used. What they do not say is unknown, never 0; the caps of a budget
// hold for what is known.
type tally struct {
	sum     float64
	any     bool // something was said
	partial bool // something was not
}

func (k *tally) add(n, atLeast *float64) {
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
func (k *tally) total() (sum, atLeast *float64) {
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
	b.tokens.add(float(tokens(t)), float(t.Tokens.AtLeast))
	b.cost.add(t.CostUSD, t.CostAtLeast)
}

// tokens returns input and output together; nil: a part is unknown.
func tokens(t agent.Turn) *int64 {
	if t.Tokens.Input == nil || t.Tokens.Output == nil {
		return nil
	}
	return new(*t.Tokens.Input + *t.Tokens.Output)
}

func float(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

func whole(n *float64) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// Tokens returns how many tokens were used, or, where a part of that is unknown, how many at least. Both are nil
// where nobody said anything.
func (b *Budget) Tokens() (used, atLeast *int64) {
	n, least := b.tokens.total()
	return whole(n), whole(least)
}

// Cost is Tokens for the cost in US dollars.
func (b *Budget) Cost() (used, atLeast *float64) { return b.cost.total() }

// Spent tells which cap of the budget is spent; empty: none.
func (b *Budget) Spent() string {
	switch {
	case b.Limit.Tokens > 0 && b.tokens.sum >= float64(b.Limit.Tokens):
		return fmt.Sprintf("%.0f of %d tokens are used", b.tokens.sum, b.Limit.Tokens)
	case b.Limit.CostUSD > 0 && b.cost.sum >= b.Limit.CostUSD:
		return fmt.Sprintf("$%.4f of $%.4f are used", b.cost.sum, b.Limit.CostUSD)
	}
	return ""
}

// Caps returns what a turn may use; 0 is no cap. A cap that is spent leaves the least amount there is.
func (b *Budget) Caps() (tokens int64, cost float64) {
	if b.Limit.Tokens > 0 {
		tokens = max(1, b.Limit.Tokens-int64(b.tokens.sum))
	}
	if b.Limit.CostUSD > 0 {
		cost = max(1e-9, b.Limit.CostUSD-b.cost.sum)
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
		tell("tokens", "agent %s did not report all tokens it used: the budget counts the %d it reported", agent, *least)
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
