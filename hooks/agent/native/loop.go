package native

// The loop of a turn: ask the model, carry out its calls, ask again, until the model ends or something ends it.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/loopguard"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// maxOverflows is how often a conversation that does not fit is made smaller because the provider refused it.
const maxOverflows = 2

// A toolset is the tools of a turn: those of a copy (see work), or those of a test.
type toolset interface {
	Specs() []model.Tool
	Effect(name string) tools.Effect
	Call(ctx context.Context, c model.Call) tools.Outcome
	Invalid(c model.Call) bool // its arguments are not those that its tool requires
	Early() refusing           // for one answer; nil: nothing is refused while it arrives
	Commands() agent.Commands  // how many were run so far; the zero value: they are not counted
	Close() error
}

// A refusing reports why a call whose arguments still arrive cannot be right, or an empty string, and whether more of
// the arguments cannot change that. before are the whole calls of the answer so far; they only become more.
type refusing = func(before []model.Call, name, args string) (why string, sure bool)

// A loop is one turn. Its state belongs to the goroutine that called Turn.
type loop struct {
	a     *Agent
	r     agent.Request
	tools toolset
	specs []model.Tool // those that the model may use
	transcript

	system     string
	messages   []model.Message
	builder    *builder // of messages, as far as they were sent; nil: not yet, or messages were replaced
	guard      *loopguard.Guard
	meter      meter
	ran        map[string]string // calls that were started, by ID: name and arguments
	used       []string          // IDs of all calls: each is used once in a transcript
	turns      int               // whole answers
	recoveries int
	overflows  int
	emptied    bool   // an empty answer was sent back once
	thought    bool   // an answer was cut at its length before its first word
	acted      bool   // a tool that changes something has completed
	tight      int64  // tokens up to which no more room is made
	question   string // what is asked in a conversation that was resumed; empty: it is the first message
	said       string // what the answer that is being continued has said so far
	last       string // what the last answer with calls said
}

func newLoop(a *Agent, r agent.Request, tools toolset) *loop {
	l := &loop{
		a: a, r: r, tools: tools, transcript: transcript{to: r.Note, secrets: r.Secrets},
		guard: loopguard.New(a.Model), ran: map[string]string{},
		meter: newMeter(a, r),
	}
	if !r.ReadOnly {
		l.specs = tools.Specs()
	}
	return l
}

// begin writes the first message of the conversation.
func (l *loop) begin() {
	if l.r.Task {
		l.system = l.clean(systemOfTask(l.r.Dir, l.specs))
	} else {
		l.system = l.clean(system(l.r.Dir, l.specs, l.r.ReadOnly))
	}
	l.messages = []model.Message{fromUser(l.clean(agent.Input(l.r.Prompt, l.r.Pack, l.a.mark)))}
	l.note("prompt", map[string]any{"text": l.r.Prompt, "pack_bytes": len(l.r.Pack), "system": l.system})
}

// rounds asks the model until the turn ends.
func (l *loop) rounds(ctx context.Context) ending {
	most := cmp.Or(l.a.MaxTurns, DefaultTurns)
	if l.r.ReadOnly {
		most = 1
	}
	for {
		said := cmp.Or(l.said, l.last)
		e := l.ended(ctx, said)
		if e != nil {
			return *e
		}
		if l.turns >= most {
			return *failed(failure.AgentMaxTurns, fmt.Sprintf("no end after %d turns of the model", most), said)
		}
		if why := l.meter.over(); why != "" {
			return *failed(failure.TokenBudget, why, said)
		}
		l.makeRoom(ctx)
		if why := l.meter.tooMuch(l.size()); why != "" {
			return *failed(failure.TokenBudget, why, said)
		}
		x := l.exchange(ctx, l.request(), true)
		switch {
		case x.refused != "":
			e = l.cutShort(ctx, x)
		case x.err != nil:
			e = l.broken(ctx, x)
		default:
			e = l.whole(ctx, x)
		}
		if e != nil {
			return *e
		}
	}
}

// ended returns how the turn ends if its context has ended, else nil. said is what the model has said.
func (l *loop) ended(ctx context.Context, said string) *ending {
	if ctx.Err() == nil {
		return nil
	}
	f := faultOf(ctx, ctx.Err())
	return failed(f.kind, f.message, said)
}

func failed(kind failure.Kind, evidence, said string) *ending {
	return &ending{kind: kind, evidence: evidence, text: said}
}

