package model

// What an answer uses, read from its bytes while they pass on to somebody else.

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"
)

const (
	counterLine   = 4 << 20 // bytes of a line, and of the data of an event; of a longer one nothing is counted
	counterWhole  = 4 << 20 // bytes of an answer that is no stream; a longer one is not counted
	bytesPerToken = 4       // of text, about: English has a little more, code a little less
)

// A Counter counts what one answer uses. Unlike Turn it is lenient: what it cannot read it does not count. It keeps
// numbers, and of the bytes only what is not a whole event yet. It belongs to one goroutine.
type Counter struct {
	read   func(c *Counter, data []byte) // reads an event, or all of an answer that is no stream
	stream bool
	events sse
	whole  []byte // of an answer that is no stream
	long   bool   // it is too long, and whole is dropped
	fresh  bool   // there was an event

	usage   Usage
	begun   anthropicUsage
	model   string
	stopped bool
	text    int64 // bytes of what the model wrote so far: text, thinking, arguments
}

// NewCounter returns a counter for an answer of a provider, one of Providers, with this header Content-Type.
func NewCounter(provider, contentType string) *Counter {
	w, ok := wireOf(provider)
	if !ok {
		w.count = func(*Counter, []byte) {}
	}
	kind, _, _ := mime.ParseMediaType(contentType) // one that cannot be read is no JSON
	return &Counter{
		read: w.count, stream: kind != "application/json" && !strings.HasSuffix(kind, "+json"),
		events: sse{max: counterLine, lenient: true},
	}
}

// Stream reports whether the answer is taken for a stream of events.
func (c *Counter) Stream() bool { return c.stream }

// Feed counts the next bytes of the answer, which may end anywhere. After each event of a stream it calls more, and
// stops if that returns false. It returns how many bytes it took: up to the end of that event, or all.
func (c *Counter) Feed(b []byte, more func() bool) (n int) {
	if !c.stream {
		if c.long = c.long || len(c.whole)+len(b) > counterWhole; c.long {
			c.whole = nil
		} else {
			c.whole = append(c.whole, b...)
		}
		return len(b)
	}
	for n < len(b) {
		end := len(b)
		if i := bytes.IndexByte(b[n:], '\n'); i >= 0 {
			end = n + i + 1
		}
		c.fresh = false
		_ = c.events.feed(b[n:end], c.event) // cannot fail: it is lenient
		n = end
		if c.fresh && !more() {
			return n
		}
	}
	return n
}

func (c *Counter) event(_ string, data []byte) error {
	c.fresh = true
	c.read(c, data)
	return nil
}

// End is called after the end of the answer, however it came.
func (c *Counter) End() {
	if !c.stream && !c.long {
		c.read(c, c.whole)
	}
	c.whole = nil
}

// Usage returns what the provider said. Output is nil as long as the model may go on.
func (c *Counter) Usage() Usage {
	u := c.usage
	if !c.stopped {
		u.Output = nil
	}
	return u
}

// Least returns Usage with an Output that is never nil: where the provider did not say it yet, or never did, it is
// the larger of what it said so far and a token for four bytes of what the model wrote. What a model thinks and does
// not show is not in it.
func (c *Counter) Least() Usage {
	u := c.usage
	if !c.stopped || u.Output == nil {
		u.Output = new(max(deref(u.Output), c.text/bytesPerToken))
	}
	return u
}

// Stopped reports whether the model has said why it stopped: what follows is not written by it any more.
func (c *Counter) Stopped() bool { return c.stopped }

// Model returns the name of the model as the provider has it; empty: it was not said.
func (c *Counter) Model() string { return c.model }

// said counts what the model wrote.
func (c *Counter) said(pieces ...string) {
	for _, p := range pieces {
		c.text += int64(len(p))
	}
}

// loose parses JSON as far as it fits: a field of another type is left out.
func loose(data []byte, into any) { _ = json.Unmarshal(data, into) }
