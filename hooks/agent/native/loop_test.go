package native

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// What one turn sends, does and writes down, from the first word to the last.
func TestTurnAsAWhole(t *testing.T) {
	t.Parallel()
	one, ten := int64(1000), int64(10)
	d := newDesk(t,
		step{think: "hm", text: "I look.", calls: []model.Call{call("1", "read", `{"path":"a.go"}`), call("2", "search", `{"pattern":"x"}`)}, usage: model.Usage{Input: &one, Output: &ten}},
		step{calls: []model.Call{call("3", "edit", `{"path":"a.go","old":"x","new":"y"}`), call("4", "check", `{}`)}, usage: model.Usage{Input: &one, Output: &ten, Cached: &ten}},
		step{text: "It is done.\n" + finalText, usage: model.Usage{Input: &one, Output: &ten}},
	)
	d.Cost = func(string, model.Usage) (float64, bool) { return 0.25, true }
	d.tools.do = func(_ context.Context, c model.Call) tools.Outcome {
		return tools.Outcome{Text: "did " + c.ID, Path: "a.go"}
	}
	turn := d.turn(context.Background())
	if turn.Kind != "" || turn.Control == nil || turn.Control.Summary != "done" || turn.Text != "It is done.\n"+finalText {
		t.Errorf("turn = %+v", turn)
	}
	if *turn.Turns != 3 || *turn.Requests != 3 || *turn.Tokens.Input != 3000 || *turn.Tokens.Output != 30 || *turn.Tokens.Cached != 10 || *turn.CostUSD != 0.75 {
		t.Errorf("it used %d turns, %d requests, %d %d %d tokens, $%v", *turn.Turns, *turn.Requests, *turn.Tokens.Input, *turn.Tokens.Output, *turn.Tokens.Cached, *turn.CostUSD)
	}
	if want := []string{`turn 1: reads a.go, searches for x`, "turn 2: edits a.go, runs the check (1010 tokens, $0.2500 so far)"}; !slices.Equal(d.notices, want) {
		t.Errorf("a person was told %q, want %q", d.notices, want)
	}
	var types []string
	for _, l := range d.lines {
		types = append(types, l.Type)
	}
	want := "prompt thinking text tool_call tool_call tool_result tool_result request tool_call tool_result tool_call tool_result request text request end"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("transcript\n%s, want\n%s", got, want)
	}
	first := d.script.requests()[0]
	text := first.Messages[0].Blocks[0].Text
	if !strings.HasPrefix(text, "Repair it.\n") || !strings.Contains(text, "----- begin context pack ") || !strings.Contains(text, `{"task":"test"}`) {
		t.Errorf("the first message is %q", text)
	}
	for _, part := range []string{"/copy", "- edit: does edit", "placeholder", agent.ControlForm, "Do not touch tests"} {
		if !strings.Contains(first.System, part) {
			t.Errorf("the system prompt does not say %q", part)
		}
	}
	if len(first.Tools) != 9 || first.Schema != nil {
		t.Errorf("%d tools, schema %s", len(first.Tools), first.Schema)
	}
	last := d.script.requests()[2]
	if got := show(last.Messages[1:3]); !strings.Contains(got, `result 1 "did 1" result 2 "did 2"`) {
		t.Errorf("results:\n%s", got)
	}
}

func TestFinishEndsTheTurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{calls: []model.Call{call("1", "write", `{"path":"a"}`), call("2", "finish", `{"outcome":"fixed"}`), call("3", "finish", `{"outcome":"no_fix"}`)}})
	turn, _ := d.ends(t.Context(), "", 1)
	if turn.Control == nil || turn.Control.Summary != "by finish" || turn.Problem != "" {
		t.Errorf("turn = %+v", turn)
	}
	d.ran("1", "2")
	if n := len(d.of("tool_call")); n != 2 {
		t.Errorf("%d lines tool_call, want 2: what did not start has none", n)
	}
}

// Calls that look run side by side, four at most; those that change something wait for all before, and all after for
// them.
func TestOrderOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls []model.Call
		for i := range 6 {
			calls = append(calls, call(fmt.Sprintf("r%d", i), "read", fmt.Sprintf(`{"path":"%d"}`, i)))
		}
		calls = append(calls, call("w1", "write", `{"path":"a"}`), call("w2", "run", `{"argv":["b"]}`), call("r6", "read", `{"path":"6"}`))
		d := newDesk(t, step{calls: calls}, step{text: finalText})
		var mu sync.Mutex
		var log []string
		d.tools.do = func(_ context.Context, c model.Call) tools.Outcome {
			time.Sleep(time.Second)
			mu.Lock()
			log = append(log, c.ID)
			mu.Unlock()
			return tools.Outcome{Text: "did " + c.ID}
		}
		_, took := d.ends(context.Background(), "", 2)
		if d.tools.most != sideBySide || took != 5*time.Second { // 4 + 2 side by side, then three alone
			t.Errorf("%d at once, want %d; took %s, want 5s", d.tools.most, sideBySide, took)
		}
		if tail := log[6:]; !slices.Equal(tail, []string{"w1", "w2", "r6"}) {
			t.Errorf("order %v", log)
		}
		var want []string
		for _, c := range calls {
			want = append(want, fmt.Sprintf("result %s %q", c.ID, "did "+c.ID))
		}
		if got := show(d.script.requests()[1].Messages[2:]); got != "user: "+strings.Join(want, " ")+"\n" {
			t.Errorf("results out of order:\n%s", got)
		}
	})
}

