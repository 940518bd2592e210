package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func n(v int64) *int64 { return &v }

// The recorded answer means the same in every protocol; what differs is what must go back.
func TestAnswer(t *testing.T) {
	t.Parallel()
	raw := map[string][4]string{ // of thinking, text and the two calls
		Anthropic:  {`{"signature":"c2lnbg==","thinking":"Let me see.","type":"thinking"}`},
		OpenAI:     {`{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA","summary":[{"type":"summary_text","text":"Let me see."}]}`},
		OpenAIChat: {`{"reasoning_content":"Let me see."}`},
		Gemini:     {2: `{"thoughtSignature":"c2lnbg=="}`},
	}
	ids := map[string][3]string{
		Anthropic: {"msg_1", "claude-x", "tool_use"}, OpenAI: {"resp_1", "gpt-x", "completed"},
		OpenAIChat: {"c_1", "gpt-x", "tool_calls"}, Gemini: {"g_1", "gemini-x", "STOP"},
	}
	for provider, stream := range recorded {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			var told []string
			got, err := answering(provider, stream).Turn(context.Background(), hello, func(e Event) {
				told = append(told, fmt.Sprintf("%s %s%s%s%s", e.Kind, e.Text, e.Call.ID, e.Call.Args, e.Stop))
			})
			if err != nil {
				t.Fatal(err)
			}
			first, second := `{"path":"a\nb.go","from":1}`, `{}`
			want := Answer{
				Blocks: []Block{
					{Thinking: "Let me see."},
					{Text: "I read größe 1 < 2."},
					{Call: &Call{ID: "toolu_1", Name: "read", Args: json.RawMessage(first)}},
					{Call: &Call{ID: "toolu_2", Name: "check", Args: json.RawMessage(second)}},
				},
				Stop: ToolCalls, Reason: ids[provider][2], ID: ids[provider][0], Model: ids[provider][1], Progress: true,
				Usage: Usage{Input: n(1007), Output: n(42), Cached: n(900), Written: n(100)},
			}
			if provider == Gemini {
				want.Usage.Written = nil // it says nothing of that
			}
			for i, raw := range raw[provider] {
				if raw != "" {
					want.Blocks[i].Raw, want.Blocks[i].Provider = json.RawMessage(raw), provider
				}
			}
			for i := range got.Blocks {
				if got.Blocks[i].Raw != nil {
					got.Blocks[i].Raw = json.RawMessage(compact(t, got.Blocks[i].Raw))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			pieces := []string{`call_args {"path":"a\ntoolu_1`, `call_args b.go","from":1}toolu_1`}
			if provider == Gemini {
				pieces = []string{"call_args " + first + "toolu_1"}
			}
			whole := "call_whole toolu_1" + first
			expect := slices.Concat([]string{"thinking Let me ", "thinking see.", "text I read ", "text größe 1 < 2.", "call_begun toolu_1"}, pieces)
			if provider == OpenAIChat { // whole only when the finish says so
				expect = append(expect, "call_begun toolu_2", whole)
			} else {
				expect = append(expect, whole, "call_begun toolu_2")
			}
			if provider == OpenAI { // says {} in full
				expect = append(expect, "call_args {}toolu_2")
			}
			expect = append(expect, "call_whole toolu_2{}", "stopped tool_calls")
			if diff := cmp.Diff(expect, told); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// conversationField names the field of a request that holds the conversation.
var conversationField = map[string]string{
	Anthropic: "messages", OpenAI: "input", OpenAIChat: "messages", Gemini: "contents",
}

// What a model said goes back in the form its provider wants, and says the same when it comes again.
func TestAnswerGoesBack(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		Anthropic: `[{"role":"user","content":[{"type":"text","text":"hello"}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"Let me see.","signature":"c2lnbg=="},{"type":"text","text":"I read größe 1 < 2."},` +
			`{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a\nb.go","from":1}},{"type":"tool_use","id":"toolu_2","name":"check","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"package b"},` +
			`{"type":"tool_result","tool_use_id":"toolu_2","content":"exit status 1","is_error":true},{"type":"text","text":"go on"}]}]`,
		OpenAI: `[{"type":"message","role":"user","content":"hello"},` +
			`{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA","summary":[{"type":"summary_text","text":"Let me see."}]},` +
			`{"type":"message","role":"assistant","content":"I read größe 1 < 2."},` +
			`{"type":"function_call","call_id":"toolu_1","name":"read","arguments":"{\"path\":\"a\\nb.go\",\"from\":1}"},{"type":"function_call","call_id":"toolu_2","name":"check","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"toolu_1","output":"package b"},{"type":"function_call_output","call_id":"toolu_2","output":"error: exit status 1"},` +
			`{"type":"message","role":"user","content":"go on"}]`,
		OpenAIChat: `[{"role":"system","content":"be brief"},{"role":"user","content":"hello"},` +
			`{"role":"assistant","content":"I read größe 1 < 2.","reasoning_content":"Let me see.","tool_calls":[` +
			`{"id":"toolu_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\\nb.go\",\"from\":1}"}},{"id":"toolu_2","type":"function","function":{"name":"check","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"toolu_1","content":"package b"},{"role":"tool","tool_call_id":"toolu_2","content":"error: exit status 1"},` +
			`{"role":"user","content":"go on"}]`,
		Gemini: `[{"role":"user","parts":[{"text":"hello"}]},` +
			`{"role":"model","parts":[{"text":"I read größe 1 < 2."},{"functionCall":{"id":"toolu_1","name":"read","args":{"path":"a\nb.go","from":1}},"thoughtSignature":"c2lnbg=="},` +
			`{"functionCall":{"id":"toolu_2","name":"check","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"read","response":{"output":"package b"}}},` +
			`{"functionResponse":{"id":"toolu_2","name":"check","response":{"error":"exit status 1"}}},{"text":"go on"}]}]`,
	}
	for provider, stream := range recorded {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			m := answering(provider, stream)
			a, err := m.Turn(t.Context(), hello, nil)
			if err != nil {
				t.Fatal(err)
			}
			q := sent(t, *m, Request{System: "be brief", Messages: []Message{
				hello.Messages[0],
				{Role: Assistant, Blocks: a.Blocks},
				{Role: User, Blocks: []Block{
					{Result: &Result{ID: "toolu_1", Name: "read", Text: "package b"}},
					{Result: &Result{ID: "toolu_2", Name: "check", Text: "exit status 1", Failed: true}},
					{Text: "go on"},
				}},
			}})
			uncache(q)
			sameJSON(t, "conversation", want[provider], q[conversationField[provider]])
		})
	}
}

// sameJSON compares what was sent with the JSON that is expected.
func sameJSON(t *testing.T, what, want string, got any) {
	t.Helper()
	var expect any
	if err := json.Unmarshal([]byte(want), &expect); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expect, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// uncache takes the marks of the cache away and counts them.
func uncache(v any) int {
	marks := 0
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["cache_control"]; ok {
			delete(v, "cache_control")
			marks++
		}
		for _, e := range v {
			marks += uncache(e)
		}
	case []any:
		for _, e := range v {
			marks += uncache(e)
		}
	}
	return marks
}

// The head of a request: the address, the key in its header and nowhere else, what is accepted.
func TestRequestHead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ provider, base, url, header, value string }{
		{Anthropic, "", "https://api.anthropic.com/v1/messages", "X-Api-Key", testKey},
		{Anthropic, "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/messages", "X-Api-Key", testKey},
		{Anthropic, "https://gate.example/anthropic", "https://gate.example/anthropic/v1/messages", "X-Api-Key", testKey},
		{OpenAI, "", "https://api.openai.com/v1/responses", "Authorization", "Bearer " + testKey},
		{OpenAI, "http://localhost:9", "http://localhost:9/v1/responses", "Authorization", "Bearer " + testKey},
		{OpenAIChat, "https://gate.example/api/v1", "https://gate.example/api/v1/chat/completions", "Authorization", "Bearer " + testKey},
		{OpenAIChat, "https://gate.example/v1beta/openai/", "https://gate.example/v1beta/openai/chat/completions", "Authorization", "Bearer " + testKey},
		{Gemini, "", "https://generativelanguage.googleapis.com/v1beta/models/a-model:streamGenerateContent?alt=sse", "X-Goog-Api-Key", testKey},
		{Gemini, "http://[::1]:9/v1beta", "http://[::1]:9/v1beta/models/a-model:streamGenerateContent?alt=sse", "X-Goog-Api-Key", testKey},
	} {
		t.Run(c.provider+" "+c.base, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			var posted []byte
			m := talk(c.provider, func(r *http.Request) (*http.Response, error) {
				got = r
				var err error
				posted, err = io.ReadAll(r.Body)
				return streamOf(text(recorded[c.provider])), err
			})
			m.BaseURL = c.base
			if _, err := m.Turn(t.Context(), hello, nil); err != nil {
				t.Fatal(err)
			}
			if got.Method != http.MethodPost || got.URL.String() != c.url {
				t.Errorf("%s %s, want POST %s", got.Method, got.URL, c.url)
			}
			if got.Header.Get(c.header) != c.value {
				t.Errorf("%s: %q", c.header, got.Header.Get(c.header))
			}
			if a := got.Header.Get("Accept"); a != "text/event-stream" {
				t.Errorf("Accept: %q", a)
			}
			if v := got.Header.Get("Anthropic-Version"); (v != "") != (c.provider == Anthropic) {
				t.Errorf("Anthropic-Version: %q", v)
			}
			for name, values := range got.Header {
				if name != c.header && strings.Contains(strings.Join(values, " "), testKey) {
					t.Errorf("the key stands in %s too", name)
				}
			}
			if strings.Contains(got.URL.String()+string(posted), testKey) {
				t.Error("the key stands outside the header")
			}
		})
	}
}

