package native

// What a turn has used: tokens and cost as the provider counts them. What the provider does not say is unknown, never
// zero.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

const (
	answerTokens = 8192  // of one answer
	longAnswer   = 32000 // of a model that is known to take it: what it thinks counts too
	leastAnswer  = 256   // even when a cap is near: less is not worth asking for
)

// A meter counts for one turn. It belongs to the loop's goroutine.
type meter struct {
	model    string
	priceOf  func(string, model.Usage) (float64, bool)
	maxTok   int64
	maxUSD   float64
	requests int

	input, output, cached total
	usd                   float64
	unpriced              bool // a request has no price
	told                  map[string]bool

	said string // the model's name, as the provider has it

	lastSize  int64 // tokens of the conversation when it was last counted; 0: never
	lastChars int   // characters of it then
	overhead  int   // see fixed
}

// A total is a sum, and whether a part of it is unknown.
type total struct {
	n       int64
	unknown bool
}

func (t *total) add(n *int64) {
	if n == nil {
		t.unknown = true
		return
	}
	t.n += *n
}

func (t total) value() *int64 {
	if t.unknown {
		return nil
	}
	return new(t.n)
}

func newMeter(a *Agent, r agent.Request) meter {
	return meter{model: a.Model, priceOf: a.Cost, maxTok: r.Tokens, maxUSD: r.CostUSD, told: map[string]bool{}}
}

// asked counts a request and returns its number.
func (m *meter) asked() int {
	m.requests++
	return m.requests
}

// add counts what a request has used. One that was refused, or lost before anything arrived, has used nothing. Of one
// that was accepted and never answered nothing is known.
func (m *meter) add(a model.Answer, err error, notice func(string)) {
	u := a.Usage
	if a.Model != "" {
		m.said = a.Model
	}
	if err != nil && !silent(err) && !a.Progress && len(a.Blocks) == 0 && len(a.Broken) == 0 && u.Input == nil &&
		u.Output == nil {
		return
	}
	m.input.add(u.Input)
	m.output.add(u.Output)
	if u.Cached != nil { // a provider without a cache does not report it
		m.cached.n += *u.Cached
	} else if u.Input == nil {
		m.cached.unknown = true
	}
	usd, priced := m.price(u)
	m.usd += usd
	m.unpriced = m.unpriced || !priced
	if m.maxTok > 0 && (u.Input == nil || u.Output == nil) {
		m.tell("tokens", "the provider did not say what a request used: the cap of tokens cannot be enforced for it", notice)
	}
	if m.maxUSD > 0 && !priced {
		m.tell("cost", "the cost of a request is not known: the cap of cost cannot be enforced for it", notice)
	}
}

// silent reports whether a request was accepted, as far as is known, and never answered in a way that can be read: the
// model's own limits ended it, or the idle limit of the turn, its wall clock or a person.
func silent(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return errors.Is(err, errSilent) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	}
	kinds := []failure.Kind{failure.ColdStartTimeout, failure.IdleTimeout, failure.StreamFailure, failure.ParseError}
	return e.Status < 400 && slices.Contains(kinds, e.Kind)
}

// counted sets the size of the conversation from the provider's count. chars is the size of the request in
// characters.
func (m *meter) counted(a model.Answer, chars int) {
	if a.Usage.Input == nil || a.Usage.Output == nil || *a.Usage.Input <= 0 {
		return
	}
	m.lastSize = *a.Usage.Input + *a.Usage.Output
	m.lastChars = chars + charsOf([]model.Message{{Blocks: a.Blocks}})
}

func (m *meter) tell(what, text string, notice func(string)) {
	if !m.told[what] {
		m.told[what] = true
		notice(text)
	}
}

// price returns the cost of a request, as far as it is known, and whether all of it is.
func (m *meter) price(u model.Usage) (usd float64, all bool) {
	if m.priceOf == nil || u.Input == nil && u.Output == nil {
		return 0, false
	}
	all = u.Input != nil && u.Output != nil
	u.Input, u.Output = cmp.Or(u.Input, new(int64)), cmp.Or(u.Output, new(int64))
	usd, ok := m.priceOf(m.model, u)
	if !ok && m.said != "" {
		usd, ok = m.priceOf(m.said, u)
	}
	return usd, ok && all
}

// over returns which cap is reached by what is known, or an empty string.
func (m *meter) over() string {
	switch used := m.input.n + m.output.n; {
	case m.maxTok > 0 && used >= m.maxTok:
		return fmt.Sprintf("%d of %d tokens are used", used, m.maxTok)
	case m.maxUSD > 0 && m.usd >= m.maxUSD:
		return fmt.Sprintf("$%.4f of $%.4f are used", m.usd, m.maxUSD)
	}
	return ""
}

// tooMuch returns why a request of size tokens does not fit below the cap, or an empty string.
func (m *meter) tooMuch(size int64) string {
	used := m.input.n + m.output.n
	if m.maxTok <= 0 || used+size+leastAnswer <= m.maxTok {
		return ""
	}
	return fmt.Sprintf("%d of %d tokens are used, and the next request alone holds about %d", used, m.maxTok, size)
}

// answer returns how many tokens the answer to a request of size tokens may have, so that both fit below the cap.
func (m *meter) answer(size int64) int {
	most := int64(answerTokens)
	if model.Window(m.model) >= 8*longAnswer {
		most = longAnswer
	}
	if m.maxTok > 0 {
		most = min(most, m.maxTok-m.input.n-m.output.n-size)
	}
	if m.maxUSD > 0 {
		most = min(most, m.affordable(size, most))
	}
	return int(max(leastAnswer, most))
}

// affordable returns how many tokens, of most, the answer to a request of size tokens may have so that both fit below the
// cap of cost; most if prices are not known. What was sent before is taken to cost what a cache takes for it, if there is
// one.
func (m *meter) affordable(size, most int64) int64 {
	of := model.Usage{Input: &size, Output: new(int64)}
	if m.cached.n > 0 {
		of.Cached = new(min(size, m.lastSize))
	}
	asked, ok := m.price(of)
	*of.Output = most
	answered, _ := m.price(of)
	if !ok || answered <= asked {
		return most
	}
	return int64(float64(most) * max(0, m.maxUSD-m.usd-asked) / (answered - asked))
}

func (m *meter) tokens() agent.Tokens {
	if m.requests == 0 {
		return agent.Tokens{}
	}
	t := agent.Tokens{Input: m.input.value(), Output: m.output.value(), Cached: m.cached.value()}
	if used := m.input.n + m.output.n; (t.Input == nil || t.Output == nil) && used > 0 {
		t.AtLeast = &used
	}
	return t
}

// costAtLeast returns the known part of a cost of which a part is unknown.
func (m *meter) costAtLeast() *float64 {
	if !m.unpriced || m.usd == 0 {
		return nil
	}
	return new(m.usd)
}

func (m *meter) cost() *float64 {
	if m.unpriced || m.priceOf == nil || m.requests == 0 {
		return nil
	}
	return new(m.usd)
}

// fixed returns the size of the system prompt and the tools, which are part of every request, in characters.
func (m *meter) fixed(system string, tools []model.Tool) int {
	if m.overhead == 0 {
		m.overhead = len(system)
		for _, t := range tools {
			m.overhead += len(t.Name) + len(t.Description) + len(t.Schema)
		}
	}
	return m.overhead
}
