package native

// One answer with many calls: what it costs, and what becomes of those beside a call that is refused while it arrives.

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// work is counted in what is allocated, not in time. The test runs beside no other: the count is the whole program's.
func TestManyCallsOfOneAnswerAreLinear(t *testing.T) { //nolint:paralleltest // see above
	cost := func(n int) uint64 {
		var calls []model.Call
		for i := range n {
			calls = append(calls, call(fmt.Sprint(i), "write", fmt.Sprintf(`{"path":"f%d","content":"x"}`, i%10)))
		}
		d := newDesk(t, step{calls: calls}, step{text: finalText})
		d.onCopy(t, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d.ends(t.Context(), "", 2)
		runtime.ReadMemStats(&after)
		if got := len(d.of("tool_result")); got != n {
			t.Fatalf("%d results", got)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	cost(10)
	if few, many := cost(50), cost(400); many > 12*few { // 8 times as many calls; what is quadratic costs 64 times as much
		t.Errorf("50 calls cost %d bytes, 400 cost %d", few, many)
	}
}

// The calls in front of one that is refused while it arrives run; it and those behind it are told why they did not.
func TestCallsInFrontOfARefusedOneRun(t *testing.T) {
	t.Parallel()
	half := call("3", "write", `{"path":"old.go","content":"package`)
	refuse := func(_ []model.Call, name, args string) (string, bool) {
		if name == "write" && strings.Contains(args, "old.go") {
			return "old.go exists: use edit", true
		}
		return "", false
	}
	front := []model.Call{call("1", "delete", `{"path":"x"}`), call("2", "read", `{"path":"y"}`)}
	with := func(more ...model.Call) []model.Call { return slices.Concat(front, more) }
	whole, behind := call("3", "write", string(half.Args)+`"}`), call("4", "check", `{}`)
	const told = "old.go exists: use edit"
	for _, tt := range []struct {
		name string
		step step
		ran  []string
		want map[string]string // nil: finish ends the turn
	}{
		{
			"the answer is ended in its middle",
			step{text: "I write.", calls: front, half: &half, hang: true},
			[]string{"1", "2"},
			map[string]string{"1": "ok delete", "2": "ok read", "3": told},
		},
		{
			"more of it had come",
			step{calls: with(whole, behind), hang: true},
			[]string{"1", "2"},
			map[string]string{"1": "ok delete", "2": "ok read", "3": told, "4": saidBehind},
		},
		{ // the guard itself refuses
			"all of it had come",
			step{calls: with(whole, behind)},
			[]string{"1", "2", "3", "4"},
			map[string]string{"1": "ok delete", "2": "ok read", "3": "ok write", "4": "ok check"},
		},
		{
			"the stream was lost too",
			step{calls: front, half: &half, err: lost()},
			[]string{"1", "2"},
			map[string]string{"1": "ok delete", "3": told},
		},
		{"finish in front", step{calls: with(call("9", "finish", `{}`)), half: &half, hang: true}, []string{"1", "2", "9"}, nil},
		{"nothing in front", step{half: &half, hang: true}, nil, map[string]string{"3": told}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			d := newDesk(t, tt.step, step{text: finalText})
			d.tools.refuse = refuse
			requests := 2
			if tt.want == nil {
				requests = 1
			}
			turn, took := d.ends(context.Background(), "", requests)
			finished := turn.Control != nil && turn.Control.Summary == "by finish"
			if took != 0 || len(d.of("recovery")) != 0 || finished != (tt.want == nil) {
				t.Fatalf("after %s, %d recoveries, %+v", took, len(d.of("recovery")), turn.Control)
			}
			d.ran(tt.ran...)
			if n := len(d.of("tool_call")); n != len(tt.ran) {
				t.Errorf("%d lines tool_call", n)
			}
			for id, want := range tt.want {
				if got := d.results()[id].Text; got != want {
					t.Errorf("%s: %q, want %q", id, got, want)
				}
			}
		})
	}
}

// The same with the real tools and their guard.
func TestRefusedWriteBesideGoodOnes(t *testing.T) {
	t.Parallel()
	d := newDesk(t,
		step{calls: []model.Call{
			call("1", "write", `{"path":"new","content":"new\n"}`), call("2", "edit", `{"path":"a","old":"old","new":"changed"}`),
		}, half: new(call("3", "write", `{"path":"../x","content":"`)), hang: true},
		step{text: finalText},
	)
	top := d.onCopy(t, map[string]string{"a": "old\n"})
	d.turn(t.Context())
	if got := standing(t, top); !maps.Equal(got, map[string]string{"a": "changed\n", "new": "new\n"}) {
		t.Errorf("the copy holds %q", got)
	}
	if got := d.results()["3"].Text; !strings.Contains(got, "outside of the copy") {
		t.Errorf("the refused one: %q", got)
	}
}

// A call of which one in front of it has not come whole is not refused early: the other may be what makes it right.
func TestInterleavedCallsAreNotRefusedEarly(t *testing.T) {
	t.Parallel()
	asked := 0
	e := newListener(func([]model.Call, string, string) (string, bool) { asked++; return "no", true }, func() {})
	one, two := model.Call{ID: "1", Name: "delete"}, model.Call{ID: "2", Name: "write"}
	e.take(model.Event{Kind: model.CallBegun, Call: one})
	e.take(model.Event{Kind: model.CallBegun, Call: two})
	e.take(model.Event{Kind: model.CallArgs, Call: two, Text: `{"path":"a"`})
	if asked != 0 {
		t.Error("refused before the call in front of it was whole")
	}
	e.take(model.Event{Kind: model.CallWhole, Call: call("1", "delete", `{"path":"a"}`)})
	e.take(model.Event{Kind: model.CallArgs, Call: two, Text: `,"content":"`})
	if asked != 1 || e.wrongID != "2" {
		t.Errorf("asked %d times, wrong is %q", asked, e.wrongID)
	}
}

// A call whose arguments are whole is not refused early: ending the answer would save nothing, and lose what follows.
func TestWholeArgumentsAreNotRefusedEarly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pieces  []string
		refused bool
	}{
		{[]string{`{"path":"a","content":"x"}`}, false},
		{[]string{`{"path":"`, `a","content":"x"} `}, false},
		{[]string{`{"path":"a","content":"x"`, `}`}, true},
		{[]string{`{"path":"a","con`}, true},
	} {
		e := newListener(func(_ []model.Call, _, args string) (string, bool) {
			sure := strings.Contains(args, `"a"`)
			return map[bool]string{true: "no"}[sure], sure
		}, func() {})
		c := model.Call{ID: "1", Name: "write"}
		e.take(model.Event{Kind: model.CallBegun, Call: c})
		for _, text := range tt.pieces {
			e.take(model.Event{Kind: model.CallArgs, Call: c, Text: text})
		}
		if got := isClosed(e.refused); got != tt.refused || (e.wrong != "") != tt.refused {
			t.Errorf("%q: refused is %v (%q)", tt.pieces, got, e.wrong)
		}
	}
}