// What stands around the conversation: tools, the schema of the answer, its length, and the marks of the cache.
func TestRequestFields(t *testing.T) {
	t.Parallel()
	r := Request{
		System: "be brief", Messages: []Message{
			{Role: User, Blocks: []Block{{Text: "one"}}},
			{Role: Assistant, Blocks: []Block{{Text: "two"}}},
			{Role: User, Blocks: []Block{{Text: "three"}}},
		},
		Tools:     []Tool{{Name: "a"}, {Name: "b", Description: "does b", Schema: json.RawMessage(`{"type":"object"}`)}},
		MaxTokens: 99, Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
	}
	for _, c := range []struct {
		m    Model
		want string
	}{
		{Model{Provider: Anthropic, Name: "claude-haiku-4-5"}, `{"model":"claude-haiku-4-5","max_tokens":99,"stream":true,"system":[{"type":"text","text":"be brief"}],
			"tools":[{"name":"a","description":"","input_schema":{"type":"object","properties":{}}},{"name":"b","description":"does b","input_schema":{"type":"object"}}],
			"output_config":{"format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false}}}}`},
		{Model{Provider: Anthropic, Name: "claude-opus-5-5"}, `{"model":"claude-opus-5-5","max_tokens":99,"stream":true,"system":[{"type":"text","text":"be brief"}],
			"tools":[{"name":"a","description":"","input_schema":{"type":"object","properties":{}}},{"name":"b","description":"does b","input_schema":{"type":"object"}}],
			"thinking":{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}},
			"output_config":{"format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false}}}}`},
		{Model{Provider: OpenAI, Name: "gpt-5.5"}, `{"model":"gpt-5.5","max_output_tokens":99,"stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"be brief",
			"tools":[{"type":"function","name":"a","description":"","parameters":{"type":"object","properties":{}},"strict":false},{"type":"function","name":"b","description":"does b","parameters":{"type":"object"},"strict":false}],
			"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object","additionalProperties":false},"strict":false}}}`},
		{Model{Provider: OpenAIChat, Name: "gpt-4.1"}, `{"model":"gpt-4.1","max_completion_tokens":99,"stream":true,"stream_options":{"include_usage":true},
			"tools":[{"type":"function","function":{"name":"a","description":"","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"b","description":"does b","parameters":{"type":"object"}}}],
			"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","additionalProperties":false}}}}`},
		{Model{Provider: OpenAIChat, Name: "x", BaseURL: "http://localhost:1/v1"}, `{"model":"x","max_tokens":99,"stream":true,"stream_options":{"include_usage":true},
			"tools":[{"type":"function","function":{"name":"a","description":"","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"b","description":"does b","parameters":{"type":"object"}}}],
			"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","additionalProperties":false}}}}`},
		{Model{Provider: Gemini, Name: "gemini-2.5-pro"}, `{"systemInstruction":{"parts":[{"text":"be brief"}]},
			"generationConfig":{"maxOutputTokens":99,"thinkingConfig":{"includeThoughts":true},"responseMimeType":"application/json","responseJsonSchema":{"type":"object","additionalProperties":false}},
			"tools":[{"functionDeclarations":[{"name":"a","description":"","parametersJsonSchema":{"type":"object","properties":{}}},{"name":"b","description":"does b","parametersJsonSchema":{"type":"object"}}]}]}`},
	} {
		t.Run(c.m.Provider+" "+c.m.Name, func(t *testing.T) {
			t.Parallel()
			q := sent(t, c.m, r)
			if marks := uncache(q); (marks == 4) != (c.m.Provider == Anthropic) || marks != 0 && marks != 4 {
				t.Errorf("%d marks of the cache", marks)
			}
			if key, ok := q["prompt_cache_key"]; ok != (c.m.Provider == OpenAI) {
				t.Errorf("prompt_cache_key: %v", key)
			}
			for _, name := range []string{"messages", "input", "contents", "prompt_cache_key"} {
				delete(q, name)
			}
			sameJSON(t, "request", c.want, any(q))
		})
	}
}

