package native

// One request. The stream and the tools end independently: a stream that fails does not stop a tool.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

const (
	usageWait = 15 * time.Second // for what follows the stop reason
	letGo     = time.Second      // for a stream that was cancelled; then nobody waits for it
)

var (
	errSilent = errors.New("nothing arrived for the idle limit")
	errEnough = errors.New("the answer is whole")
	errWrong  = errors.New("a call of the answer cannot be right")
)

// An exchange is a request and its result.
type exchange struct {
	answer  model.Answer
	stop    model.Stop // empty: it was not said
	calls   []ended    // in the order of the answer, broken ones last; each has its result
	refused string     // why we ended the answer
	err     error      // the answer broke off
	permit  *permit
}

// facts returns what is known of a broken answer.
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
			f.unknownCall = f.unknownCall || !slices.ContainsFunc(l.specs,
				func(t model.Tool) bool { return t.Name == c.call.Name })
		}
	}
	return f
}

// exchange sends one request. If main, the request belongs to the conversation, and the calls of its answer are
// carried out.
func (l *loop) exchange(ctx context.Context, req model.Request, main bool) exchange {
	x := exchange{permit: &permit{breaker: l.a.Breaker}}
	if wait, closed := l.a.Breaker.blocked(); closed {
		l.tell(fmt.Sprintf("the provider is down: waiting for another turn's retry%s", soonest(wait)))
	}
	if x.err = x.permit.enter(ctx); x.err != nil {
		return x
	}
	tools := main && len(l.specs) > 0
	var refuse refusing
	if tools {
		refuse = l.tools.Early()
	}
	req.Used = l.used
	e := newListener(refuse, x.permit.answered)
	n := l.meter.asked()
	streaming, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	started := time.Now()
	go func() { e.ended(l.a.asked(streaming, req, e.take)) }()

	var done map[string]*ended
	work := func(calls []model.Call) {
		a, _, _ := e.peek()
		l.noteSaid(a)
		done = l.work(ctx, calls, e)
	}
	silent := false
	switch l.listen(ctx, e) {
	case gotStop:
		if _, stop, _ := e.peek(); tools && stop == model.ToolCalls {
			work(e.calls())
		}
		if !waitFor(ctx, e.over, usageWait) {
			cut(errEnough)
		}
	case gotEnd:
	case gotRefusal:
		cut(errWrong)
	case gotSilence:
		silent = true
		cut(errSilent)
	case gotCancel:
	}
	waitFor(context.Background(), e.over, letGo)
	took := time.Since(started)
	if done == nil && tools {
		a, stop, err := e.peek()
		switch wrong := isClosed(e.refused); {
		case stop == model.ToolCalls && (wrong || err == nil && isClosed(e.over)): // it was complete all the same
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
		x.err = &model.Error{
			Kind: failure.StreamFailure, Message: "the answer ended without a stop reason", RetryAfter: -1,
			Retryable: true,
		}
	}
	if done == nil {
		l.noteSaid(x.answer)
	}
	l.meter.add(x.answer, x.err, l.notice)
	if main {
		l.meter.counted(x.answer, l.meter.fixed(l.system, l.specs)+charsOf(l.messages))
	}
	l.noteRequest(n, req, x, took)
	l.settle(&x, done, e.wrongID, tools)
	l.keepRaw(n, x)
	return x
}

// soonest returns when the breaker may let a request pass, for a message.
func soonest(wait time.Duration) string {
	if wait < time.Second {
		return ""
	}
	return fmt.Sprintf(", in %d s", int((wait+time.Second-1)/time.Second))
}

// asked calls Ask. A panic while the answer is read ends the answer and not the program.
func (a *Agent) asked(ctx context.Context, r model.Request, event func(model.Event)) (answer model.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("the answer could not be read, for a fault of async-pipeline: %v", p)
			answer, err = model.Answer{}, &model.Error{Kind: failure.ParseError, Message: text, RetryAfter: -1}
		}
	}()
	return a.Ask(ctx, r, event)
}

// A signal tells why listen returned.
type signal int

const (
	gotStop    signal = iota // the stop reason
	gotEnd                   // Ask returned without one
	gotRefusal               // a call that cannot be right
	gotSilence               // for too long
	gotCancel                // the turn's context ended
)

// listen waits until the loop must act.
func (l *loop) listen(ctx context.Context, e *listener) signal {
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
			return gotStop
		case <-e.over:
			if isClosed(e.stopped) {
				return gotStop
			}
			return gotEnd
		case <-e.refused:
			return gotRefusal
		case <-e.beat:
			if timer != nil {
				timer.Reset(most)
			}
		case <-idle:
			return gotSilence
		case <-ctx.Done():
			return gotCancel
		}
	}
}

// waitFor waits for ch, at most d and not beyond the end of ctx. It reports whether ch is closed.
func waitFor(ctx context.Context, ch <-chan struct{}, d time.Duration) bool {
	select {
	case <-ch:
	case <-time.After(d):
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

// A permit is one request's way through the breaker. Only the first report of its end counts as the result of a try.
type permit struct {
	breaker *Breaker

	mu    sync.Mutex
	probe bool
}

func (p *permit) enter(ctx context.Context) error {
	probe, err := p.breaker.enter(ctx)
	p.probe = probe
	if err != nil {
		p.breaker = nil // it was never sent: its end tells nothing about the provider
	}
	return err
}

func (p *permit) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	probe := p.probe
	p.probe = false
	return probe
}

func (p *permit) answered()               { p.breaker.answered(p.take()) }
func (p *permit) failed(d time.Duration)  { p.breaker.failed(p.take(), d) }
func (p *permit) limited(d time.Duration) { p.breaker.limited(p.take(), d) }
func (p *permit) left()                   { p.breaker.left(p.take()) }
