package native

// One answer with many calls: what it costs, and what becomes of those beside a call that is refused while it arrives.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// work is counted in what is allocated, not in time. The test runs beside no other: the count is the whole program's.
func TestManyCallsOfOneAnswerAreLinear(t *testing.T) { //nolint:paralleltest // see above
	cost := func(n int) uint64 {
		var calls []model.Call
		for i := range n {
			calls = append(calls, call(fmt.Sprint(i), "write", fmt.Sprintf(`{"path":"f%d","content":"x"}`, i%10)))
		}
		d := newDesk(t, step{calls: calls}, step{text: finalText})
		top := t.TempDir()
		d.open, d.req.Copy, d.req.Top = nil, top, top
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		turn := d.turn(t.Context())
		runtime.ReadMemStats(&after)
		if turn.Kind != "" || len(d.of("tool_result")) != n {
			t.Fatalf("kind %q (%s), %d results", turn.Kind, turn.Evidence, len(d.of("tool_result")))
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
	for _, tt := range []struct {
		name string
		step step
		ran  []string
		want map[string]string
		kind failure.Kind
		ends bool // the turn, with what finish said
	}{
		{
			"the answer is ended in its middle",
			step{text: "I write.", calls: front, half: &half, hang: true},
			[]string{"1", "2"},
			map[string]string{"1": "ok delete", "2": "ok read", "3": "old.go exists: use edit"},
			"", false,
		},
		{
			"more of it had come",
			step{calls: append(slices.Clone(front), call("3", "write", string(half.Args)+`"}`), call("4", "check", `{}`)), hang: true},
			[]string{"1", "2"},
			map[string]string{"1": "ok delete", "2": "ok read", "3": "old.go exists: use edit", "4": saidBehind},
			"", false,
		},
		{
			"all of it had come",
			step{calls: append(slices.Clone(front), call("3", "write", string(half.Args)+`"}`), call("4", "check", `{}`))},
			[]string{"1", "2", "3", "4"},
			map[string]string{"1": "ok delete", "2": "ok read", "3": "ok write", "4": "ok check"},
			"", false, // the guard itself refuses
		},
		{"the stream was lost too", step{calls: front, half: &half, err: lost()}, []string{"1", "2"}, map[string]string{"1": "ok delete", "3": "old.go exists: use edit"}, "", false},
		{"finish in front", step{calls: append(slices.Clone(front), call("9", "finish", `{}`)), half: &half, hang: true}, []string{"1", "2", "9"}, nil, "", true},
		{"nothing in front", step{half: &half, hang: true}, nil, map[string]string{"3": "old.go exists: use edit"}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, tt.step, step{text: finalText})
				d.tools.refuse = refuse
				turn := d.turn(context.Background())
				if turn.Kind != tt.kind || len(d.of("recovery")) != 0 || turn.Control == nil || (turn.Control.Summary == "by finish") != tt.ends {
					t.Fatalf("kind %q (%s), %d recoveries, %+v", turn.Kind, turn.Evidence, len(d.of("recovery")), turn.Control)
				}
				if got := d.tools.started(); !slices.Equal(got, tt.ran) || len(d.of("tool_call")) != len(tt.ran) {
					t.Errorf("ran %v, want %v", got, tt.ran)
				}
				if tt.ends {
					return
				}
				results := d.results()
				for id, want := range tt.want {
					if got := results[id].Text; got != want {
						t.Errorf("%s: %q, want %q", id, got, want)
					}
				}
			})
		})
	}
}

// The same with the real tools and their guard.
func TestRefusedWriteBesideGoodOnes(t *testing.T) {
	t.Parallel()
	d := newDesk(
		t,
		step{calls: []model.Call{call("1", "write", `{"path":"new","content":"new\n"}`), call("2", "edit", `{"path":"a","old":"old","new":"mended"}`)}, half: new(call("3", "write", `{"path":"../x","content":"`)), hang: true},
		step{text: finalText},
	)
	top := t.TempDir()
	if err := os.WriteFile(filepath.Join(top, "a"), []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.open, d.req.Copy, d.req.Top = nil, top, top
	d.turn(t.Context())
	for name, want := range map[string]string{"a": "mended\n", "new": "new\n"} {
		if b, err := os.ReadFile(filepath.Join(top, name)); string(b) != want {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
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

// Cut behind every event, with a call in it that cannot be right: the next request is legal, and the call in front
// runs once or not at all, by whether the refusal came before the cut.
func TestRefusedAndCutEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := story[1].events() // 3 edits, 4 is refused, 5 checks
		both := [2]int{}
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
			ran, want := d.tools.started(), []string(nil)
			if refused {
				want = []string{"3"}
				both[1]++
			} else {
				both[0]++
			}
			if !slices.Equal(ran, want) {
				t.Errorf("cut after %d: refused is %v, ran %v", n, refused, ran)
			}
		}
		if both[0] == 0 || both[1] == 0 {
			t.Errorf("%d were cut before the refusal, %d behind it", both[0], both[1])
		}
	})
}

// The same on real sockets: whatever of the answer had come, what stands in front is done, and the next request is
// one that the provider takes.
func TestRefusedOnTheWire(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			args := func(path, content string) json.RawMessage { // models write the path first
				return json.RawMessage(fmt.Sprintf(`{"path":%q,"content":%q}`, path, content))
			}
			server := &modeltest.Server{Scenario: modeltest.Scenario{Turns: []modeltest.Turn{
				{Thinking: "All at once.", Calls: []modeltest.Call{
					{Name: "write", Args: args("new", "new\n")}, {Name: "write", Args: args("old", strings.Repeat("x", 50_000))}, {Name: "write", Args: args("late", "late\n")},
				}},
				{Calls: []modeltest.Call{{Name: "finish", Args: json.RawMessage(`{"outcome":"fixed","summary":"done"}`)}}},
			}}, Key: "k-123456"}
			web := httptest.NewServer(server)
			defer web.Close()
			defer server.Close()
			top := t.TempDir()
			if err := os.WriteFile(filepath.Join(top, "old"), []byte("old\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			m := &model.Model{Provider: provider, Name: "m-1", BaseURL: web.URL, Key: "k-123456"}
			a := &Agent{ID: "own", Ask: m.Turn, Model: "m-1", Provider: provider}
			turn, err := a.Turn(t.Context(), agent.Request{Prompt: "Repair it.", Dir: top, Copy: top})
			if err != nil || turn.Kind != "" || turn.Control == nil || *turn.Requests != 2 {
				t.Fatalf("%+v, %v", turn, err)
			}
			for _, err := range server.Wrong() {
				t.Errorf("a request was refused: %v", err)
			}
			for name, want := range map[string]string{"new": "new\n", "old": "old\n"} {
				if b, err := os.ReadFile(filepath.Join(top, name)); string(b) != want {
					t.Errorf("%s holds %q, %v", name, b, err)
				}
			}
		})
	}
}
