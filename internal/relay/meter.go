package relay

// What all requests use together, and when that is enough.

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A meter counts for one relay.
type meter struct {
	limits Limits
	price  func(string, model.Usage) (float64, bool)

	mu                    sync.Mutex
	requests, refused     int
	going                 int    // streams that go on
	paid                  int    // those of them that use tokens
	used                  amount // what is known to be used, by streams that go on too
	reserved              amount // what streams that go on are expected to use besides
	models                [][2]string
	input, output, cached total
	unpriced              bool // a request has no price
	stopped               string
	loss                  failure.Kind // of the last request; empty: it got an answer
	lossWhy               string
	changed               chan struct{} // closed when a request that waits may look again; nil: none waits
}

// An amount is what a budget counts.
type amount struct {
	tokens int64
	usd    float64
}

const (
	// leastAnswer is how many tokens an answer is expected to have at least.
	leastAnswer = 256
	// bytesPerToken is how much of a text is one token, roughly.
	bytesPerToken = 4
	// mostModels is how many names of models are remembered for their prices.
	mostModels = 16
)

// An ask is what is known of a request before it is sent.
type ask struct {
	free  bool   // it uses no tokens
	bytes int64  // of the body; -1: not known
	model string // empty: not known
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

// A share is what one answer has added to the sums so far, and what it was expected to use.
type share struct {
	used, expected amount
	paid           bool // it is one of those in flight that use tokens
}

// rest returns what is still expected.
func (s *share) rest() amount {
	return amount{max(0, s.expected.tokens-s.used.tokens), max(0, s.expected.usd-s.used.usd)}
}

// begin counts a request that is about to be sent. It returns why none may be sent any more, or an empty string. A
// request that may not fit into what those in flight leave of the budget waits until they are counted; err is that of
// ctx or of relay, its parent, if that ends before. The only one in flight never waits: what it uses is an estimate. pause
// is called before the first wait.
func (m *meter) begin(ctx, relay context.Context, s *share, a ask, pause func()) (spent string, err error) {
	for ; ; pause = func() {} {
		m.mu.Lock()
		spent, wait := m.admit(s, a)
		m.mu.Unlock()
		if wait == nil {
			return spent, nil
		}
		pause()
		select {
		case <-wait:
		case <-ctx.Done():
		}
		// The end of the relay ends the request in flight, and that wakes this one, before it has reached ctx.
		if err := cmp.Or(ctx.Err(), relay.Err()); err != nil {
			m.refuse()
			return "", err
		}
	}
}

// admit counts a request, or returns why there will be none, or what it waits for. m.mu is held.
func (m *meter) admit(s *share, a ask) (spent string, wait <-chan struct{}) {
	switch {
	case m.stopped != "":
	case m.limits.Tokens > 0 && m.used.tokens >= m.limits.Tokens:
		m.stopped = "tokens"
	case m.limits.CostUSD > 0 && m.used.usd >= m.limits.CostUSD:
		m.stopped = "cost_usd"
	case m.limits.Requests > 0 && m.requests >= m.limits.Requests:
		m.stopped = "requests"
	case a.free:
		m.requests++
		m.going++
		return "", nil
	default:
		expected, known := m.expect(a)
		if m.paid > 0 && (!known || !m.fits(expected)) {
			if m.changed == nil {
				m.changed = make(chan struct{})
			}
			return "", m.changed
		}
		m.requests++
		m.going++
		m.paid++
		s.paid, s.expected = true, expected
		m.reserved.tokens += expected.tokens
		m.reserved.usd += expected.usd
		return "", nil
	}
	m.wake()
	m.refused++
	return m.why(), nil
}

// expect returns what a request is going to use, at the price of the dearest model that was asked so far. It is false
// if that cannot be estimated. m.mu is held.
func (m *meter) expect(a ask) (amount, bool) {
	if m.limits.Tokens == 0 && m.limits.CostUSD == 0 {
		return amount{}, true
	}
	if a.bytes < 0 {
		return amount{m.limits.Tokens, m.limits.CostUSD}, false
	}
	in, out := a.bytes/bytesPerToken, int64(leastAnswer)
	e := amount{tokens: in + out}
	if m.limits.CostUSD == 0 {
		return e, true
	}
	models := m.models
	if a.model != "" {
		models = append(slices.Clip(models), [2]string{a.model})
	}
	for _, names := range models {
		usd, _ := m.cost(names, model.Usage{Input: &in, Output: &out}) // one without a price costs nothing
		e.usd = max(e.usd, usd)
	}
	return e, len(models) > 0
}

// fits reports whether an amount is left beside what those in flight are expected to use. m.mu is held.
func (m *meter) fits(e amount) bool {
	return (m.limits.Tokens == 0 || m.used.tokens+m.reserved.tokens+e.tokens <= m.limits.Tokens) &&
		(m.limits.CostUSD == 0 || m.used.usd+m.reserved.usd+e.usd <= m.limits.CostUSD)
}

// wake lets the requests that wait look again. m.mu is held.
func (m *meter) wake() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// end takes a request out of those in flight. m.mu is held.
func (m *meter) end(s *share) {
	m.going--
	if s.paid {
		m.paid--
		rest := s.rest()
		m.reserved.tokens -= rest.tokens
		m.reserved.usd -= rest.usd
		s.paid, s.expected = false, amount{}
	}
	m.wake()
}

// lost notes why a request got no answer; kind is empty if it got one.
func (m *meter) lost(kind failure.Kind, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loss, m.lossWhy = kind, why
}

func (m *meter) refuse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused++
}

