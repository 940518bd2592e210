package native

// What arrives of one answer, kept so that it is there if the stream fails.

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A listener receives one answer. The model's goroutine writes to it and the loop's reads; mu guards all but the
// channels.
type listener struct {
	refuse refusing // nil: nothing is refused
	first  func()   // at the first sign of content

	mu       sync.Mutex
	closed   bool // further events are ignored
	pieces   []*piece
	byID     map[string]*piece // those that are calls
	complete []model.Call      // the whole ones, in the order in which they were completed; it only grows
	stop     model.Stop
	progress bool
	wrong    string // why a call cannot be right: then further events are ignored
	wrongID  string
	answer   model.Answer // what Ask returned
	err      error

	beat    chan struct{} // an event arrived
	stopped chan struct{} // closed when the stop reason has arrived
	refused chan struct{} // closed when a call cannot be right
	over    chan struct{} // closed when Ask has returned
}

// A piece is a block that is still arriving.
type piece struct {
	kind  model.EventKind // TextDelta, ThinkingDelta or CallBegun
	text  strings.Builder // of a call: its arguments
	call  model.Call
	after int // calls that began before it
	whole bool
	sure  bool // refuse need not be asked again
	look  int  // bytes of arguments after which it is
}

// earlyLook is how much of a call's arguments is checked with every piece that arrives, in bytes. Longer ones are
// checked each time they have grown by a half.
const earlyLook = 4 << 10

func newListener(refuse refusing, first func()) *listener {
	return &listener{
		refuse: refuse, first: first, byID: map[string]*piece{},
		beat: make(chan struct{}, 1), stopped: make(chan struct{}), refused: make(chan struct{}),
		over: make(chan struct{}),
	}
}

// take receives one event. It does nothing after close.
func (e *listener) take(ev model.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.wrong != "" {
		return
	}
	select {
	case e.beat <- struct{}{}:
	default:
	}
	if !e.progress {
		e.progress = true
		e.first()
	}
	switch ev.Kind {
	case model.TextDelta, model.ThinkingDelta:
		e.last(ev.Kind).text.WriteString(ev.Text)
	case model.CallBegun:
		e.part(ev.Call)
	case model.CallArgs:
		p := e.part(ev.Call)
		if p.whole {
			return
		}
		p.text.WriteString(ev.Text)
		if e.refuse == nil || p.sure || e.stop != "" || p.text.Len() < p.look || len(e.complete) < p.after {
			return
		}
		why, sure := e.refuse(e.complete, p.call.Name, p.text.String())
		p.sure = sure
		if n := p.text.Len(); n > earlyLook {
			p.look = n * 3 / 2
		}
		if why != "" && !json.Valid([]byte(p.text.String())) { // once it is whole, ending the answer saves nothing
			e.wrong, e.wrongID = why, p.call.ID
			close(e.refused)
		}
	case model.CallWhole:
		if p := e.part(ev.Call); !p.whole {
			p.call, p.whole = ev.Call, true
			e.complete = append(e.complete, p.call)
		}
	case model.Stopped:
		if e.stop == "" {
			e.stop = cmp.Or(ev.Stop, model.Other)
			close(e.stopped)
		}
	}
}

// last returns the block that grows: the last one if it is of that kind, else a new one.
func (e *listener) last(kind model.EventKind) *piece {
	if n := len(e.pieces); n > 0 && e.pieces[n-1].kind == kind {
		return e.pieces[n-1]
	}
	p := &piece{kind: kind}
	e.pieces = append(e.pieces, p)
	return p
}

func (e *listener) part(c model.Call) *piece {
	if p := e.byID[c.ID]; p != nil {
		return p
	}
	p := &piece{kind: model.CallBegun, call: model.Call{ID: c.ID, Name: c.Name}, after: len(e.byID)}
	e.pieces, e.byID[c.ID] = append(e.pieces, p), p
	return p
}

// calls returns the whole calls so far, in order; if one of them was refused, those before it.
func (e *listener) calls() []model.Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	var calls []model.Call
	for _, p := range e.pieces {
		if e.wrong != "" && p.call.ID == e.wrongID && p.kind == model.CallBegun {
			break
		}
		if p.whole {
			calls = append(calls, p.call)
		}
	}
	return calls
}

// ended receives the result of Ask.
func (e *listener) ended(a model.Answer, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.answer, e.err = a, err
		if err == nil && !e.progress {
			e.progress = true
			e.first()
		}
	}
	close(e.over)
}

// failed reports whether the stream ended with an error that we did not cause.
func (e *listener) failed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err != nil && e.wrong == ""
}

// blocks returns what has arrived so far, in the form of an answer.
func (e *listener) blocks() (blocks []model.Block, broken []model.Call) {
	for _, p := range e.pieces {
		switch {
		case p.kind == model.TextDelta:
			blocks = append(blocks, model.Block{Text: p.text.String()})
		case p.kind == model.ThinkingDelta:
			blocks = append(blocks, model.Block{Thinking: p.text.String()})
		case p.whole:
			blocks = append(blocks, model.Block{Call: new(p.call)})
		default:
			broken = append(broken, model.Call{ID: p.call.ID, Name: p.call.Name, Args: json.RawMessage(p.text.String())})
		}
	}
	return blocks, broken
}

// close stops the listener and returns what there is: the answer that Ask returned, or else what has arrived.
func (e *listener) close() (a model.Answer, stop model.Stop, err error) {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	return e.peek()
}

// peek returns what there is now.
func (e *listener) peek() (a model.Answer, stop model.Stop, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err = e.answer, e.err
	if len(a.Blocks) == 0 && len(a.Broken) == 0 {
		a.Blocks, a.Broken = e.blocks()
	}
	return a, cmp.Or(a.Stop, e.stop), err
}
