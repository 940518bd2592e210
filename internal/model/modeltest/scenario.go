// Package modeltest is a provider for tests. It speaks the wire protocols of package model over real HTTP and plays a
// scenario, one turn for each request, with the faults of networks and providers. It checks requests as a provider
// does.
package modeltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
)

// A Scenario is what a Server plays: the n-th request gets the n-th turn.
type Scenario struct {
	Turns []Turn `json:"turns"`
}

// A Turn answers one request.
type Turn struct {
	Thinking string `json:"thinking"`
	Text     string `json:"text"`
	Calls    []Call `json:"calls"`
	Stop     string `json:"stop"` // end_turn, tool_calls, max_tokens, refused; empty: as the calls require
	Usage    Usage  `json:"usage"`

	// Instead of an answer.
	Status     int    `json:"status"`      // of HTTP, with an error as the provider writes it; 0: 200
	Error      string `json:"error"`       // its message
	ErrorType  string `json:"error_type"`  // the provider's word for it; empty: the one that goes with Status
	RetryAfter string `json:"retry_after"` // header
	Body       string `json:"body"`        // sent as it is, instead of a stream
	Type       string `json:"type"`        // content type; empty: as the protocol has it

	Fault   Fault  `json:"fault"`
	DelayMS int    `json:"delay_ms"` // before anything is sent
	Times   int    `json:"times"`    // how many requests are answered so; 0: 1
	Expect  string `json:"expect"`   // must be in the request, else it is refused
}

// A Call is one that the model makes. RawArgs is sent as it is, which need not be JSON.
type Call struct {
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	RawArgs string          `json:"raw_args"`
}

func (c Call) args() string {
	switch {
	case c.RawArgs != "":
		return c.RawArgs
	case len(c.Args) == 0:
		return "{}"
	}
	return string(c.Args)
}

// Usage is in tokens. Where all of it is 0 none is said.
type Usage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	Cached int64 `json:"cached"`
}

// A Fault is what happens to a stream. Bytes or Events tell where, counted from its beginning.
type Fault struct {
	Kind   string `json:"kind"`
	Bytes  int    `json:"bytes"`
	Events int    `json:"events"`
	MS     int    `json:"ms"` // drip: between two bytes
}

// The kinds of faults.
const (
	Cut        = "cut"         // the connection is reset
	End        = "end"         // the stream ends as if it were whole
	Stall      = "stall"       // nothing more comes
	HalfOpen   = "half_open"   // nothing more comes, and nobody reads either
	Drip       = "drip"        // a byte at a time
	Garbage    = "garbage"     // something else comes between two events
	Duplicate  = "duplicate"   // an event comes twice
	Swap       = "swap"        // an event comes after the one that follows it
	LongLine   = "long_line"   // a comment of Bytes bytes comes before the event
	GzipDamage = "gzip_damage" // the stream is packed, and one byte of it is wrong
)

var faults = []string{"", Cut, End, Stall, HalfOpen, Drip, Garbage, Duplicate, Swap, LongLine, GzipDamage}

// Load reads a scenario from a JSON file. Unknown fields are an error.
func Load(path string) (Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Scenario{}, err
	}
	s, err := Parse(text)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse reads a scenario.
func Parse(text []byte) (Scenario, error) {
	var s Scenario
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, err
	}
	if len(s.Turns) == 0 {
		return s, errors.New("the scenario has no turns")
	}
	for i, t := range s.Turns {
		if !slices.Contains(faults, t.Fault.Kind) {
			return s, fmt.Errorf("turn %d: there is no fault %q; there are %s", i+1, t.Fault.Kind,
				strings.Join(faults[1:], ", "))
		}
		for _, c := range t.Calls {
			if c.Name == "" {
				return s, fmt.Errorf("turn %d: a call has no name", i+1)
			}
		}
	}
	return s, nil
}

// turn returns the turn of the n-th request, from 0; nil after the last one.
func (s Scenario) turn(n int) *Turn {
	for i := range s.Turns {
		t := &s.Turns[i]
		if n < max(1, t.Times) {
			return t
		}
		n -= max(1, t.Times)
	}
	return nil
}

func (t *Turn) stop() string {
	if t.Stop == "" && len(t.Calls) > 0 {
		return "tool_calls"
	}
	return cmp.Or(t.Stop, "end_turn")
}

// pieces cuts text as a model sends it: a few runes at a time.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for piece := range slices.Chunk([]rune(text), 9) {
			if !yield(string(piece)) {
				return
			}
		}
	}
}
