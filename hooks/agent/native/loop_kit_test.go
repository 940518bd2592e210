package native

// What the tests of the loop share: a model that plays steps, tools that count, and a check of every request.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A step is one answer of the scripted model.
type step struct {
	think string
	text  string
	calls []model.Call
	half  *model.Call   // a call that is begun; Args come in two pieces and never end
	stop  model.Stop    // empty: ToolCalls with calls, EndTurn without, none beside err
	err   error         // after all of the above
	late  bool          // err comes after Stopped
	wait  time.Duration // before the first event
	hang  bool          // after the events it hears nothing but its context's end
	deaf  bool          // it does not even hear that, until the test ends
	usage model.Usage
	check func(r model.Request)
	mute  bool // no events: only the answer
}

// A script is a model.
type script struct {
	t     testing.TB
	mu    sync.Mutex
	steps []step
	asked []model.Request
	end   chan struct{} // closed by the test: frees what is deaf
	more  func(n int) step
}

func newScript(t testing.TB, steps ...step) *script {
	return &script{t: t, steps: steps, end: make(chan struct{})}
}

func (s *script) requests() []model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *script) ask(ctx context.Context, r model.Request, heard func(model.Event)) (model.Answer, error) {
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, r)
	var st step
	switch {
	case n < len(s.steps):
		st = s.steps[n]
	case s.more != nil:
		st = s.more(n)
	default:
		s.t.Errorf("request %d was not expected", n+1)
		st = step{text: finalText}
	}
	s.mu.Unlock()
	if err := illegal(r.Messages); err != nil {
		s.t.Errorf("request %d is not legal: %v\n%s", n+1, err, show(r.Messages))
	}
	if st.check != nil {
		st.check(r)
	}
	if st.wait > 0 {
		if err := pause(ctx, st.wait); err != nil {
			return model.Answer{}, context.Cause(ctx)
		}
	}
	return st.play(ctx, heard, s.end)
}

func (st step) play(ctx context.Context, heard func(model.Event), end chan struct{}) (model.Answer, error) {
	if st.mute {
		heard = func(model.Event) {}
	}
	a := model.Answer{Usage: st.usage}
	if st.think != "" {
		heard(model.Event{Kind: model.ThinkingDelta, Text: st.think})
		a.Blocks = append(a.Blocks, model.Block{Thinking: st.think})
	}
	if st.text != "" {
		heard(model.Event{Kind: model.TextDelta, Text: st.text})
		a.Blocks = append(a.Blocks, model.Block{Text: st.text})
	}
	begins := func(c model.Call) {
		head := model.Call{ID: c.ID, Name: c.Name}
		heard(model.Event{Kind: model.CallBegun, Call: head})
		for _, piece := range []json.RawMessage{c.Args[:len(c.Args)/2], c.Args[len(c.Args)/2:]} {
			heard(model.Event{Kind: model.CallArgs, Call: head, Text: string(piece)})
		}
	}
	for _, c := range st.calls {
		begins(c)
		heard(model.Event{Kind: model.CallWhole, Call: c})
		a.Blocks = append(a.Blocks, model.Block{Call: &c})
	}
	if c := st.half; c != nil {
		begins(*c)
		a.Broken = append(a.Broken, *c)
	}
	a.Progress = len(a.Blocks)+len(a.Broken) > 0
	if st.deaf {
		<-end
		return model.Answer{}, errors.New("too late")
	}
	if !st.late && st.err != nil && !st.hang {
		return a, st.err
	}
	if st.late || !st.hang {
		if a.Stop = cmp.Or(st.stop, model.EndTurn); st.stop == "" && len(st.calls) > 0 {
			a.Stop = model.ToolCalls
		}
		heard(model.Event{Kind: model.Stopped, Stop: a.Stop})
	}
	if st.hang {
		<-ctx.Done()
		return a, context.Cause(ctx)
	}
	return a, st.err
}

const finalText = `{"outcome":"fixed","summary":"done"}`

