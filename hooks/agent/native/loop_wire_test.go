package native

// The whole package at work: a real model client on real sockets, the real tools on a real folder.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// repair is a model that finds a wrong sign. fault happens to its second answer.
func repair(fault modeltest.Turn) []modeltest.Turn {
	args := func(s string) json.RawMessage { return json.RawMessage(s) }
	use := modeltest.Usage{Input: 100, Output: 10}
	turns := []modeltest.Turn{
		{Text: "I look.", Calls: []modeltest.Call{{Name: "read", Args: args(`{"path":"sum.go"}`)}, {Name: "search", Args: args(`{"pattern":"Sum"}`)}}, Usage: use},
		{Calls: []modeltest.Call{{Name: "edit", Args: args(`{"path":"sum.go","old":"a - b","new":"a + b"}`)}, {Name: "check", Args: args(`{}`)}}, Usage: use},
		{Text: "The sign was wrong.", Calls: []modeltest.Call{{Name: "finish", Args: args(`{"outcome":"fixed","summary":"the sign was wrong"}`)}}, Usage: use},
	}
	if fault.Fault.Kind != "" {
		broken := turns[1]
		broken.Fault = fault.Fault
		return []modeltest.Turn{turns[0], broken, turns[1], turns[2]}
	}
	if fault.Status != 0 {
		return []modeltest.Turn{turns[0], fault, turns[1], turns[2]}
	}
	return turns
}

func TestRepairOnTheWire(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders {
		for name, fault := range map[string]modeltest.Turn{
			"nothing happens": {},
			"cut early":       {Fault: modeltest.Fault{Kind: modeltest.Cut, Events: 1}},
			"cut in a call":   {Fault: modeltest.Fault{Kind: modeltest.Cut, Events: 3}},
			"truncated":       {Fault: modeltest.Fault{Kind: modeltest.End, Bytes: 150}},
			"overloaded":      {Status: 529, Error: "busy", RetryAfter: "1"},
		} {
			if provider == model.Gemini && fault.Fault.Events == 3 {
				continue // its third event is the end of the answer
			}
			t.Run(provider+"/"+name, func(t *testing.T) {
				t.Parallel()
				recovers := fault.Fault.Kind != "" || fault.Status != 0
				dir := copyOf(t, map[string]string{"sum.go": "package sum\n\nfunc Sum(a, b int) int { return a - b }\n"})
				turn, lines := onTheWire(t, provider, dir, repair(fault))
				want := "package sum\n\nfunc Sum(a, b int) int { return a + b }\n"
				if got := standing(t, dir)["sum.go"]; got != want || len(turn.Control.Touched) != 1 {
					t.Errorf("the file is %q, touched are %q", got, turn.Control.Touched)
				}
				if lines["tool_call"] != 5 || (lines["recovery"] > 0) != recovers {
					t.Errorf("%v", lines)
				}
			})
		}
	}
}

// onTheWire plays turns of a provider over a socket to an agent with the real tools on dir, and returns how its turn
// ended and the types of its transcript's lines.
func onTheWire(t *testing.T, provider, dir string, turns []modeltest.Turn) (agent.Turn, map[string]int) {
	t.Helper()
	server := &modeltest.Server{Scenario: modeltest.Scenario{Turns: turns}, Key: "k-123456"}
	web := httptest.NewServer(server)
	defer web.Close()
	defer server.Close()
	m := &model.Model{Provider: provider, Name: "m-1", BaseURL: web.URL, Key: "k-123456"}
	a := &Agent{
		ID: "own", Ask: m.Turn, Model: "m-1", Provider: provider, Breaker: &Breaker{}, random: func() float64 { return 0 },
	}
	lines := map[string]int{}
	turn, err := a.Turn(t.Context(), agent.Request{
		Attempt: 1, Prompt: "Repair it.", Pack: []byte(`{"task":"test"}`), Dir: dir, Copy: dir, Idle: time.Minute,
		Note: func(l agent.Line) { lines[l.Type]++ },
		Check: func(context.Context, io.Writer) (bool, error) {
			return strings.Contains(standing(t, dir)["sum.go"], "a + b"), nil
		},
	})
	if err != nil || turn.Kind != "" || turn.Control == nil || turn.Control.Outcome != agent.Fixed {
		t.Fatalf("kind %q (%s), control %+v, %v", turn.Kind, turn.Evidence, turn.Control, err)
	}
	for _, err := range server.Wrong() {
		t.Errorf("a request was refused: %v", err)
	}
	return turn, lines
}

// B12: a call is refused while it arrives: whatever of the answer had come, the calls in front of it are done, those
// behind it are not, and the next request is one that the provider takes. Where calls come whole, the guard refuses
// when the call runs: with Gemini all of them, with the chat protocol those behind the first, of which nobody knows when
// it is whole.
func TestRefusedOnTheWire(t *testing.T) {
	t.Parallel()
	write := func(path, content string) modeltest.Call { // models write the path first
		return modeltest.Call{Name: "write", Args: json.RawMessage(fmt.Sprintf(`{"path":%q,"content":%q}`, path, content))}
	}
	bad, late := write("old", strings.Repeat("x", 50_000)), write("late", "late\n")
	for _, provider := range allProviders {
		for _, c := range []struct {
			name  string
			calls []modeltest.Call
			whole bool // all of the answer arrives
		}{
			{"first", []modeltest.Call{bad, late}, provider == model.Gemini},
			{"second", []modeltest.Call{write("new", "new\n"), bad, late}, provider == model.Gemini || provider == model.OpenAIChat},
		} {
			t.Run(provider+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				dir := copyOf(t, map[string]string{"old": "old\n"})
				turn, _ := onTheWire(t, provider, dir, []modeltest.Turn{
					{Thinking: "All at once.", Calls: c.calls},
					{Calls: []modeltest.Call{{Name: "finish", Args: json.RawMessage(`{"outcome":"fixed","summary":"done"}`)}}},
				})
				want := map[string]string{"old": "old\n"}
				if c.name == "second" {
					want["new"] = "new\n"
				}
				if c.whole {
					want["late"] = "late\n"
				}
				if got := standing(t, dir); *turn.Requests != 2 || !maps.Equal(got, want) {
					t.Errorf("after %d requests the copy holds %q, want %q", *turn.Requests, got, want)
				}
			})
		}
	}
}