// Cut behind every event, with a call in it that cannot be right: the next request is legal, and the call in front
// runs once or not at all, by whether the refusal came before the cut.
func TestRefusedAndCutEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := story[1].events() // 3 edits, 4 is refused, 5 checks
		both := map[bool]int{}      // by whether the call was refused before the cut
		for n := range len(events) + 1 {
			d := newDesk(t)
			d.tools.refuse = func(before []model.Call, name, args string) (string, bool) {
				if !strings.Contains(args, "b.go") || name != "write" {
					return "", false
				}
				if len(before) != 1 || before[0].ID != "3" {
					t.Errorf("in front of it stand %v", before)
				}
				return "b.go exists: use edit", true
			}
			asked, refused := 0, false
			d.Ask = func(_ context.Context, r model.Request, heard func(model.Event)) (model.Answer, error) {
				if err := illegal(r.Messages); err != nil {
					t.Errorf("cut after %d: request %d is not legal: %v\n%s", n, asked+1, err, show(r.Messages))
				}
				if asked++; asked > 1 {
					refused = strings.Contains(show(r.Messages), "use edit")
					return model.Answer{Blocks: []model.Block{{Text: finalText}}, Stop: model.EndTurn}, nil
				}
				for _, e := range events[:n] {
					heard(e)
				}
				a := until(events[:n])
				a.Stop = ""
				return a, lost()
			}
			turn := d.turn(t.Context())
			if turn.Kind != "" || asked != 2 {
				t.Errorf("cut after %d: kind %q after %d requests", n, turn.Kind, asked)
			}
			var want []string
			if refused {
				want = []string{"3"}
			}
			both[refused]++
			if ran := d.tools.started(); !slices.Equal(ran, want) {
				t.Errorf("cut after %d: refused is %v, ran %v", n, refused, ran)
			}
		}
		if len(both) != 2 {
			t.Errorf("cut before the refusal and behind it: %v", both)
		}
	})
}

