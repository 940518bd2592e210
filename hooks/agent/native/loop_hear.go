package native

// What is heard of one answer while it arrives, kept so that it is there whatever becomes of the stream.

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// An ear listens to one answer. The model's goroutine speaks to it, the loop's reads it; its mutex guards all but the channels.
type ear struct {
	refuse refusing // nil: nothing is refused
	first  func()   // at the first sign of content

	mu       sync.Mutex
	deaf     bool // what is said from now on is nobody's
	pieces   []*piece
	byID     map[string]*piece // those that are calls
	complete []model.Call      // the whole ones, as they became that; it only grows
	stop     model.Stop
	progress bool
	wrong    string // why a call cannot be right: then nothing more is heard
	wrongID  string
	answer   model.Answer // what Ask returned
	err      error

	beat    chan struct{} // something was heard
	stopped chan struct{} // closed when the stop reason was
	refused chan struct{} // closed when a call cannot be right
	over    chan struct{} // closed when Ask has returned
}

// A piece is a block in the making.
type piece struct {
	kind  model.EventKind // HeardText, HeardThinking or CallBegun
	text  strings.Builder // of a call: its arguments
	call  model.Call
	after int // calls that began before it
	whole bool
	sure  bool // refuse need not be asked again
}

// earlyLook bounds how much of a call's arguments is looked at while they arrive, in bytes.
const earlyLook = 4 << 10

func newEar(refuse refusing, first func()) *ear {
	return &ear{
		refuse: refuse, first: first, byID: map[string]*piece{},
		beat: make(chan struct{}, 1), stopped: make(chan struct{}), refused: make(chan struct{}), over: make(chan struct{}),
	}
}

// hear takes one event. Once the loop has stopped to listen, it does nothing.
func (e *ear) hear(ev model.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deaf || e.wrong != "" {
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
	case model.HeardText, model.HeardThinking:
		e.last(ev.Kind).text.WriteString(ev.Text)
	case model.CallBegun:
		e.part(ev.Call)
	case model.CallArgs:
		p := e.part(ev.Call)
		if p.whole {
			return
		}
		p.text.WriteString(ev.Text)
		if e.refuse == nil || p.sure || e.stop != "" || p.text.Len() > earlyLook || len(e.complete) < p.after {
			return
		}
		if e.wrong, p.sure = e.refuse(e.complete, p.call.Name, p.text.String()); e.wrong != "" {
			e.wrongID = p.call.ID
			close(e.refused)
		}
	case model.CallWhole:
		if p := e.part(ev.Call); !p.whole {
			p.call, p.whole = ev.Call, true
			e.complete = append(e.complete, p.call)
		}
	case model.Stopped:
		if e.stop == "" {
			e.stop = ev.Stop
			if e.stop == "" {
				e.stop = model.Other
			}
			close(e.stopped)
		}
	}
}

// last is the block that grows: the last one if it is of that kind, else a new one.
func (e *ear) last(kind model.EventKind) *piece {
	if n := len(e.pieces); n > 0 && e.pieces[n-1].kind == kind {
		return e.pieces[n-1]
	}
	p := &piece{kind: kind}
	e.pieces = append(e.pieces, p)
	return p
}

func (e *ear) part(c model.Call) *piece {
	if p := e.byID[c.ID]; p != nil {
		return p
	}
	p := &piece{kind: model.CallBegun, call: model.Call{ID: c.ID, Name: c.Name}, after: len(e.byID)}
	e.pieces, e.byID[c.ID] = append(e.pieces, p), p
	return p
}

// calls are the whole ones so far, in order; where one cannot be right, those in front of it.
func (e *ear) calls() []model.Call {
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

// ended takes what Ask returned.
func (e *ear) ended(a model.Answer, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.deaf {
		e.answer, e.err = a, err
		if err == nil && !e.progress {
			e.progress = true
			e.first()
		}
	}
	close(e.over)
}

// failed says whether the stream has ended with an error that is not our doing.
func (e *ear) failed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err != nil && e.wrong == ""
}

// blocks are what was heard so far, as an answer would hold it.
func (e *ear) blocks() (blocks []model.Block, broken []model.Call) {
	for _, p := range e.pieces {
		switch {
		case p.kind == model.HeardText:
			blocks = append(blocks, model.Block{Text: p.text.String()})
		case p.kind == model.HeardThinking:
			blocks = append(blocks, model.Block{Thinking: p.text.String()})
		case p.whole:
			blocks = append(blocks, model.Block{Call: new(p.call)})
		default:
			broken = append(broken, model.Call{ID: p.call.ID, Name: p.call.Name, Args: json.RawMessage(p.text.String())})
		}
	}
	return blocks, broken
}

// close stops listening, and gives what there is: Ask's own answer if it has returned one, else what was heard.
func (e *ear) close() (a model.Answer, stop model.Stop, err error) {
	e.mu.Lock()
	e.deaf = true
	e.mu.Unlock()
	return e.peek()
}

// peek is what there is now, without an end to listening.
func (e *ear) peek() (a model.Answer, stop model.Stop, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err = e.answer, e.err
	if len(a.Blocks) == 0 && len(a.Broken) == 0 {
		a.Blocks, a.Broken = e.blocks()
	}
	if stop = a.Stop; stop == "" {
		stop = e.stop
	}
	return a, stop, err
}

func (e *ear) why() model.Stop {
	_, stop, _ := e.peek()
	return stop
}