// A call runs when the stop reason says so, while the stream is still open; without it never.
func TestStopReasonStartsCalls(t *testing.T) {
	t.Parallel()
	one := call("1", "write", `{"path":"a"}`)
	for _, tt := range []struct {
		name string
		step step
		ran  int
		says string
	}{
		{"said", step{calls: []model.Call{one}}, 1, "ok write"},
		{"said in the answer alone", step{calls: []model.Call{one}, mute: true}, 1, "ok write"},
		{"length", step{calls: []model.Call{one}, stop: model.MaxTokens}, 0, saidTooLong},
		{"the model ended", step{calls: []model.Call{one}, stop: model.EndTurn}, 0, saidUnasked},
		{"cut before", step{calls: []model.Call{one}, err: lost()}, 0, saidUnstarted},
		{"cut in the middle of a call", step{half: &one, err: lost()}, 0, saidBroken},
		{"length in the middle of a call", step{half: &one, stop: model.MaxTokens}, 0, saidTooLong},
		{"the model ended in the middle of a call", step{half: &one, stop: model.EndTurn}, 0, saidUnasked},
		{"arguments that are no JSON", step{half: &one, stop: model.ToolCalls}, 0, saidNoJSON},
		{"the same call twice", step{calls: []model.Call{one, one}}, 1, "ok write"},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			d := newDesk(t, tt.step, step{text: finalText})
			d.turn(context.Background())
			if got := d.tools.started(); len(got) != tt.ran {
				t.Errorf("ran %v, want %d", got, tt.ran)
			}
			if got := d.results()["1"]; got.Text != tt.says || got.Failed != (tt.ran == 0) {
				t.Errorf("result %+v, want %q", got, tt.says)
			}
			if n := len(d.of("tool_call")); n != tt.ran {
				t.Errorf("%d lines tool_call, want %d", n, tt.ran)
			}
		})
	}
}

// A tool starts before the stream is at its end: usage may come long after the stop reason.
func TestToolsDoNotWaitForUsage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}, late: true, hang: true}, step{text: finalText})
		start := time.Now()
		var began time.Duration
		d.tools.do = func(context.Context, model.Call) tools.Outcome {
			began = time.Since(start)
			return tools.Outcome{Text: "ok"}
		}
		turn, took := d.ends(context.Background(), "", 2)
		if began != 0 || took != usageWait {
			t.Errorf("the tool began after %s, and the stream was waited for %s, want %s", began, took, usageWait)
		}
		if turn.Tokens.Input != nil {
			t.Error("usage that never came is counted as known")
		}
	})
}

func TestCallThatRanIsNotRunAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t,
		step{calls: []model.Call{call("1", "run", `{"argv":["deploy"]}`)}},
		step{calls: []model.Call{call("1", "run", `{"argv": ["deploy"]}`)}}, // again, with different space between
		step{calls: []model.Call{call("1", "run", `{"argv":["test"]}`)}},    // another call under the same ID
		step{text: finalText},
	)
	d.turn(context.Background())
	if got := d.tools.started(); len(got) != 2 {
		t.Errorf("%d calls ran, want 2", len(got))
	}
	if got := show(d.script.requests()[3].Messages); !strings.Contains(got, `result 1_2 "Refused: the call with this ID has run already`) {
		t.Errorf("the model was not told:\n%s", got)
	}
}

func TestToolThatBreaks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}}, step{text: finalText})
	d.tools.do = func(context.Context, model.Call) tools.Outcome { panic("nil map") }
	d.ends(t.Context(), "", 2)
	if got := d.results()["1"]; !got.Failed || !strings.Contains(got.Text, "nil map") {
		t.Errorf("result %+v", got)
	}
}