// A turn says how many commands it started and how many its policy refused. A check is no command of the model's, and
// what its policy never saw counts for nothing; nor do the turn's commands count again for the question after it.
func TestCommandsOfATurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t,
		step{calls: []model.Call{
			call("1", "run", `{"argv":["make","check"]}`), call("2", "run", `{"argv":["rm","-rf","/"]}`), call("3", "check", `{}`),
			call("4", "run", `{"argv":"make"}`),
		}},
		step{calls: []model.Call{call("5", "run", `{"argv":["go","vet","."]}`), call("6", "run", `{"argv":["make"]}`)}},
		step{calls: []model.Call{call("7", "run", `{"argv":["go","vet","./..."]}`)}},
		step{text: "I made it good."},
		step{text: finalText},
	)
	d.onCopy(t, nil)
	d.req.Run, d.req.Allow = []string{"make", "check"}, [][]string{{"go", "vet", "**"}}
	d.req.Exec = func(context.Context, agent.Command) (agent.Exit, error) { return agent.Exit{Code: 1}, nil }
	d.req.Dir = "/project"
	turn := d.turn(t.Context())
	if c := turn.Commands; c.Allowed == nil || c.Refused == nil || *c.Allowed != 3 || *c.Refused != 2 {
		t.Fatalf("%+v, want 3 and 2; ended with %q: %s", c, turn.Kind, turn.Evidence)
	}
	again, err := turn.Resume(t.Context(), d.req)
	if err != nil || again.Commands != (agent.Commands{}) {
		t.Errorf("the question: %+v %v", again.Commands, err)
	}
}

// B02 B12: a write that arrives in pieces is refused where its content first differs from a file that was not read, also
// far behind its beginning; one of the same content is carried out.
func TestB02B12ContentInPieces(t *testing.T) {
	t.Parallel()
	old := strings.Repeat("a line of the file\n", 1000)
	for _, tt := range []struct {
		name    string
		content string
		within  int // bytes of the arguments; 0: it is not refused
		want    string
	}{
		{"the same", old, 0, "exactly this content already"},
		{"another from the first line on", "x" + old, 100, "was not read"},
		{"another in its middle", old[:9500] + "x" + old[9500:], 15_000, "was not read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := fmt.Sprintf(`{"path":"a","content":%q}`, tt.content)
			d := newDesk(t)
			d.onCopy(t, map[string]string{"a": old})
			asked := 0
			d.Ask = func(ctx context.Context, _ model.Request, heard func(model.Event)) (model.Answer, error) {
				if asked++; asked > 1 {
					return model.Answer{Blocks: []model.Block{{Text: finalText}}, Stop: model.EndTurn}, nil
				}
				c := model.Call{ID: "1", Name: "write"}
				heard(model.Event{Kind: model.CallBegun, Call: c})
				most := len(args)
				if tt.within > 0 {
					most = tt.within
				}
				for piece := range slices.Chunk([]byte(args[:most]), 50) {
					heard(model.Event{Kind: model.CallArgs, Call: c, Text: string(piece)})
				}
				if tt.within > 0 {
					select {
					case <-ctx.Done():
					case <-time.After(10 * time.Second):
						t.Errorf("not refused within %d bytes", most)
					}
					return model.Answer{}, context.Cause(ctx)
				}
				c.Args = []byte(args)
				heard(model.Event{Kind: model.CallWhole, Call: c})
				return model.Answer{Blocks: []model.Block{{Call: &c}}, Stop: model.ToolCalls}, nil
			}
			if turn := d.turn(t.Context()); turn.Kind != "" || asked != 2 {
				t.Fatalf("kind %q (%s) after %d requests", turn.Kind, turn.Evidence, asked)
			}
			lines := d.of("tool_result")
			if len(lines) != 1 || !strings.Contains(lines[0].Data["text"].(string), tt.want) || (lines[0].Data["started"] == false) != (tt.within > 0) {
				t.Errorf("%v", lines)
			}
		})
	}
}
