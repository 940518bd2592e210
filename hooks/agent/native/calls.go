package native

// The calls of a round. Those that only read run side by side, the others one after the other in the order of the
// calls. Each runs once and to its own end: a lost stream does not stop it.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/loopguard"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

const (
	sideBySide = 4                // calls that only read
	mostDrain  = 10 * time.Minute // for running tools, once the stream has failed
	cutTime    = time.Second      // for a tool that was cancelled
	killTime   = 15 * time.Second // for one that must end its processes first: sandbox.Box.Run needs a few seconds
)

// work carries out calls. It returns those that were started or refused, by ID.
func (l *loop) work(ctx context.Context, calls []model.Call, e *listener) map[string]*ended {
	if len(calls) > 0 {
		so := l.meter.tokens().SoFar(cmp.Or(l.meter.cost(), l.meter.costAtLeast()))
		l.tell(l.clean(fmt.Sprintf("turn %d: %s", l.turns+1, tools.Describe(calls))) + so)
	}
	done := map[string]*ended{}
	var group []*ended
	flush := func() bool {
		ok := l.together(ctx, group, e)
		group = nil
		return ok
	}
	last, seen := -1, map[string]bool{} // the last call that runs and is no finish
	for i, c := range calls {
		if c.Name != tools.Finish && !seen[c.ID] {
			last = i
		}
		seen[c.ID] = true
	}
	for i, c := range calls {
		if done[c.ID] != nil {
			continue // the same call twice
		}
		x := &ended{call: c}
		kind := l.tools.Effect(c.Name)
		if kind != tools.Reads && !flush() {
			break
		}
		done[c.ID] = x
		if c.Name == tools.Finish && i < last {
			x.refuse(saidNotLast)
			continue
		}
		if c.Name == tools.Finish && l.failedToWrite(done) {
			x.refuse(saidUnwritten)
			continue
		}
		if l.refusedBefore(x) {
			continue
		}
		group = append(group, x)
		if kind != tools.Reads && !flush() || x.out.Finished != nil {
			break
		}
	}
	flush()
	maps.DeleteFunc(done, func(_ string, x *ended) bool { return !x.started && !x.refused })
	return done
}

// failedToWrite reports whether a call that was to change a file did not.
func (l *loop) failedToWrite(done map[string]*ended) bool {
	for _, x := range done {
		if l.tools.Effect(x.call.Name) == tools.Writes && x.out.Code.Failed() {
			return true
		}
	}
	return false
}

// refusedBefore reports whether a call must not run, and gives it its result then.
func (l *loop) refusedBefore(x *ended) bool {
	why := l.guard.Refuse(l.observe(*x))
	if was, ran := l.ran[x.call.ID]; ran && was == loopguard.Key(x.call) &&
		l.tools.Effect(x.call.Name) != tools.Reads {
		why = "Refused: the call with this ID has run already, and no call runs twice. Its result stands above."
	}
	if why == "" {
		return false
	}
	x.refuse(why)
	return true
}

// refuse gives a call that must not run its result.
func (x *ended) refuse(why string) {
	x.refused = true
	x.result = model.Result{ID: x.call.ID, Name: x.call.Name, Text: why, Failed: true}
}

// mostArgs is how much of a call's arguments a line of the transcript holds, in bytes: more than any model writes in
// one answer.
const (
	mostArgs  = 1 << 20
	shownArgs = 8 << 10 // of longer ones
)

// argsLine returns the transcript's line of a call. Of long arguments it has the beginning, the number of bytes, and
// a digest of all.
func (l *loop) argsLine(c model.Call) map[string]any {
	data := map[string]any{"id": c.ID, "name": c.Name, "args": c.Args}
	if len(c.Args) > mostArgs {
		plain := l.secrets.Bytes(c.Args)
		data["args"] = strings.ToValidUTF8(string(plain[:min(len(plain), shownArgs)]), "\uFFFD")
		data["args_bytes"], data["args_digest"] = len(plain), digest.Of(plain)
	}
	return data
}