func TestReadOnlyTurn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer step
		object bool
	}{
		{step{text: finalText}, true},
		{step{calls: []model.Call{call("1", "write", `{"path":"a"}`)}}, false}, // it is asked once, whatever it answers
		{step{}, false},
	} {
		d := newDesk(t, tt.answer, step{text: finalText})
		d.req.ReadOnly = true
		turn := d.turn(context.Background())
		if (turn.Control != nil) != tt.object || len(d.tools.started()) != 0 || len(d.script.requests()) != 1 {
			t.Errorf("control %v after %d requests, ran %v", turn.Control, len(d.script.requests()), d.tools.started())
		}
		for _, r := range d.script.requests() {
			if len(r.Tools) != 0 || string(r.Schema) != agent.ControlSchema {
				t.Errorf("tools %v, schema %s", r.Tools, r.Schema)
			}
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	forever := func(n int) step { return step{calls: []model.Call{call("", "read", fmt.Sprintf(`{"path":"%d"}`, n))}} }
	for _, tt := range []struct {
		name  string
		steps []step
		more  func(int) step
		kind  failure.Kind
		asked int
	}{
		{"prose", []step{{text: "I think it is fixed."}}, nil, "", 1},
		{"empty twice", []step{{}, {}}, nil, failure.EmptyOutput, 2},
		{"empty, then an answer", []step{{think: "hm"}, {text: finalText}}, nil, "", 2},
		{"refused", []step{{text: "I cannot", stop: model.Refused}}, nil, failure.ContentPolicy, 1},
		{"a reason of its own", []step{{stop: model.Other}}, nil, failure.AgentError, 1},
		{"never", nil, forever, failure.AgentMaxTurns, DefaultTurns},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, tt.steps...)
			d.script.more = tt.more
			turn, _ := d.ends(t.Context(), tt.kind, tt.asked)
			if tt.name == "prose" && (turn.Control != nil || turn.Problem == "") {
				t.Errorf("control %v, problem %q", turn.Control, turn.Problem)
			}
		})
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	a := &Agent{ID: "own"}
	if err := a.Ready(); err == nil || !strings.Contains(err.Error(), "has no model") {
		t.Errorf("Ready = %v", err)
	}
	if _, err := a.Turn(context.Background(), agent.Request{}); err == nil {
		t.Errorf("Turn = %v", err)
	}
	a.Ask = func(context.Context, model.Request, func(model.Event)) (model.Answer, error) {
		return model.Answer{}, nil
	}
	if err := a.Ready(); err != nil || a.Name() != "own" {
		t.Errorf("Ready = %v, Name = %q", err, a.Name())
	}
}

// B45: a transcript that cannot be written is its writer's concern; the turn has no error of it.
func TestB45NobodyWritesDown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}}, step{text: finalText})
	d.req.Raw = brokenPipe{}
	d.ends(t.Context(), "", 2)
	if lines := d.of("notice"); len(lines) != 1 || lines[0].Data["text"] != "the raw stream cannot be kept: disk full" {
		t.Errorf("notices %v", lines)
	}
	d = newDesk(t, step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}}, step{text: finalText})
	d.req.Note, d.req.Notice = nil, nil
	d.ends(t.Context(), "", 2)
	d.ran("1")
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// The first finish ends the turn, whatever is before it; one that is followed by other calls, or invalid, ends nothing.
func TestFinishBesideOtherCalls(t *testing.T) {
	t.Parallel()
	d := newDesk(t,
		step{calls: []model.Call{call("1", "finish", `{"outcome":"done"}`), call("2", "write", `{"path":"a","content":"1"}`)}},
		step{calls: []model.Call{
			call("3", "write", `{"path":"b","content":"2"}`), call("4", "finish", `{"outcome":"no_fix","summary":"too early"}`),
			call("5", "write", `{"path":"c","content":"3"}`),
		}},
		step{calls: []model.Call{
			call("6", "write", `{"path":"d","content":"4"}`), call("7", "finish", `{"outcome":"fixed","summary":"the first"}`),
			call("8", "finish", `{"outcome":"no_fix","summary":"the second"}`),
		}},
	)
	top := d.onCopy(t, nil)
	turn, _ := d.ends(t.Context(), "", 3)
	if c := turn.Control; c == nil || c.Summary != "the first" || c.Outcome != agent.Fixed || len(c.Touched) != 4 {
		t.Fatalf("%+v", c)
	}
	if got := d.results()["4"]; got.Text != saidNotLast || !got.Failed {
		t.Errorf("%+v", got)
	}
	if got := standing(t, top); !maps.Equal(got, map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}) {
		t.Errorf("the copy holds %q", got)
	}
}

// A finish beside an edit that failed ends nothing: the model gets the error, and another turn.
func TestFinishBesideAFailedEdit(t *testing.T) {
	t.Parallel()
	fixed := `{"outcome":"fixed","summary":"done"}`
	d := newDesk(t,
		step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}},
		step{calls: []model.Call{call("2", "edit", `{"path":"a","old":"nope","new":"new"}`), call("3", "finish", fixed)}},
		step{calls: []model.Call{call("4", "edit", `{"path":"a","old":"old","new":"new"}`), call("5", "finish", fixed)}},
	)
	top := d.onCopy(t, map[string]string{"a": "old\n"})
	turn, _ := d.ends(t.Context(), "", 3)
	if turn.Control == nil || turn.Control.Outcome != agent.Fixed {
		t.Fatalf("%+v", turn)
	}
	if got := d.results(); !got["2"].Failed || got["3"].Text != saidUnwritten {
		t.Errorf("%+v", got)
	}
	if got := standing(t, top); got["a"] != "new\n" {
		t.Errorf("the copy holds %q", got)
	}
}