// request returns the next request.
func (l *loop) request() model.Request {
	if l.builder == nil {
		l.builder = newBuilder()
	}
	l.builder.take(l.messages[l.builder.taken:])
	r := model.Request{System: l.system, Messages: l.builder.legal(), Tools: l.specs, MaxTokens: l.meter.answer(l.size())}
	if l.r.ReadOnly {
		r.Schema = json.RawMessage(cmp.Or(l.r.Schema, agent.ControlSchema))
	}
	return r
}

// whole handles an answer that is complete.
func (l *loop) whole(ctx context.Context, x exchange) *ending {
	l.turns++
	text := textOf(x.answer.Blocks)
	said := join(l.said, text)
	if x.stop == model.Refused {
		return failed(failure.ContentPolicy, because("the model refused to answer", x.answer.Reason), said)
	}
	if x.stop == model.Overflow {
		x.err = &model.Error{Kind: failure.ContextOverflow, Message: "the model's window is full", RetryAfter: -1}
		return l.broken(ctx, x)
	}
	if len(x.calls) > 0 {
		return l.acts(ctx, x, said, false)
	}
	switch {
	case x.stop == model.MaxTokens && strings.TrimSpace(text) != "":
		l.said, l.thought = said, false
		l.messages = append(l.messages, turnOf(x.answer.Blocks, nil, false, lengthNote)...)
		return l.watched(ctx, loopguard.Round{Text: text}, said)
	case x.stop == model.MaxTokens:
		if l.thought {
			return failed(failure.OutputTruncated,
				"the model reached the length limit of an answer twice while it thought, "+
					"and said nothing", said)
		}
		l.thought = true
		l.remind("length", lengthNote)
		return nil
	case strings.TrimSpace(said) != "":
		return &ending{text: said}
	case x.stop == model.Other:
		return failed(failure.AgentError, because("the model stopped for a reason of its own", x.answer.Reason), said)
	case l.r.ReadOnly:
		return failed(failure.EmptyOutput, "the model ended without a word", "")
	case l.emptied:
		return failed(failure.EmptyOutput, "the model ended twice without a word", "")
	}
	l.emptied = true
	if l.r.Task {
		l.remind("empty", emptyTaskNote)
	} else {
		l.remind("empty", emptyNote)
	}
	return nil
}

// acts continues after an answer with calls. If cut, the answer is not complete.
func (l *loop) acts(ctx context.Context, x exchange, said string, cut bool) *ending {
	l.emptied, l.thought = false, false
	l.add(turnOf(x.answer.Blocks, x.calls, cut, ""))
	for _, c := range x.calls {
		if c.out.Finished != nil {
			return &ending{text: said, control: c.out.Finished}
		}
		if l.r.ReadOnly && c.call.Name == tools.Finish { // the turn has no tools, but the arguments are the answer
			if object, err := agent.ParseControl(string(c.call.Args)); err == nil {
				return &ending{text: said, control: object}
			}
		}
	}
	if l.r.ReadOnly {
		return &ending{text: said} // it is asked once
	}
	l.said, l.last = "", said
	if e := l.ended(ctx, said); e != nil {
		return e
	}
	return l.watched(ctx, l.seen(x), said)
}

// add appends an answer and the results of its calls to the conversation, as text if there are no tools.
func (l *loop) add(turn []model.Message) {
	if l.r.ReadOnly {
		turn = flat(turn)
	}
	l.messages = append(l.messages, turn...)
}

// cutShort continues after an answer that we ended because a call in it could not be right. The calls before it have
// run.
func (l *loop) cutShort(ctx context.Context, x exchange) *ending {
	l.turns++
	return l.acts(ctx, x, join(l.said, textOf(x.answer.Blocks)), true)
}

// watched shows a round to the loop guard and does what it asks for.
func (l *loop) watched(ctx context.Context, r loopguard.Round, said string) *ending {
	if l.r.ReadOnly {
		return nil // a single question cannot repeat itself
	}
	f := l.guard.Round(r)
	switch {
	case f.Ends:
		e := l.finalWords(ctx, f.Says)
		e.kind, e.evidence = failure.LoopDetected, "it was reminded and went on: "+strings.TrimSuffix(f.Says, ".")
		return cmp.Or(l.ended(ctx, said), &e)
	case f.Found():
		l.remind(f.ID, ours+f.Says+changeNote)
	}
	return nil
}