// A back is sent by a tool's goroutine when the tool has returned.
type back struct {
	x   *ended
	out tools.Outcome
}

// together runs a group of calls side by side until each has ended, and reports whether more may be started. It does
// not wait for a tool that ignores the end of its context. A tool that has processes is cancelled and gets time to
// end them, so that nothing starts beside a dying process and no turn ends before it.
func (l *loop) together(ctx context.Context, group []*ended, e *listener) bool {
	if len(group) == 0 {
		return ctx.Err() == nil
	}
	var (
		backs     = make(chan back, len(group)) // nobody reads what comes too late
		ends      = map[*ended]context.CancelFunc{}
		next      int
		cancelled bool // all of them
		over      = e.over
		limit     <-chan time.Time
	)
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	gone := ctx.Done()
	for {
		for ctx.Err() == nil && !cancelled && next < len(group) && len(ends) < sideBySide {
			x := group[next]
			next++
			running, end := context.WithCancel(ctx)
			ends[x] = end
			l.starts(x)
			go func() { backs <- back{x, l.do(running, x.call)} }()
		}
		if len(ends) == 0 {
			return ctx.Err() == nil && !cancelled
		}
		select {
		case b := <-backs:
			ends[b.x]()
			delete(ends, b.x)
			l.settles(b.x, b.out)
		case <-over:
			over = nil
			if e.failed() && !cancelled {
				limit = time.After(cmp.Or(l.a.drain, mostDrain))
			}
		case <-gone:
			if gone = nil; !cancelled {
				cancelled = true
				limit = time.After(l.patience(ends))
			}
		case <-limit:
			for _, end := range ends {
				end()
			}
			if wait := l.patience(ends); !cancelled && wait == killTime {
				cancelled = true
				limit = time.After(wait)
				continue
			}
			for x := range ends {
				l.dead(ctx, x)
			}
			return false
		}
	}
}

func (l *loop) patience(running map[*ended]context.CancelFunc) time.Duration {
	for x := range running {
		if l.tools.Effect(x.call.Name) == tools.Runs {
			return killTime
		}
	}
	return cutTime
}

// do runs one tool. A panic of the tool becomes its outcome.
func (l *loop) do(ctx context.Context, c model.Call) (out tools.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("The tool %s broke: %v. What it did is not known.", c.Name, p)
			out = tools.Outcome{Text: text, Code: tools.Failed}
		}
	}()
	return l.tools.Call(ctx, c)
}

// starts records a call before it starts: a call that is not in the transcript has not run.
func (l *loop) starts(x *ended) {
	x.started = true
	l.ran[x.call.ID] = loopguard.Key(x.call)
	if l.tools.Effect(x.call.Name) != tools.Reads {
		l.guard.Changed()
	}
	l.note("tool_call", l.argsLine(x.call))
}

func (l *loop) settles(x *ended, out tools.Outcome) {
	x.out = out
	x.out.Text = l.clean(out.Text)
	x.result = model.Result{ID: x.call.ID, Name: x.call.Name, Text: x.out.Text, Failed: out.Code.Failed()}
	switch l.tools.Effect(x.call.Name) {
	case tools.Writes:
		l.acted = l.acted || !out.Code.Failed()
	case tools.Runs:
		l.acted = true
	case tools.Reads:
		if out.Code.Failed() {
			break
		}
		if says := l.guard.Repeated(loopguard.Key(x.call), x.out.Text); says != "" {
			x.aside = "\n" + ours + says
			x.result.Text += x.aside
		}
	}
	data := map[string]any{"id": x.call.ID, "name": x.call.Name, "text": x.result.Text, "failed": out.Code.Failed()}
	if out.Code != "" {
		data["code"] = string(out.Code)
	}
	if out.Path != "" {
		data["path"] = out.Path
	}
	if len(out.Warnings) > 0 {
		data["warnings"] = out.Warnings
	}
	l.note("tool_result", data)
}