// Which models are asked to show what they think, and which of OpenAI's have thoughts to give back.
func TestModelFamilies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"claude-opus-5-5": true, "claude-sonnet-5": true, "claude-fable-5-1": true, "claude-opus-6": true, "claude-sonnet-4-6": false, "claude-haiku-5-5-20261001": true, "claude-opus-4-8": false, "claude-3-5-haiku-20241022": false,
		"claude-sonnet-4-20250514": false, "claude-": false, "claude--5": false, "my-claude-5": false, "": false,
	} {
		if thinksByItself(name) != want {
			t.Errorf("%s thinks by itself: %v", name, !want)
		}
		if bound := want && name != "claude-sonnet-5"; bindsThinking(name) != bound {
			t.Errorf("%s binds its thinking: %v", name, !bound)
		}
		h := http.Header{}
		anthropicWire.head(h, &Model{Name: name})
		if (h.Get("Anthropic-Beta") != "") != bindsThinking(name) {
			t.Errorf("%s: %v", name, h)
		}
	}
	for name, want := range map[string]bool{"gpt-5.5": true, "o4-mini": true, "gpt-6-astra": true, "gpt-4.1": false, "gpt-5-chat-latest": false, "chatgpt-4o-latest": false} {
		if reasons(name) != want {
			t.Errorf("%s reasons: %v", name, !want)
		}
	}
}