func call(id, name, args string) model.Call {
	return model.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

func lost() error {
	return &model.Error{Kind: failure.TransportDisconnect, Message: "connection reset by peer", RetryAfter: -1, Retryable: true}
}

func fault5(kind failure.Kind, status int, message string) error {
	return &model.Error{Kind: kind, Status: status, Message: message, RetryAfter: -1}
}

// A toolbox is the tools: by the names of ours; what they do, a test says.
type toolbox struct {
	mu     sync.Mutex
	do     func(ctx context.Context, c model.Call) tools.Outcome
	ran    []string // IDs, as they started
	now    int      // running
	most   int      // at once
	refuse refusing
}

var effects = map[string]tools.Effect{
	"read": tools.Reads, "list": tools.Reads, "search": tools.Reads, "finish": tools.Ends,
	"write": tools.Writes, "edit": tools.Writes, "delete": tools.Writes, "run": tools.Runs, "check": tools.Runs,
}

func (b *toolbox) open(agent.Request) (toolset, error) { return b, nil }

func (b *toolbox) Effect(name string) tools.Effect { return effects[name] }
func (b *toolbox) Early() refusing                 { return b.refuse }
func (b *toolbox) Commands() agent.Commands        { return agent.Commands{} }
func (b *toolbox) Close() error                    { return nil }

func (b *toolbox) Invalid(c model.Call) bool { return string(c.Args) == "{}" && c.Name != "check" }

func (b *toolbox) Specs() (all []model.Tool) {
	for _, name := range []string{"read", "list", "search", "write", "edit", "delete", "run", "check", "finish"} {
		all = append(all, model.Tool{Name: name, Description: "does " + name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return all
}

func (b *toolbox) Call(ctx context.Context, c model.Call) tools.Outcome {
	b.mu.Lock()
	b.ran = append(b.ran, c.ID)
	b.now++
	b.most = max(b.most, b.now)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.now--
		b.mu.Unlock()
	}()
	if c.Name == "finish" {
		return tools.Outcome{Text: "done", Finished: &agent.Control{Outcome: agent.Fixed, Summary: "by finish"}}
	}
	if b.do == nil {
		return tools.Outcome{Text: "ok " + c.Name}
	}
	out := b.do(ctx, c)
	if out.Code == tools.Failed && b.Invalid(c) {
		out.Code = tools.Invalid
	}
	return out
}

func (b *toolbox) started() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ran)
}

// A desk is an agent with its script, its tools, and what it wrote.
type desk struct {
	*Agent
	script  *script
	tools   *toolbox
	mu      sync.Mutex
	lines   []agent.Line
	notices []string
	req     agent.Request
}

func newDesk(t testing.TB, steps ...step) *desk {
	d := &desk{script: newScript(t, steps...), tools: &toolbox{}}
	d.Agent = &Agent{ID: "own", Ask: d.script.ask, Model: "big-model", open: d.tools.open, random: func() float64 { return 1 }}
	d.req = agent.Request{
		Attempt: 1, Prompt: "Repair it.", Pack: []byte(`{"task":"test"}`), Dir: "/copy",
		Note: func(l agent.Line) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.lines = append(d.lines, l)
		},
		Notice: func(s string) { d.notices = append(d.notices, s) },
	}
	return d
}

func (d *desk) turn(ctx context.Context) agent.Turn {
	d.script.t.Helper()
	turn, err := d.Turn(ctx, d.req)
	if err != nil {
		d.script.t.Fatal(err)
	}
	return turn
}

// ends plays a turn that must end with kind after so many requests. It returns the turn and how long it took.
func (d *desk) ends(ctx context.Context, kind failure.Kind, requests int) (agent.Turn, time.Duration) {
	d.script.t.Helper()
	start := time.Now()
	turn := d.turn(ctx)
	if turn.Kind != kind || *turn.Requests != requests {
		d.script.t.Errorf("kind %q (%s) after %d requests, want %q after %d", turn.Kind, turn.Evidence, *turn.Requests,
			kind, requests)
	}
	return turn, time.Since(start)
}

