// Package relay is a loopback listener for the agents of one hook. It forwards their requests to a model's provider,
// adds the real key, counts what they use, and stops at the budget. So the key is in no box that an agent's commands
// can read: the agent gets an address and a key that are worth nothing once the relay is closed.
//
// What a request uses is read from the answer as it passes. Most protocols say it at the end only: until then the
// answer counts as a token for four bytes of its text. That ends a stream that runs away, and is replaced by the
// provider's own count when that comes. An answer that the model has finished is always passed on whole. Requests at
// once share the budget: one that may not fit beside those in flight waits until these are counted.
package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// An Upstream is where the requests of one protocol go.
type Upstream struct {
	Wire    string // one of model.Providers
	BaseURL string // see model.CheckURL; empty: the provider's own
	Key     string // empty: none is added
}

// Limits are what all requests together may use.
type Limits struct {
	Tokens   int64   // input and output; 0: no limit
	CostUSD  float64 // 0: no limit; models whose price is not known cost nothing
	Requests int     // sent to a provider; 0: DefaultRequests, negative: no limit
}

// DefaultRequests is more than an honest repair takes, and ends a program that asks again without end.
const DefaultRequests = 200

// Options configure a relay.
type Options struct {
	Upstreams []Upstream // at least one, each with another Wire
	Limits    Limits
	// Observe is called once for each request when it has ended, for one at a time. It may call Used. nil: nobody.
	Observe func(Request)
	// Cost returns the price of an answer in US dollars, false if it is not known; nil: model.Cost.
	Cost func(model string, u model.Usage) (float64, bool)
	// Silence is how long a provider may send nothing; 0: ten minutes, as models think in silence.
	Silence time.Duration
}

// A Request is what was asked, and how it ended. It has nothing of what was said.
type Request struct {
	At       time.Time
	Duration time.Duration
	Wire     string // empty: of no protocol
	Method   string
	Path     string // without the query
	Model    string // as the provider has it, else as it was asked for; empty: not known
	Sent     int64  // bytes of the request's body
	Bytes    int64  // of the answer's body
	Status   int    // that the client got; 0: none
	Usage    model.Usage
	CostUSD  *float64 // nil: not known
	Outcome  Outcome
}

// An Outcome is how a request ended.
type Outcome string

// The outcomes.
const (
	Passed      Outcome = "passed"      // the answer, also one that is an error, was passed on to its end
	Broken      Outcome = "broken"      // the provider broke off its answer; the client saw it break off too
	Gone        Outcome = "gone"        // the client went away, or the relay was closed
	Stopped     Outcome = "stopped"     // the budget was spent in the middle of the answer
	Spent       Outcome = "spent"       // not sent: the budget was spent before
	Refused     Outcome = "refused"     // not sent: the key, path or destination was wrong
	Unreachable Outcome = "unreachable" // the provider gave no answer that could be passed on
)

// Used is what all requests used so far. What is not known is nil, never 0.
type Used struct {
	Requests              int // that were sent to a provider
	Refused               int // that were not
	Input, Output, Cached *int64
	AtLeast               *int64 // input and output together, where one of them is nil; those of streams that go on too
	CostUSD               *float64
	CostAtLeast           *float64 // where CostUSD is nil
	// Lost is why the last request got no answer from the provider, as a kind and in words; empty: it got one.
	Lost    failure.Kind
	LostWhy string
	Stopped string // the limit that is reached: tokens, cost_usd, requests; empty: none
}

// A Relay listens until it is closed. Its methods may be called from any goroutine.
type Relay struct {
	o       Options
	key     string
	address string
	secrets *redact.Set
	meter   *meter

	transport *http.Transport
	server    *http.Server
	ctx       context.Context // ends with the relay
	cancel    context.CancelFunc
	watching  func() bool
	running   sync.WaitGroup // the listener, its connections and requests
	closing   sync.Once
	observe   sync.Mutex
}

// Start starts a relay, which ends with ctx or Close.
func Start(ctx context.Context, o Options) (*Relay, error) {
	if len(o.Upstreams) == 0 {
		return nil, errors.New("a relay needs an upstream")
	}
	r := &Relay{key: "relay-" + rand.Text(), secrets: &redact.Set{}, transport: newTransport()}
	for i, u := range o.Upstreams {
		switch _, known := wires[u.Wire]; {
		case !known:
			return nil, fmt.Errorf("there is no protocol %q; use one of %s", u.Wire, strings.Join(model.Providers(), ", "))
		case slices.ContainsFunc(o.Upstreams[:i], func(v Upstream) bool { return v.Wire == u.Wire }):
			return nil, fmt.Errorf("there are two upstreams for %s", u.Wire)
		case strings.ContainsFunc(u.Key, func(c rune) bool { return c < ' ' || c > '~' }):
			return nil, fmt.Errorf("the key for %s holds a line break or another character that no header can carry; "+
				"check how it was stored", u.Wire)
		}
		if err := model.CheckURL(u.BaseURL); err != nil {
			return nil, fmt.Errorf("upstream %s: %w", u.Wire, err)
		}
		r.secrets.Add(u.Wire, u.Key)
	}
	if o.Cost == nil {
		o.Cost = model.Cost
	}
	if o.Silence == 0 {
		o.Silence = 10 * time.Minute
	}
	if o.Limits.Requests == 0 {
		o.Limits.Requests = DefaultRequests
	}
	r.o = o
	r.meter = &meter{limits: o.Limits, price: o.Cost}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the relay cannot listen: %w", err)
	}
	r.address = listener.Addr().String()
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.server = &http.Server{
		Handler:           http.HandlerFunc(r.serve),
		BaseContext:       func(net.Listener) context.Context { return r.ctx },
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          silent,

		DisableGeneralOptionsHandler: true, // nothing is answered but by serve
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				r.running.Add(1)
			case http.StateClosed, http.StateHijacked:
				r.running.Done()
			}
		},
	}
	r.running.Go(func() { _ = r.server.Serve(listener) }) // ends with Close
	r.watching = context.AfterFunc(r.ctx, r.end)
	return r, nil
}

// Close ends all requests and waits for them. What they used stays known.
func (r *Relay) Close() error {
	r.watching()
	r.end()
	r.running.Wait()
	r.transport.CloseIdleConnections()
	return nil
}

func (r *Relay) end() {
	r.closing.Do(func() {
		r.cancel()
		_ = r.server.Close() // the listener is ours alone
	})
}

// Key returns the key that clients must use. It is made for this relay.
func (r *Relay) Key() string { return r.key }

// URL returns the base URL of a protocol as its clients expect it: of anthropic and gemini without a version, of
// openai and openai_chat with /v1.
func (r *Relay) URL(wire string) string {
	return "http://" + r.address + "/" + wire + wires[wire].version
}

// Used returns what was used so far.
func (r *Relay) Used() Used { return r.meter.sum() }
