package native

// One request: the stream and the tools have each their own end. A stream that fails never ends a tool.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

const (
	usageWait = 15 * time.Second // for what follows the stop reason
	letGo     = time.Second      // for a stream that was told to end; then nobody waits for it
)

var (
	errSilent = errors.New("nothing was heard for the idle limit")
	errEnough = errors.New("the answer is whole")
	errWrong  = errors.New("a call of the answer cannot be right")
)

// An exchange is a request and what came of it.
type exchange struct {
	answer  model.Answer
	stop    model.Stop // empty: it was not said
	calls   []ended    // in the order of the answer, broken ones last; each has its result
	refused string     // why we ended the answer
	err     error      // the answer broke off
	pass    *pass
}

// facts are what is known of a broken answer.
func (l *loop) facts(x exchange, retryable bool) facts {
	f := facts{retryable: retryable}
	for _, b := range x.answer.Blocks {
		f.text = f.text || strings.TrimSpace(b.Text) != ""
		f.reasoning = f.reasoning || b.Thinking != "" || len(b.Raw) > 0
	}
	for _, c := range x.calls {
		switch {
		case c.broken:
			f.partialCall = true
		case !c.started:
			f.wholeCall = true
			f.unknownCall = f.unknownCall || !slices.ContainsFunc(l.specs, func(t model.Tool) bool { return t.Name == c.call.Name })
		default:
			f.started = true
			effect := l.tools.Effect(c.call.Name)
			f.unsafe = f.unsafe || effect == tools.Writes || effect == tools.Runs
		}
	}
	return f
}

// exchange asks once. main says that it belongs to the conversation: then what the answer calls for is done.
func (l *loop) exchange(ctx context.Context, req model.Request, main bool) exchange {
	x := exchange{pass: &pass{gate: l.a.Gate}}
	if wait, closed := l.a.Gate.closed(); closed {
		l.tell(fmt.Sprintf("the model's provider is in trouble: another conversation tries it first%s", soonest(wait)))
	}
	if x.err = x.pass.enter(ctx); x.err != nil {
		return x
	}
	tools := main && len(l.specs) > 0
	var refuse refusing
	if tools {
		refuse = l.tools.Early()
	}
	req.Used = l.used
	e := newEar(refuse, x.pass.answered)
	n := l.meter.asked()
	streaming, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	started := time.Now()
	go func() { e.ended(l.a.asked(streaming, req, e.hear)) }()

	var done map[string]*ended
	work := func(calls []model.Call) {
		a, _, _ := e.peek()
		l.noteSaid(a)
		done = l.work(ctx, calls, e)
	}
	silent := false
	switch l.listen(ctx, e) {
	case heardStop:
		if stop := e.why(); tools && stop == model.ToolCalls {
			work(e.calls())
		}
		if !waitFor(ctx, e.over, usageWait) {
			cut(errEnough)
			waitFor(context.Background(), e.over, letGo)
		}
	case heardEnd:
	case heardWrong:
		cut(errWrong)
		waitFor(context.Background(), e.over, letGo)
	case heardNothing:
		silent = true
		cut(errSilent)
		waitFor(context.Background(), e.over, letGo)
	case mustEnd:
		waitFor(context.Background(), e.over, letGo)
	}
	took := time.Since(started)
	if done == nil && tools {
		a, stop, err := e.peek()
		switch wrong := isClosed(e.refused); {
		case stop == model.ToolCalls && (wrong || err == nil && isClosed(e.over)): // it was whole all the same
			work(callsOf(a.Blocks))
		case stop == "" && wrong && ctx.Err() == nil:
			work(e.calls())
		}
	}
	x.answer, x.stop, x.err = e.close()
	x.answer = l.cleanAnswer(x.answer)
	switch {
	case ctx.Err() != nil && x.stop == "":
		x.err = ctx.Err()
	case x.stop != "":
		x.err = nil // all of its content has come
	case e.wrong != "":
		x.refused, x.err = e.wrong, nil
	case silent:
		x.err = errSilent
	case x.err == nil:
		x.err = &model.Error{Kind: failure.StreamFailure, Message: "the answer ended without a stop reason", RetryAfter: -1, Retryable: true}
	}
	if done == nil {
		l.noteSaid(x.answer)
	}
	l.meter.add(x.answer, x.err, l.notice)
	if main {
		l.meter.counted(x.answer, l.meter.fixed(l.system, l.specs)+charsOf(l.talk))
	}
	l.noteRequest(n, req, x, took)
	l.settle(&x, done, e.wrongID, tools)
	l.keepRaw(n, x)
	return x
}

// soonest says when the gate may open.
func soonest(wait time.Duration) string {
	if wait < time.Second {
		return ""
	}
	return fmt.Sprintf(", in %d s", int((wait+time.Second-1)/time.Second))
}

// asked is Ask. A panic in what reads the answer ends that answer, and not the program.
func (a *Agent) asked(ctx context.Context, r model.Request, heard func(model.Event)) (answer model.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = model.Answer{}, &model.Error{
				Kind: failure.ParseError, Message: fmt.Sprintf("the answer could not be read, for a fault of async-pipeline: %v", p), RetryAfter: -1,
			}
		}
	}()
	return a.Ask(ctx, r, heard)
}

// What listen heard.
type heardWhat int

const (
	heardStop    heardWhat = iota // the stop reason
	heardEnd                      // Ask returned without one
	heardWrong                    // a call that cannot be right
	heardNothing                  // for too long
	mustEnd                       // the turn's context ended
)

// listen waits until something must be done.
func (l *loop) listen(ctx context.Context, e *ear) heardWhat {
	var idle <-chan time.Time
	var timer *time.Timer
	most := max(l.r.Idle, l.a.Patience)
	if l.r.Idle > 0 {
		timer = time.NewTimer(most)
		defer timer.Stop()
		idle = timer.C
	}
	for {
		select {
		case <-e.stopped:
			return heardStop
		case <-e.over:
			if isClosed(e.stopped) {
				return heardStop
			}
			return heardEnd
		case <-e.refused:
			return heardWrong
		case <-e.beat:
			if timer != nil {
				timer.Reset(most)
			}
		case <-idle:
			return heardNothing
		case <-ctx.Done():
			return mustEnd
		}
	}
}

// waitFor waits for ch at most d, and not beyond the end of ctx.
func waitFor(ctx context.Context, ch <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ch:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return isClosed(ch)
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func callsOf(blocks []model.Block) []model.Call {
	var calls []model.Call
	for _, b := range blocks {
		if b.Call != nil {
			calls = append(calls, *b.Call)
		}
	}
	return calls
}

// A pass is one request's way through the gate; each of its ends counts once.
type pass struct {
	gate *Gate

	mu    sync.Mutex
	probe bool
}

func (p *pass) enter(ctx context.Context) error {
	probe, err := p.gate.enter(ctx)
	p.probe = probe
	if err != nil {
		p.gate = nil // it never went in: what becomes of it says nothing of the provider
	}
	return err
}

func (p *pass) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	probe := p.probe
	p.probe = false
	return probe
}

func (p *pass) answered()               { p.gate.answered(p.take()) }
func (p *pass) failed(d time.Duration)  { p.gate.failed(p.take(), d) }
func (p *pass) limited(d time.Duration) { p.gate.limited(p.take(), d) }
func (p *pass) left()                   { p.gate.left(p.take()) }
