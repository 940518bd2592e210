package model

// The answer while it arrives: its parts in the order in which they began.

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// A draft collects an answer. Its decoder calls it, in the goroutine that called Turn.
type draft struct {
	event    func(Event)
	provider string
	used     map[string]bool // the ids of calls in the conversation
	parts    []*part
	got      Answer // without Blocks and Broken
	moved    bool   // there was progress since the watchdog of silence was wound
	ended    bool   // the terminal event came: what follows is not read
}

// A part is one block of the answer.
type part struct {
	kind  partKind
	text  strings.Builder // of a call: its arguments
	call  Call
	whole bool // of a call: Args is the one JSON object
	raw   json.RawMessage
}

type partKind int

const (
	textPart partKind = iota
	thinkingPart
	callPart
)

func newDraft(provider string, r Request, event func(Event)) *draft {
	if event == nil {
		event = func(Event) {}
	}
	d := &draft{event: event, provider: provider, used: map[string]bool{}}
	for _, id := range r.Used {
		d.used[id] = true
	}
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if b.Call != nil {
				d.used[b.Call.ID] = true
			}
		}
	}
	return d
}

// begin opens a part that is not a call.
func (d *draft) begin(kind partKind) *part {
	p := &part{kind: kind}
	d.parts = append(d.parts, p)
	d.moved = true
	return p
}

// add appends to a text or to thinking.
func (d *draft) add(p *part, piece string) {
	if piece == "" {
		return
	}
	p.text.WriteString(piece)
	d.progress()
	kind := TextDelta
	if p.kind == thinkingPart {
		kind = ThinkingDelta
	}
	d.event(Event{Kind: kind, Text: piece})
}

// ownID begins the IDs that are made here for calls to which the provider gives none.
const ownID = "own_"

// beginCall opens a call. One without an ID gets one of ours, and so does one whose ID is already in the
// conversation: it would be paired with the wrong result.
func (d *draft) beginCall(id, name string) *part {
	if id == "" || d.used[id] {
		id = ownID + rand.Text()
	}
	d.used[id] = true
	p := &part{kind: callPart, call: Call{ID: id, Name: name}}
	d.parts = append(d.parts, p)
	d.progress()
	d.event(Event{Kind: CallBegun, Call: p.call})
	return p
}

// args appends to the arguments of a call.
func (d *draft) args(p *part, piece string) {
	if piece == "" {
		return
	}
	p.text.WriteString(piece)
	d.progress()
	d.event(Event{Kind: CallArgs, Text: piece, Call: p.call})
}

// endCall ends a call when the provider says that its arguments are complete. If they are not a JSON object, the call
// stays broken.
func (d *draft) endCall(p *part) {
	args, ok := argsObject(p.text.String())
	if !ok {
		return
	}
	p.call.Args, p.whole = args, true
	d.progress()
	d.event(Event{Kind: CallWhole, Call: p.call})
}

// argsObject returns text as one JSON object. Empty text is the empty object.
func argsObject(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return json.RawMessage("{}"), true
	}
	b := []byte(text)
	return b, b[0] == '{' && json.Valid(b)
}

// cutShort reports whether a stop may come in the middle of anything: a block that is open then was cut, not lost.
func cutShort(s Stop) bool { return s != EndTurn && s != ToolCalls }

// stop records why the model stopped. All content must have arrived.
func (d *draft) stop(s Stop, reason string) {
	d.got.Stop, d.got.Reason = s, reason
	d.moved = true
	d.event(Event{Kind: Stopped, Stop: s})
}

// stopped reports whether the model has said why it stopped.
func (d *draft) stopped() bool { return d.got.Stop != "" }

func (d *draft) progress() { d.got.Progress, d.moved = true, true }

// calls counts the calls, broken ones too.
func (d *draft) calls() int {
	n := 0
	for _, p := range d.parts {
		if p.kind == callPart {
			n++
		}
	}
	return n
}

// answer returns what has arrived so far.
func (d *draft) answer() Answer {
	a := d.got
	run := a.Stop == "" || a.Stop == ToolCalls
	if a.Stop == "" {
		a.Usage.Output = nil // a count of what had come until some moment is not the count
	}
	for _, p := range d.parts {
		b := Block{Raw: p.raw}
		if p.raw != nil {
			b.Provider = d.provider
		}
		switch p.kind {
		case textPart:
			b.Text = p.text.String()
		case thinkingPart:
			b.Thinking = p.text.String()
		case callPart:
			call := p.call
			if !p.whole || !run {
				call.Args = json.RawMessage(p.text.String())
				a.Broken = append(a.Broken, call)
				continue
			}
			b.Call = &call
		}
		if b.Call == nil && b.Raw == nil && p.text.Len() == 0 {
			continue
		}
		a.Blocks = append(a.Blocks, b)
	}
	return a
}

// decode parses the data of one event. What is not JSON, or JSON of another form, is not the stream that was asked
// for.
func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		e := malformed("an event of the stream is not the JSON of this protocol (%s): \"%s\"", whyNot(err), head(data, 120))
		e.Err = err
		return e
	}
	return nil
}

// whyNot returns why JSON cannot be read, in the words of JSON and not of Go.
func whyNot(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s holds %s, which is wrong there", cmp.Or(e.Field, "it"), e.Value)
	}
	return err.Error()
}

// present reports whether a raw field is in the JSON and not null.
func present(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

func head(b []byte, n int) []byte { return b[:min(len(b), n)] }

// sum adds counts; unknown ones count as nothing. The sum is unknown if all are unknown, or one is not a count.
func sum(counts ...*tally) *int64 {
	var total *int64
	for _, c := range counts {
		if c == nil {
			continue
		}
		n := c.known()
		if n == nil {
			return nil
		}
		if total == nil {
			total = new(int64)
		}
		*total += *n
	}
	return total
}

// mostTokens is more than any request can use. A larger count is taken as this: it must end a budget, and not switch
// it off.
const mostTokens = 1 << 40

// A tally is a count of tokens as a provider writes it. What is not a count (negative, a text, a fraction) does not
// fail a turn: it is unknown, and must not be subtracted from a budget.
type tally int64

const noTally tally = -1

func (t *tally) UnmarshalJSON(text []byte) error {
	var n float64
	*t = noTally
	if json.Unmarshal(text, &n) == nil && n >= 0 && n == math.Trunc(n) {
		*t = tally(min(n, mostTokens))
	}
	return nil
}

// known returns a tally as a count; nil if it is missing or not a count.
func (t *tally) known() *int64 {
	if t == nil || *t < 0 {
		return nil
	}
	return new(int64(*t))
}