// dead ends a call whose tool is not waited for any longer.
func (l *loop) dead(ctx context.Context, x *ended) {
	x.dead = true
	text := saidDead
	if errors.Is(ctx.Err(), context.Canceled) {
		text = saidAborted
	}
	if kind := l.tools.Effect(x.call.Name); kind == tools.Writes || kind == tools.Runs {
		l.acted = true
	}
	x.result = model.Result{ID: x.call.ID, Name: x.call.Name, Text: text, Failed: true}
	l.note("tool_result", map[string]any{
		"id": x.call.ID, "name": x.call.Name, "text": text, "failed": true, "interrupted": true,
	})
}

// settle gives every call of an answer its one result. A call that did not run is told why.
func (l *loop) settle(x *exchange, done map[string]*ended, wrongID string, tools bool) {
	behind := saidBehind
	for _, d := range done {
		if d.out.Finished != nil {
			behind = saidLeft
		}
	}
	seen := map[string]bool{}
	unstarted := func(c model.Call, broken bool, text string) {
		e := ended{call: c, broken: broken}
		if x.refused != "" {
			text = behind
			if e.refused = c.ID == wrongID; e.refused {
				text = x.refused
			}
		}
		e.result = model.Result{ID: c.ID, Name: c.Name, Text: l.clean(text), Failed: true}
		if !isObject(c.Args) {
			e.asked, e.call.Args = c.Args, json.RawMessage("{}")
		}
		l.noteUnstarted(e)
		x.calls = append(x.calls, e)
	}
	for _, c := range callsOf(x.answer.Blocks) {
		if seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		if d := done[c.ID]; d != nil {
			x.calls = append(x.calls, *d)
			if d.refused {
				l.noteUnstarted(*d)
			}
			continue
		}
		text := saidUnasked
		switch {
		case x.err != nil:
			text = saidUnstarted
		case !tools:
			text = saidNoTools
		case done != nil:
			text = saidLeft
		case x.stop == model.ToolCalls:
			text = saidUnstarted
		case x.stop == model.MaxTokens:
			text = saidTooLong
		}
		unstarted(c, false, text)
	}
	for i, c := range x.answer.Broken {
		c.ID = cmp.Or(c.ID, fmt.Sprintf("broken_%d_%d", l.meter.requests, i))
		if c.Name == "" || seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		text := saidBroken
		switch {
		case x.stop == model.MaxTokens:
			text = saidTooLong
		case x.stop == model.ToolCalls && x.err == nil:
			text = saidNoJSON
		case x.stop != "":
			text = saidUnasked
		}
		unstarted(c, true, text)
	}
	for _, c := range x.calls {
		l.used = append(l.used, c.call.ID)
	}
}

// noteUnstarted writes a result without a call to the transcript: only calls that were started have a line tool_call.
func (l *loop) noteUnstarted(e ended) {
	l.note("tool_result", map[string]any{
		"id": e.call.ID, "name": e.call.Name, "text": e.result.Text, "failed": true, "started": false,
	})
}

// seen returns what the loop guard sees of a round.
func (l *loop) seen(x exchange) loopguard.Round {
	r := loopguard.Round{Text: textOf(x.answer.Blocks)}
	for _, c := range x.calls {
		r.Calls = append(r.Calls, l.observe(c))
	}
	return r
}

func (l *loop) observe(c ended) loopguard.Call {
	code := c.out.Code
	switch {
	case c.dead:
		code = tools.Failed
	case c.started:
	case c.broken && !c.refused, !c.broken && l.tools.Invalid(c.call):
		code = tools.Invalid
	default:
		code = tools.NotRun
	}
	args := cmp.Or(string(c.asked), string(c.call.Args))
	if c.refused && c.asked != nil { // how much of them had arrived is chance; why it was refused is its path
		args = cmp.Or(tools.Begun(args), args)
	}
	return loopguard.Call{
		Name: c.call.Name, Args: loopguard.Canonical([]byte(args)), Target: loopguard.Target([]byte(args)),
		Path: c.out.Path, Effect: l.tools.Effect(c.call.Name),
		Code: code, Result: strings.TrimSuffix(c.result.Text, c.aside),
	}
}