// update replaces what an answer has added by what it is known to use now. It returns why the answer must stop, or an
// empty string.
func (m *meter) update(s *share, names [2]string, least model.Usage) (spent string) {
	now := amount{tokens: count(least.Input) + count(least.Output)}
	if m.limits.CostUSD > 0 {
		if least.Input == nil {
			least.Input = new(int64) // at least
		}
		now.usd, _ = m.cost(names, least)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replace(s, now)
	m.learn(names)
	switch {
	case m.limits.Tokens > 0 && m.used.tokens > m.limits.Tokens:
		m.stopped = "tokens"
	case m.limits.CostUSD > 0 && m.used.usd > m.limits.CostUSD:
		m.stopped = "cost_usd"
	default:
		return ""
	}
	m.wake()
	return m.why()
}

// replace changes what an answer has added. m.mu is held.
func (m *meter) replace(s *share, now amount) {
	before := s.rest()
	m.used.tokens += now.tokens - s.used.tokens
	m.used.usd += now.usd - s.used.usd
	s.used = now
	after := s.rest()
	m.reserved.tokens += after.tokens - before.tokens
	m.reserved.usd += after.usd - before.usd
}

// learn remembers the names of a model. m.mu is held.
func (m *meter) learn(names [2]string) {
	if names != [2]string{} && len(m.models) < mostModels && !slices.Contains(m.models, names) {
		m.models = append(m.models, names)
		m.wake()
	}
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
	m.replace(s, amount{count(least.Input) + count(least.Output), usd})
	m.learn(names)
	m.end(s)
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
func (m *meter) free(s *share) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end(s)
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

func (m *meter) sum() Used {
	m.mu.Lock()
	defer m.mu.Unlock()
	going := m.going > 0
	u := Used{
		Requests: m.requests, Refused: m.refused, Stopped: m.stopped, Lost: m.loss, LostWhy: m.lossWhy,
		Input: m.input.value(going), Output: m.output.value(going), Cached: m.cached.value(going),
	}
	if (u.Input == nil || u.Output == nil) && m.used.tokens > 0 {
		u.AtLeast = new(m.used.tokens)
	}
	switch {
	case !m.unpriced && !going:
		u.CostUSD = new(m.used.usd)
	case m.used.usd > 0:
		u.CostAtLeast = new(m.used.usd)
	}
	return u
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