// ran fails the test unless the calls with these IDs were started, in this order.
func (d *desk) ran(ids ...string) {
	d.script.t.Helper()
	if got := d.tools.started(); !slices.Equal(got, ids) {
		d.script.t.Errorf("ran %v, want %v", got, ids)
	}
}

// onCopy gives the desk the real tools, on a folder that holds files.
func (d *desk) onCopy(t *testing.T, files map[string]string) (top string) {
	t.Helper()
	top = copyOf(t, files)
	d.open, d.req.Copy, d.req.Top = nil, top, top
	return top
}

// bubble runs a subtest in which waiting takes no time.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

func (d *desk) of(kind string) []agent.Line {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []agent.Line
	for _, l := range d.lines {
		if l.Type == kind {
			list = append(list, l)
		}
	}
	return list
}

// results are the results that the last request held, by ID of their call.
func (d *desk) results() map[string]model.Result {
	all := map[string]model.Result{}
	asked := d.script.requests()
	for _, m := range asked[len(asked)-1].Messages {
		for _, b := range m.Blocks {
			if b.Result != nil {
				all[b.Result.ID] = *b.Result
			}
		}
	}
	return all
}

// toolNames are those that all providers take.
var toolNames = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// illegal says what a provider would refuse in a conversation. It shares no code with what makes conversations.
func illegal(talk []model.Message) error {
	if len(talk) == 0 || talk[0].Role != model.User || talk[len(talk)-1].Role != model.User {
		return errors.New("it does not begin and end with the user")
	}
	ids := map[string]bool{}
	for i, m := range talk {
		if i > 0 && talk[i-1].Role == m.Role {
			return fmt.Errorf("message %d: %s twice in a row", i, m.Role)
		}
		if len(m.Blocks) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		says, words := false, false
		var want []string
		if i > 0 {
			for _, b := range talk[i-1].Blocks {
				if b.Call != nil {
					want = append(want, b.Call.ID)
				}
			}
		}
		for _, b := range m.Blocks {
			switch {
			case b.Call != nil && m.Role == model.Assistant:
				says = true
				if !toolNames.MatchString(b.Call.Name) || b.Call.ID == "" || ids[b.Call.ID] {
					return fmt.Errorf("message %d: call %q of %q", i, b.Call.ID, b.Call.Name)
				}
				ids[b.Call.ID] = true
				var object map[string]any
				if json.Unmarshal(b.Call.Args, &object) != nil || object == nil {
					return fmt.Errorf("message %d: arguments %q", i, b.Call.Args)
				}
			case b.Result != nil && m.Role == model.User:
				says = true
				if len(want) == 0 || want[0] != b.Result.ID || words {
					return fmt.Errorf("message %d: result of %q where %v is due", i, b.Result.ID, want)
				}
				if strings.TrimSpace(b.Result.Text) == "" {
					return fmt.Errorf("message %d: an empty result", i)
				}
				want = want[1:]
			case b.Call != nil || b.Result != nil:
				return fmt.Errorf("message %d: a block of the other side", i)
			case b.Thinking != "" || len(b.Raw) > 0:
				if m.Role == model.User {
					return fmt.Errorf("message %d: the user thinks", i)
				}
			case strings.TrimSpace(b.Text) == "":
				return fmt.Errorf("message %d: an empty block", i)
			default:
				says, words = true, true
			}
		}
		if !says {
			return fmt.Errorf("message %d says nothing", i)
		}
		if len(want) > 0 {
			return fmt.Errorf("message %d: no result of %v", i, want)
		}
	}
	return nil
}

func show(talk []model.Message) string {
	var b strings.Builder
	for _, m := range talk {
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, k := range m.Blocks {
			switch {
			case k.Call != nil:
				fmt.Fprintf(&b, " call %s %s %s", k.Call.ID, k.Call.Name, k.Call.Args)
			case k.Result != nil:
				fmt.Fprintf(&b, " result %s %q", k.Result.ID, k.Result.Text)
			default:
				fmt.Fprintf(&b, " %q%q", k.Text, k.Thinking)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
