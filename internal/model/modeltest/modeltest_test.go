package modeltest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

var hello = model.Request{
	System:   "be brief",
	Messages: []model.Message{{Role: model.User, Blocks: []model.Block{{Text: "hello"}}}},
	Tools:    []model.Tool{{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)}},
}

const patience = time.Minute // with a machine that is busy

func serve(t *testing.T, turns ...Turn) (*Server, func(provider string) *model.Model) {
	t.Helper()
	s := &Server{Scenario: Scenario{Turns: turns}, Key: "key-of-the-test"}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return s, func(provider string) *model.Model {
		return &model.Model{
			Provider: provider, Name: "scripted", BaseURL: h.URL, Key: "key-of-the-test",
			Limits: model.Limits{Connect: patience, Think: patience, Silent: patience},
		}
	}
}

func each(t *testing.T, f func(t *testing.T, provider string)) {
	t.Helper()
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			f(t, p.name)
		})
	}
}

// What the server says is what our client hears, and what the client then says is legal.
func TestConversation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, provider string) {
		s, at := serve(
			t,
			Turn{Thinking: "Größe matters.", Text: "I read two.", Calls: []Call{{Name: "read", Args: json.RawMessage(`{"path":"ä.go"}`)}, {Name: "read", Args: json.RawMessage(`{"path":"b.go"}`)}}, Usage: Usage{100, 20, 40}},
			Turn{Text: "Done.", Expect: "package b"},
		)
		m := at(provider)
		a, err := m.Turn(t.Context(), hello, nil)
		if err != nil {
			t.Fatal(err)
		}
		var text, thinking string
		var results []model.Block
		for _, b := range a.Blocks {
			text += b.Text
			thinking += b.Thinking
			if b.Call != nil {
				results = append(results, model.Block{Result: &model.Result{ID: b.Call.ID, Name: b.Call.Name, Text: "package b"}})
			}
		}
		if text != "I read two." || thinking != "Größe matters." || len(results) != 2 || a.Stop != model.ToolCalls {
			t.Errorf("%+v", a)
		}
		if u := a.Usage; u.Input == nil || *u.Input != 100 || *u.Output != 20 || *u.Cached != 40 {
			t.Errorf("%+v", a.Usage)
		}
		next := hello
		next.Messages = append(append([]model.Message(nil), hello.Messages...), model.Message{Role: model.Assistant, Blocks: a.Blocks}, model.Message{Role: model.User, Blocks: results})
		if a, err = m.Turn(t.Context(), next, nil); err != nil || a.Stop != model.EndTurn {
			t.Errorf("%+v %v", a, err)
		}
		if wrong := s.Wrong(); len(wrong) > 0 || len(s.Asked()) != 2 {
			t.Errorf("%v", wrong)
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	turn := Turn{Text: "I look at the file.", Calls: []Call{{Name: "read", Args: json.RawMessage(`{"path":"a.go"}`)}}, Usage: Usage{Input: 9, Output: 9}}
	with := func(f Fault) Turn {
		u := turn
		u.Fault = f
		return u
	}
	for _, c := range []struct {
		name  string
		turn  Turn
		kinds string // any of them; empty: an answer
	}{
		{"cut", with(Fault{Kind: Cut, Bytes: 300}), "transport_disconnect stream_failure"},
		{"end", with(Fault{Kind: End, Events: 3}), "stream_failure"},
		{"stall", with(Fault{Kind: Stall, Events: 3}), "idle_timeout"},
		{"half open", with(Fault{Kind: HalfOpen, Events: 3}), "idle_timeout"},
		{"drip", with(Fault{Kind: Drip}), ""},
		{"garbage", with(Fault{Kind: Garbage, Events: 2}), "stream_failure parse_error"},
		{"a long comment", with(Fault{Kind: LongLine, Events: 2, Bytes: 20 << 20}), ""},
		{"gzip", with(Fault{Kind: GzipDamage}), "decompression stream_failure"},
		{"401", Turn{Status: 401}, "auth_invalid"},
		{"429", Turn{Status: 429, RetryAfter: "7"}, "rate_limited"},
		{"500", Turn{Status: 500}, "server_overload"},
		{"529", Turn{Status: 529}, "server_overload"},
		{"HTML", Turn{Body: "<html>hello"}, "parse_error"},
		{"JSON", Turn{Body: "{}", Type: "application/json"}, "parse_error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, provider string) {
				_, at := serve(t, c.turn)
				m := at(provider)
				if c.kinds == "idle_timeout" {
					m.Limits.Think, m.Limits.Silent = 300*time.Millisecond, 300*time.Millisecond
				}
				a, err := m.Turn(t.Context(), hello, nil)
				if c.kinds == "" {
					if err != nil || a.Stop != model.ToolCalls {
						t.Errorf("%+v %v", a, err)
					}
					return
				}
				var e *model.Error
				if !errors.As(err, &e) || !strings.Contains(c.kinds, string(e.Kind)) {
					t.Fatalf("%+v %#v", a, err)
				}
				if c.name == "429" && e.RetryAfter != 7*time.Second {
					t.Errorf("retry after %s", e.RetryAfter)
				}
			})
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, provider string) {
		s, at := serve(t, Turn{Text: "never"})
		m := at(provider)
		m.Key = "another"
		if _, err := m.Turn(t.Context(), hello, nil); err == nil || len(s.Asked()) != 0 {
			t.Errorf("the wrong key was taken: %v", err)
		}
		m.Key = "key-of-the-test"
		orphan := hello
		orphan.Messages = append(append([]model.Message(nil), hello.Messages...),
			model.Message{Role: model.Assistant, Blocks: []model.Block{{Call: &model.Call{ID: "c1", Name: "read", Args: json.RawMessage(`{}`)}}}},
			model.Message{Role: model.User, Blocks: []model.Block{{Text: "go on"}}})
		if _, err := m.Turn(t.Context(), orphan, nil); err == nil || len(s.Wrong()) != 1 {
			t.Errorf("a call without a result was taken: %v", err)
		}
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"turns":[{"text":"x"}]}`:                      "",
		`{"turns":[]}`:                                  "no turns",
		`{"turns":[{"txt":"x"}]}`:                       "unknown field",
		`{"turns":[{"fault":{"kind":"cutt"}}]}`:         "no fault",
		`{"turns":[{"calls":[{"args":{"path":"x"}}]}]}`: "no name",
	} {
		_, err := Parse([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	s := Scenario{Turns: []Turn{{Text: "a", Times: 2}, {Text: "b"}}}
	for n, want := range []string{"a", "a", "b"} {
		if got := s.turn(n); got == nil || got.Text != want {
			t.Errorf("request %d: %+v", n, got)
		}
	}
	if s.turn(3) != nil {
		t.Error("a turn after the last")
	}
}

func TestWholeText(t *testing.T) {
	t.Parallel()
	for body, whole := range map[string]bool{
		`{}`: true, `"\ud83d\ude00 \u00e9\n"`: true, `"\\ud83d"`: true, `"\ud83d"`: false, `"\ude00"`: false, `"\ud83d \ude00"`: false,
		`"\ud83d\\ude00"`: false, `"\ud83d\ud83d\ude00"`: false, `"\ud83d\n"`: false,
	} {
		if err := wholeText([]byte(body)); (err == nil) != whole {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Each answer of a Repairer has ids of its own: a client that was answered twice tells the calls apart by them.
func TestRepairerNumbersItsCalls(t *testing.T) {
	t.Parallel()
	url, stop, err := Serve(&Repairer{Tool: "Bash", Argument: "command", Command: "true"})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	seen := map[string]bool{}
	for range 2 {
		body := `{"max_tokens":1,"tools":[],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		id := regexp.MustCompile(`"id":"(toolu_[^"]+)"`).FindStringSubmatch(string(text))
		if err != nil || id == nil || seen[id[1]] {
			t.Fatalf("%v, seen before: %v\n%s", err, seen, text)
		}
		seen[id[1]] = true
	}
}