// remind adds a message of ours to the conversation.
func (l *loop) remind(why, text string) {
	l.messages = append(l.messages, fromUser(text))
	l.note("reminder", map[string]any{"text": text, "why": why, "left": l.guard.Left()})
}

// broken decides what to do about an answer that broke off.
func (l *loop) broken(ctx context.Context, x exchange) *ending {
	f := faultOf(ctx, x.err)
	if ctx.Err() == nil && f.kind == failure.ContextOverflow && l.overflows < maxOverflows {
		l.overflows++
		x.permit.left()
		if l.compact(ctx, l.overflows == maxOverflows) {
			return nil
		}
	}
	act, why := decide(f.cause, l.facts(x, f.retryable))
	text := join(l.said, textOf(x.answer.Blocks))
	end := failed(f.kind, f.says(), text)
	if f.after >= 0 && f.after <= agent.LongestWait {
		end.after = &f.after
	}
	if act == stop {
		x.permit.left()
		if ctx.Err() == nil {
			l.sideEffect(why)
		}
		return end
	}
	if !l.again(ctx, f, why, x.permit) {
		return cmp.Or(l.ended(ctx, text), end)
	}
	if act == goOn {
		l.said = text
		// the loop guard does not see what the network did
		l.add(turnOf(x.answer.Blocks, x.calls, true, ours+goOnNote))
	}
	return nil
}

// again waits before the next request, and reports whether the budget and the clock allow one.
func (l *loop) again(ctx context.Context, f fault, why string, p *permit) bool {
	n := l.recoveries + 1
	d := delay(n, f.after, l.a.random)
	giveUp := ""
	switch {
	case n > maxRecoveries:
		giveUp = fmt.Sprintf("all %d recoveries of the turn are spent", maxRecoveries)
	case !fits(ctx, d):
		giveUp = fmt.Sprintf("the wait of %s does not fit in the time that is left", d.Round(time.Millisecond))
	case f.after >= 0:
		p.limited(d)
	default:
		p.failed(d)
	}
	if giveUp != "" {
		p.failed(min(d, mostDelay)) // a turn that gives up does not hold up the others for long
		l.safeRetryFailed(f, giveUp)
		return false
	}
	l.recoveries = n
	l.note("recovery", map[string]any{
		"n": n, "of": maxRecoveries, "delay_ms": d.Milliseconds(), "reason": why, "kind": string(f.kind),
		"evidence": agent.Null(f.says()),
	})
	seconds := max(1, int((d+time.Second-1)/time.Second))
	l.tell(fmt.Sprintf("%s, retry %d/%d in %d s", trouble(f), n, maxRecoveries, seconds))
	return pause(ctx, d) == nil
}

// tell shows a line to the person at the terminal.
func (l *loop) tell(text string) {
	if l.r.Notice != nil {
		l.r.Notice(text)
	}
}

// trouble returns a fault in words for the person at the terminal.
func trouble(f fault) string {
	switch f.kind {
	case failure.RateLimited:
		return "rate limited"
	case failure.ServerOverload:
		return "model overloaded"
	}
	return "connection lost"
}

func (l *loop) safeRetryFailed(f fault, why string) {
	l.note("notice", map[string]any{
		"notice": "safe_retry_failed", "kind": string(f.kind), "evidence": f.says(), "unsafe_completed": l.acted,
		"text": "the connection could not be recovered: " + why + "; the work is kept" + l.caution(),
	})
}

// sideEffect notes, beside a failure, that something was changed before it.
func (l *loop) sideEffect(why string) {
	if l.acted {
		l.note("notice", map[string]any{
			"notice": "side_effect", "text": "the turn ended" + l.caution(), "reason": why, "unsafe_completed": true,
		})
	}
}

func (l *loop) caution() string {
	if l.acted {
		return "; a tool that changes something had completed in it, do not repeat that"
	}
	return ""
}

func because(what, more string) string {
	if more = oneLine(more); more != "" {
		return what + ": " + more
	}
	return what
}

// fromUser returns a message of the user's side.
func fromUser(text string) model.Message {
	return model.Message{Role: model.User, Blocks: []model.Block{{Text: text}}}
}

func textOf(blocks []model.Block) string {
	var b strings.Builder
	for _, block := range blocks {
		if block.Call == nil && block.Result == nil {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}