// Invalid arguments of any form are an error for the model, and each call has one result.
func TestArgumentsOfAnyShape(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"path":`, 5000) + "1" + strings.Repeat("}", 5000)
	var calls []model.Call
	for i, args := range []string{`{"path":["a"]}`, `{"path":null}`, `{"path":{"a":1}}`, deep, `{"path":"a","path":"b"}`, `{}`, `{"path":""}`, `{"path":"\u0000"}`} {
		calls = append(calls, call(string(rune('a'+i)), "write", args))
	}
	d := newDesk(t, step{calls: calls}, step{text: finalText})
	d.onCopy(t, nil)
	d.ends(t.Context(), "", 2)
	results := d.results()
	if len(results) != len(calls) {
		t.Errorf("%d results of %d calls", len(results), len(calls))
	}
	for id, r := range results {
		if !r.Failed || len(r.Text) > 400 {
			t.Errorf("%s: %.500q", id, r.Text)
		}
	}
}

// B09: the same in a turn: the write waits for the delete before it, and is not refused while it arrives.
func TestB09OneAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t,
		step{calls: []model.Call{call("1", "delete", `{"path":"a"}`), call("2", "write", `{"path":"a","content":"new\n"}`), call("3", "write", `{"path":"b","content":"new\n"}`)}},
		step{text: finalText},
	)
	top := d.onCopy(t, map[string]string{"a": "old\n"})
	d.ends(t.Context(), "", 2)
	for id, got := range d.results() {
		if got.Failed {
			t.Errorf("call %s: %s", id, got.Text)
		}
	}
	if got := standing(t, top); !maps.Equal(got, map[string]string{"a": "new\n", "b": "new\n"}) {
		t.Errorf("the copy holds %q", got)
	}
}

// A turn that is a task is told nothing of a repair or a report, and ends with its answer.
func TestTurnOfATask(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{}, step{text: "The answer."})
	d.req.Task, d.req.Prompt, d.req.Pack = true, "Do it.", nil
	turn := d.turn(context.Background())
	if turn.Kind != "" || turn.Text != "The answer." || turn.Control != nil {
		t.Errorf("turn = %+v", turn)
	}
	all := d.script.requests()
	for _, word := range []string{"You repair", "JSON", "finish tool"} {
		if strings.Contains(all[0].System, word) || strings.Contains(show(all[1].Messages), word) {
			t.Errorf("it is told of %q:\n%s\n%s", word, all[0].System, show(all[1].Messages))
		}
	}
	if !strings.Contains(all[0].System, "answer without a call") || all[0].Schema != nil {
		t.Errorf("system prompt %s", all[0].System)
	}
	if strings.Contains(lastWords("why", true), "JSON") {
		t.Error("the last words of a task ask for a report")
	}
}

// B96: the text beside a call that was cut is kept where the turn ends with it, whatever ends it.
func TestB96TextOfTheLastAnswer(t *testing.T) {
	t.Parallel()
	const says = "The cause is X. "
	half := call("1", "write", `{"path":"a.go","content":"package`)
	cut := step{text: says, half: &half, stop: model.MaxTokens}
	used := cut
	used.usage = model.Usage{Input: new(int64(600)), Output: new(int64(600))}
	for _, tt := range []struct {
		name   string
		steps  []step
		turns  int
		tokens int64
		kind   failure.Kind
		want   string
	}{
		{"no more turns", []step{cut}, 1, 0, failure.AgentMaxTurns, says},
		{"no more tokens", []step{used}, 0, 1000, failure.TokenBudget, says},
		{"another answer after it", []step{cut, {calls: []model.Call{call("2", "list", `{}`)}}}, 2, 0, failure.AgentMaxTurns, ""},
		{"a text that is continued", []step{cut, {text: "It is Y.", stop: model.MaxTokens}}, 2, 0, failure.AgentMaxTurns, "It is Y."},
	} {
		d := newDesk(t, tt.steps...)
		d.MaxTurns, d.req.Tokens = tt.turns, tt.tokens
		if turn := d.turn(t.Context()); turn.Kind != tt.kind || turn.Text != tt.want {
			t.Errorf("%s: kind %q, text %q", tt.name, turn.Kind, turn.Text)
		}
		if ran := d.tools.started(); slices.Contains(ran, "1") {
			t.Errorf("%s: ran %v", tt.name, ran)
		}
	}
}
