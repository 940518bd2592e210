package hooks

import (
	"fmt"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A spend is what the turns of a healing have used, as far as agents say it. What they do not say is unknown, never 0; the caps
// hold for what is known.
type spend struct {
	tokens, cost tally
}

// A tally is a sum, with what of it is known.
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

func (s *spend) add(t agent.Turn) {
	s.tokens.add(tokensOf(t.Tokens), float(t.Tokens.AtLeast))
	s.cost.add(t.CostUSD, t.CostAtLeast)
}

// tokensOf is input and output together; nil: a part is unknown.
func tokensOf(t agent.Tokens) *float64 {
	if t.Input == nil || t.Output == nil {
		return nil
	}
	return new(float64(*t.Input + *t.Output))
}

func float(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// used is for the record: tokens and cost, or the least they can be, where only a part was said.
func (s *spend) used() (u fix.Amounts) {
	switch {
	case !s.tokens.any:
	case s.tokens.partial:
		u.TokensAtLeast = new(int64(s.tokens.sum))
	default:
		u.Tokens = new(int64(s.tokens.sum))
	}
	switch {
	case !s.cost.any:
	case s.cost.partial:
		u.CostAtLeast = new(s.cost.sum)
	default:
		u.CostUSD = new(s.cost.sum)
	}
	return u
}

// over says which cap of the budget is spent, in words; empty: none.
func (s *spend) over(b pipeline.Budget) string {
	switch {
	case b.Tokens > 0 && s.tokens.sum >= float64(b.Tokens):
		return fmt.Sprintf("%.0f of %d tokens are used", s.tokens.sum, b.Tokens)
	case b.CostUSD > 0 && s.cost.sum >= b.CostUSD:
		return fmt.Sprintf("$%.4f of $%.4f are used", s.cost.sum, b.CostUSD)
	}
	return ""
}

// leftOf is what a turn may use; 0 is no cap. A cap that is spent leaves the least amount there is.
func (s *spend) leftOf(b pipeline.Budget) (tokens int64, cost float64) {
	if b.Tokens > 0 {
		tokens = max(1, b.Tokens-int64(s.tokens.sum))
	}
	if b.CostUSD > 0 {
		cost = max(1e-9, b.CostUSD-s.cost.sum)
	}
	return tokens, cost
}

// unmetered says, once, that a cap cannot be held because the agent does not say what it uses.
func (h *healing) unmetered(t agent.Turn) {
	b := h.hook.Budget
	if t.Requests != nil && *t.Requests == 0 {
		return // it has used nothing
	}
	say := func(cap, format string, args ...any) {
		if !h.warned[cap] {
			h.warned[cap] = true
			said := fmt.Sprintf(format, args...)
			h.note(said)
			h.step("%s", said)
		}
	}
	metered, least := tokensOf(t.Tokens) != nil, t.Tokens.AtLeast
	switch {
	case b.Tokens == 0 || metered:
	case least != nil:
		say("tokens", "agent %s did not say all that it used: the budget's tokens hold for the %d that are known", h.agent.Name(), *least)
	default:
		say("tokens", "agent %s does not say what it uses: the budget's tokens are not enforced, its wall_clock is", h.agent.Name())
	}
	switch {
	case b.CostUSD == 0 || t.CostUSD != nil:
	case t.CostAtLeast != nil:
		say("cost_usd", "the cost of all that agent %s used is not known: the budget's cost_usd holds for the $%.4f that are", h.agent.Name(), *t.CostAtLeast)
	case metered || least != nil:
		say("cost_usd", "no price of the model of agent %s is known: the budget's cost_usd is not enforced, its wall_clock is", h.agent.Name())
	default:
		say("cost_usd", "agent %s does not say what it uses: the budget's cost_usd is not enforced, its wall_clock is", h.agent.Name())
	}
}
