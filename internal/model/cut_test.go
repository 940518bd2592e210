package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// P54 B96: a recorded answer, cut behind every byte, cleanly and by a lost connection, ends as an error that may be
// retried, with what had come and no half call; or, once the model has said why it stopped, as the whole answer.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	for provider, stream := range recorded {
		t.Run("P54 B96/"+provider, func(t *testing.T) {
			t.Parallel()
			whole, err := answering(provider, stream).Turn(t.Context(), hello, nil)
			if err != nil {
				t.Fatal(err)
			}
			ends := []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET}
			complete := 0
			for cut := range len(stream) + 1 {
				end := ends[cut%len(ends)]
				kind := failure.TransportDisconnect
				if errors.Is(end, io.EOF) {
					kind = failure.StreamFailure
				}
				m := answering(provider, "")
				m.HTTP.Transport = served(stream[:cut], end)
				var events []Event
				got, err := m.Turn(context.Background(), hello, func(e Event) { events = append(events, e) })
				at := fmt.Sprintf("cut at %d by %v", cut, end)
				stopped := len(events) > 0 && events[len(events)-1].Kind == Stopped
				if stopped != (err == nil) {
					t.Fatalf("%s: the model had stopped: %v, and the error is %v", at, stopped, err)
				}
				if err == nil {
					complete++
					got.Usage, got.Model, got.ID = whole.Usage, whole.Model, whole.ID
					if a, b := asJSON(t, got), asJSON(t, whole); a != b {
						t.Fatalf("%s: the answer is\n%s\nwant\n%s", at, a, b)
					}
					continue
				}
				e := errorOf(t, err)
				if e.Kind != kind || !e.Retryable {
					t.Fatalf("%s: %s, retryable %v", at, e.Kind, e.Retryable)
				}
				heard := slices.ContainsFunc(events, func(e Event) bool { return e.Text != "" || e.Call.Name != "" })
				if got.Progress != heard {
					t.Fatalf("%s: progress %v after %d events", at, got.Progress, len(events))
				}
				if got.Stop != "" || got.Usage.Output != nil {
					t.Fatalf("%s: stop %q, output %v", at, got.Stop, got.Usage.Output)
				}
				checkPart(t, at, got, whole)
			}
			if complete == 0 {
				t.Error("no cut after the stop left the answer whole")
			}
		})
	}
}

func served(stream string, end error) trip {
	return func(*http.Request) (*http.Response, error) {
		return streamOf(&body{data: []byte(stream), err: end}), nil
	}
}

