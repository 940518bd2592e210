package native

// The whole room at work: a real model client on real sockets, the real tools on a real folder.

import (
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	for _, provider := range []string{model.Anthropic, model.OpenAI, model.OpenAIChat, model.Gemini} {
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
				onTheWire(t, provider, repair(fault), fault.Fault.Kind != "" || fault.Status != 0)
			})
		}
	}
}

func onTheWire(t *testing.T, provider string, turns []modeltest.Turn, recovers bool) {
	t.Helper()
	server := &modeltest.Server{Scenario: modeltest.Scenario{Turns: turns}, Key: "k-123456"}
	web := httptest.NewServer(server)
	defer web.Close()
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "sum.go")
	if err := os.WriteFile(file, []byte("package sum\n\nfunc Sum(a, b int) int { return a - b }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := &model.Model{Provider: provider, Name: "m-1", BaseURL: web.URL, Key: "k-123456"}
	a := &Agent{ID: "own", Ask: m.Turn, Model: "m-1", Provider: provider, Breaker: &Breaker{}, random: func() float64 { return 0 }}
	checks := 0
	var lines []agent.Line
	turn, err := a.Turn(context.Background(), agent.Request{
		Attempt: 1, Prompt: "Repair it.", Pack: []byte(`{"task":"test"}`), Dir: dir, Copy: dir, Idle: time.Minute,
		Note: func(l agent.Line) { lines = append(lines, l) },
		Check: func(_ context.Context, out io.Writer) (bool, error) {
			checks++
			text, err := os.ReadFile(file)
			return strings.Contains(string(text), "a + b"), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if turn.Kind != "" || turn.Control == nil || turn.Control.Outcome != agent.Fixed || len(turn.Control.Touched) != 1 {
		t.Errorf("kind %q (%s), control %+v", turn.Kind, turn.Evidence, turn.Control)
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "package sum\n\nfunc Sum(a, b int) int { return a + b }\n" || checks != 1 {
		t.Errorf("after %d checks the file is %q, %v", checks, text, err)
	}
	for _, err := range server.Wrong() {
		t.Errorf("a request was refused: %v", err)
	}
	calls, recoveries := 0, 0
	for _, l := range lines {
		switch l.Type {
		case "tool_call":
			calls++
		case "recovery":
			recoveries++
		}
	}
	if calls != 5 || (recoveries > 0) != recovers {
		t.Errorf("%d calls, %d recoveries", calls, recoveries)
	}
}
