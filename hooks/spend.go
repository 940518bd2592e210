package hooks

import (
	"fmt"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A spend is what the turns of a healing have used, as far as agents say it; nil is unknown, never 0.
type spend struct {
	tokens *int64 // input and output
	cost   *float64
}

func (s *spend) add(t agent.Turn) {
	if t.Tokens.Input != nil || t.Tokens.Output != nil {
		if s.tokens == nil {
			s.tokens = new(int64)
		}
		for _, n := range []*int64{t.Tokens.Input, t.Tokens.Output} {
			if n != nil {
				*s.tokens += *n
			}
		}
	}
	if t.CostUSD != nil {
		if s.cost == nil {
			s.cost = new(float64)
		}
		*s.cost += *t.CostUSD
	}
}

// over says which cap of the budget is spent, in words; empty: none.
func (s *spend) over(b pipeline.Budget) string {
	switch {
	case b.Tokens > 0 && s.tokens != nil && *s.tokens >= b.Tokens:
		return fmt.Sprintf("%d of %d tokens are used", *s.tokens, b.Tokens)
	case b.CostUSD > 0 && s.cost != nil && *s.cost >= b.CostUSD:
		return fmt.Sprintf("$%.4f of $%.4f are used", *s.cost, b.CostUSD)
	}
	return ""
}

// leftOf is what a turn may use; 0 is no cap. A cap that is spent leaves the least amount there is.
func (s *spend) leftOf(b pipeline.Budget) (tokens int64, cost float64) {
	if b.Tokens > 0 {
		tokens = b.Tokens
		if s.tokens != nil {
			tokens = max(1, tokens-*s.tokens)
		}
	}
	if b.CostUSD > 0 {
		cost = b.CostUSD
		if s.cost != nil {
			cost = max(1e-9, cost-*s.cost)
		}
	}
	return tokens, cost
}

// unmetered says, once, that a cap cannot be held because the agent does not say what it uses.
func (h *healing) unmetered(t agent.Turn) {
	b := h.hook.Budget
	for _, c := range []struct {
		capped, known bool
		words         string
	}{
		{b.Tokens > 0, t.Tokens.Input != nil || t.Tokens.Output != nil, "tokens"},
		{b.CostUSD > 0, t.CostUSD != nil, "cost_usd"},
	} {
		if c.capped && !c.known && !h.warned[c.words] {
			h.warned[c.words] = true
			said := fmt.Sprintf("agent %s does not say what it uses: the budget's %s is not enforced, its wall_clock is", h.agent.Name(), c.words)
			h.note(said)
			h.step("%s", said)
		}
	}
}