func asJSON(t *testing.T, a Answer) string {
	t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkPart: every block is the beginning of its place in the whole answer; calls in Blocks are whole, those in
// Broken are not.
func checkPart(t *testing.T, at string, part, whole Answer) {
	t.Helper()
	i := 0
	for _, b := range part.Blocks {
		for i < len(whole.Blocks) && kindOf(whole.Blocks[i]) != kindOf(b) {
			i++
		}
		if i == len(whole.Blocks) {
			t.Fatalf("%s: a block too many: %+v", at, b)
		}
		w := whole.Blocks[i]
		i++
		switch {
		case b.Call != nil:
			if b.Call.ID != w.Call.ID || string(b.Call.Args) != string(w.Call.Args) {
				t.Fatalf("%s: half a call: %s %s", at, b.Call.ID, b.Call.Args)
			}
		case !strings.HasPrefix(w.Text, b.Text) || !strings.HasPrefix(w.Thinking, b.Thinking):
			t.Fatalf("%s: %+v is no beginning of %+v", at, b, w)
		}
	}
	for _, c := range part.Broken {
		n := slices.IndexFunc(whole.Blocks, func(b Block) bool { return b.Call != nil && b.Call.ID == c.ID })
		if n < 0 || !strings.HasPrefix(string(whole.Blocks[n].Call.Args), string(c.Args)) {
			t.Fatalf("%s: broken call %s %q", at, c.ID, c.Args)
		}
	}
}

func kindOf(b Block) string {
	switch {
	case b.Call != nil:
		return "call " + b.Call.ID
	case b.Thinking != "":
		return "thinking"
	}
	return "text"
}

// B96: what the model was cut off from by its limit is broken, also where the half is JSON by accident; the text
// stays.
func TestCallCutByMaxTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, provider, stream, args string }{
		{"B96/anthropic half", Anthropic, anthropicCall(`{"path":"a`, "max_tokens"), `{"path":"a`},
		{"B96/anthropic nothing yet", Anthropic, anthropicCall("", "max_tokens"), ""},
		{"B96/anthropic whole by accident", Anthropic, anthropicCall("{}", "max_tokens"), "{}"},
		{"B96/anthropic block left open", Anthropic, strings.Replace(anthropicCall(`{"path":"a`, "max_tokens"), named(`{"type":"content_block_stop","index":1}`), "", 1), `{"path":"a`},
		{"B96/anthropic block closed late", Anthropic, late(anthropicCall("{}", "max_tokens"), named(`{"type":"content_block_stop","index":1}`)), "{}"},
		{"B96/anthropic window full", Anthropic, strings.Replace(anthropicCall(`{"path":"a`, "model_context_window_exceeded"), named(`{"type":"content_block_stop","index":1}`), "", 1), `{"path":"a`},
		{"B96/openai in_progress", OpenAI, openaiCut(`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","status":"in_progress","arguments":"{\"path\":\"a"}}`), `{"path":"a`},
		{"B96/openai without its half", OpenAI, openaiCut(`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","status":"in_progress","arguments":""}}`), `{"path":"a`},
		{"B96/openai item left open", OpenAI, openaiCut(), `{"path":"a`},
		{"B96/openai completed", OpenAI, strings.Replace(openaiCut(), "response.incomplete", "response.completed", 2), `{"path":"a`},
		{"B96/openai", OpenAI, openaiCut(
			`{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{\"path\":\"a"}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","status":"incomplete","arguments":"{\"path\":\"a"}}`,
		), `{"path":"a`},
		{"B96/openai_chat", OpenAIChat, plain(
			`{"choices":[{"index":0,"delta":{"content":"I write."}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"write","arguments":"{\"path\":\"a"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, `[DONE]`,
		), `{"path":"a`},
		{"B96/gemini", Gemini, plain(
			`{"candidates":[{"content":{"parts":[{"text":"I write."},{"functionCall":{"id":"c1","name":"write"}}]},"finishReason":"MAX_TOKENS"}]}`,
		), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, err := answering(c.provider, c.stream).Turn(t.Context(), hello, nil)
			if err != nil {
				t.Fatal(err)
			}
			if a.Stop != MaxTokens && a.Stop != Overflow || len(a.Blocks) != 1 || a.Blocks[0].Text != "I write." {
				t.Errorf("stop %s, blocks %+v", a.Stop, a.Blocks)
			}
			if len(a.Broken) != 1 || a.Broken[0].Name != "write" || string(a.Broken[0].Args) != c.args {
				t.Errorf("broken %+v", a.Broken)
			}
		})
	}
}

// openaiCut is a text and a call that max_output_tokens cut, with these events between its half and the end.
func openaiCut(events ...string) string {
	all := []string{
		`{"type":"response.created","response":{"id":"r"}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`,
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"I write."}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"write"}}`,
		`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"path\":\"a"}`,
	}
	all = append(all, events...)
	return named(append(all, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`)...)
}

// late moves an event behind the reason why the model stopped.
func late(stream, event string) string {
	end := named(`{"type":"message_stop"}`)
	return strings.Replace(strings.Replace(stream, event, "", 1), end, event+end, 1)
}

// B96: a call that the provider itself names incomplete is broken, whatever its arguments look like.
func TestIncompleteCall(t *testing.T) {
	t.Parallel()
	stream := named(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"write"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","status":"incomplete","arguments":"{}"}}`,
	)
	a, err := answering(OpenAI, stream).Turn(t.Context(), hello, nil)
	if e := errorOf(t, err); e.Kind != failure.StreamFailure || len(a.Blocks) != 0 || len(a.Broken) != 1 || !a.Progress {
		t.Errorf("%v, %+v", e, a)
	}
}

