package relay

// What all requests use together, and when that is enough.

import (
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A meter counts for one relay.
type meter struct {
	limits Limits
	price  func(string, model.Usage) (float64, bool)

	mu                    sync.Mutex
	requests, refused     int
	going                 int     // streams that go on
	tokens                int64   // that are known to be used, by streams that go on too
	usd                   float64 // the same
	input, output, cached total
	unpriced              bool // a request has no price
	stopped               string
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

func (t total) value(going bool) *int64 {
	if t.unknown || going {
		return nil
	}
	return new(t.n)
}

// A share is what one answer has added to the sums so far.
type share struct {
	tokens int64
	usd    float64
}

// begin counts a request that is about to be sent. It returns why none may be sent any more, or an empty string.
func (m *meter) begin() (spent string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.stopped != "":
	case m.limits.Tokens > 0 && m.tokens >= m.limits.Tokens:
		m.stopped = "tokens"
	case m.limits.CostUSD > 0 && m.usd >= m.limits.CostUSD:
		m.stopped = "cost_usd"
	case m.limits.Requests > 0 && m.requests >= m.limits.Requests:
		m.stopped = "requests"
	default:
		m.requests++
		m.going++
		return ""
	}
	m.refused++
	return m.why()
}

func (m *meter) refuse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused++
}

// update replaces what an answer has added by what it is known to use now. It returns why the answer must stop, or an
// empty string.
func (m *meter) update(s *share, names [2]string, least model.Usage) (spent string) {
	now := share{tokens: count(least.Input) + count(least.Output)}
	if m.limits.CostUSD > 0 {
		if least.Input == nil {
			least.Input = new(int64) // at least
		}
		now.usd, _ = m.cost(names, least)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replace(s, now)
	switch {
	case m.limits.Tokens > 0 && m.tokens > m.limits.Tokens:
		m.stopped = "tokens"
	case m.limits.CostUSD > 0 && m.usd > m.limits.CostUSD:
		m.stopped = "cost_usd"
	default:
		return ""
	}
	return m.why()
}

func (m *meter) replace(s *share, now share) {
	m.tokens += now.tokens - s.tokens
	m.usd += now.usd - s.usd
	*s = now
}

// finish counts an answer that has ended; nothing is known of what is nil in said. It returns the cost.
func (m *meter) finish(s *share, names [2]string, said, least model.Usage) *float64 {
	usd, priced := m.cost(names, said)
	if !priced {
		if least.Input == nil {
			least.Input = new(int64)
		}
		usd, _ = m.cost(names, least)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.going--
	m.replace(s, share{count(least.Input) + count(least.Output), usd})
	m.input.add(said.Input)
	m.output.add(said.Output)
	if said.Cached != nil || said.Input == nil { // a provider without a cache does not report it
		m.cached.add(said.Cached)
	}
	if !priced {
		m.unpriced = true
		return nil
	}
	return &usd
}

// free counts a request that used nothing.
func (m *meter) free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.going--
}

// cost returns the price by the first of the names of the model that has one.
func (m *meter) cost(names [2]string, u model.Usage) (float64, bool) {
	if u.Input == nil || u.Output == nil {
		return 0, false
	}
	for _, name := range names {
		if usd, ok := m.price(name, u); ok {
			return usd, true
		}
	}
	return 0, false
}

// why words the reason of the stop. It has no number and no "try again": by such words clients tell what they repeat
// (pi repeats what has 500 in its message). m.mu is held.
func (m *meter) why() string {
	what := map[string]string{"tokens": "tokens", "cost_usd": "cost", "requests": "requests"}[m.stopped]
	return "the budget of " + what + " is used up; async-pipeline passes nothing more on for this agent"
}

func (m *meter) used() Used {
	m.mu.Lock()
	defer m.mu.Unlock()
	going := m.going > 0
	u := Used{
		Requests: m.requests, Refused: m.refused, Stopped: m.stopped,
		Input: m.input.value(going), Output: m.output.value(going), Cached: m.cached.value(going),
	}
	if (u.Input == nil || u.Output == nil) && m.tokens > 0 {
		u.AtLeast = new(m.tokens)
	}
	switch {
	case !m.unpriced && !going:
		u.CostUSD = new(m.usd)
	case m.usd > 0:
		u.CostAtLeast = new(m.usd)
	}
	return u
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