// Thinking that cannot go back as it was: cut off, or another provider's, or at the end of a message.
func TestThinkingThatIsNotGivenBack(t *testing.T) {
	t.Parallel()
	said := []Block{
		{Thinking: "cut off"},
		{Thinking: "of another", Raw: json.RawMessage(`{}`), Provider: "elsewhere"},
		{Text: "  "},
		{Text: "words"},
		{Thinking: "last", Raw: json.RawMessage(`{"type":"reasoning","reasoning_content":"last"}`), Provider: Anthropic},
	}
	for provider, want := range map[string]string{
		Anthropic:  `[{"role":"assistant","content":[{"type":"text","text":"of another"},{"type":"text","text":"words","cache_control":{"type":"ephemeral"}}]}]`,
		OpenAI:     `[{"type":"message","role":"assistant","content":"of another"},{"type":"message","role":"assistant","content":"  "},{"type":"message","role":"assistant","content":"words"},{"type":"message","role":"assistant","content":"last"}]`,
		OpenAIChat: `[{"role":"assistant","content":"of another\n\n  \n\nwords\n\nlast"}]`,
		Gemini:     `[{"role":"model","parts":[{"text":"of another"},{"text":"  "},{"text":"words"},{"text":"last"}]}]`,
	} {
		q := sent(t, Model{Provider: provider, Name: "a-model"}, Request{Messages: []Message{{Role: Assistant, Blocks: said}}})
		sameJSON(t, provider, want, q[conversationField[provider]])
	}
	own := []Block{{Text: "words"}, {Thinking: "last", Raw: json.RawMessage(`{"type":"reasoning"}`), Provider: OpenAI}}
	if items := openaiItems(Message{Role: Assistant, Blocks: own}); len(items) != 1 {
		t.Errorf("reasoning that led to nothing goes back: %v", items)
	}
}