// anthropicCall is a text and a call whose arguments end where args does.
func anthropicCall(args, reason string) string {
	quoted, _ := json.Marshal(args)
	return named(
		`{"type":"message_start","message":{"id":"m"}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I write."}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"write","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":`+string(quoted)+`}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`,
	)
}

// Arguments that are not one JSON object make no call, whatever the stop reason says.
func TestArgumentsMustBeOneObject(t *testing.T) {
	t.Parallel()
	for args, ok := range map[string]bool{
		``: true, ` {} `: true, `{"a":{"b":[1]}}`: true, `[]`: false, `null`: false, `"x"`: false, `1`: false, `{`: false, `{}{}`: false,
		`{"a":1,}`: false, "{'a':1}": false,
	} {
		a, err := answering(Anthropic, anthropicCall(args, "tool_use")).Turn(t.Context(), hello, nil)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		for _, b := range a.Blocks {
			if b.Call != nil {
				calls++
				if !json.Valid(b.Call.Args) {
					t.Errorf("%q: a call with %q", args, b.Call.Args)
				}
			}
		}
		if (calls == 1) != ok || calls+len(a.Broken) != 1 || a.Stop != ToolCalls {
			t.Errorf("%q: %d calls, %d broken, stop %s", args, calls, len(a.Broken), a.Stop)
		}
	}
}

// A call that came with another stop reason than tool use is none.
func TestCallNeedsItsStopReason(t *testing.T) {
	t.Parallel()
	for provider, stream := range map[string]string{
		Anthropic:  strings.Replace(recorded[Anthropic], `"stop_reason":"tool_use"`, `"stop_reason":"end_turn"`, 1),
		OpenAIChat: strings.Replace(recorded[OpenAIChat], `"finish_reason":"tool_calls"`, `"finish_reason":"stop"`, 1),
		Gemini:     strings.Replace(recorded[Gemini], `"finishReason":"STOP"`, `"finishReason":"SAFETY"`, 1),
	} {
		a, err := answering(provider, stream).Turn(t.Context(), hello, nil)
		if err != nil {
			t.Errorf("%s: %v", provider, err)
		}
		if len(a.Broken) != 2 || slices.ContainsFunc(a.Blocks, func(b Block) bool { return b.Call != nil }) {
			t.Errorf("%s: stop %s, blocks %+v, broken %+v", provider, a.Stop, a.Blocks, a.Broken)
		}
	}
}

// Calls without an id, or with one that the conversation holds, get one of their own.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	stream := plain(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a"}},{"functionCall":{"name":"b"}},{"functionCall":{"id":"old","name":"c"}}]},"finishReason":"STOP"}]}`)
	r := Request{Messages: []Message{hello.Messages[0], {Role: Assistant, Blocks: []Block{{Call: &Call{ID: "old", Name: "c"}}}}}}
	m := answering(Gemini, stream)
	a, err := m.Turn(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"old": true, "": true}
	for _, b := range a.Blocks {
		if seen[b.Call.ID] {
			t.Errorf("the id %q twice", b.Call.ID)
		}
		seen[b.Call.ID] = true
	}
	if len(a.Blocks) != 3 {
		t.Errorf("%d blocks", len(a.Blocks))
	}
	if again, err := answering(Gemini, stream).Turn(context.Background(), Request{Used: []string{"old"}}, nil); err != nil || again.Blocks[2].Call.ID == "old" {
		t.Errorf("an id that was used comes again: %+v, %v", again.Blocks, err)
	}
	// An id that Gemini did not give is not given to it.
	q := sent(t, *m, Request{Messages: []Message{{Role: Assistant, Blocks: a.Blocks[:1]}}})
	if got := fmt.Sprint(q["contents"]); strings.Contains(got, "id:") {
		t.Errorf("contents %s", got)
	}
}
