package model

// Help for the tests: a provider in memory, and one recorded answer in each protocol.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A trip is a provider in memory.
type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// A body gives data in pieces of at most step bytes (0: as asked), then err.
type body struct {
	data []byte
	step int
	err  error
}

func (b *body) Read(p []byte) (int, error) {
	if len(b.data) == 0 {
		return 0, b.err
	}
	if b.step > 0 && len(p) > b.step {
		p = p[:b.step]
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

func (b *body) Close() error { return nil }

// respond is an answer of HTTP; header is pairs.
func respond(status int, b io.ReadCloser, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: b, ProtoMajor: 1, ProtoMinor: 1}
}

func streamOf(b io.ReadCloser) *http.Response {
	return respond(http.StatusOK, b, "Content-Type", "text/event-stream; charset=utf-8")
}

func text(s string) io.ReadCloser { return &body{data: []byte(s), err: io.EOF} }

const testKey = "sk-test-0123456789abcdef"

// talk is a model of provider behind t.
func talk(provider string, t trip) *Model {
	return &Model{Provider: provider, Name: "a-model", Key: testKey, HTTP: &http.Client{Transport: t}}
}

// answering is a model that answers every request with one stream.
func answering(provider, stream string) *Model {
	return talk(provider, func(*http.Request) (*http.Response, error) { return streamOf(text(stream)), nil })
}

var hello = Request{Messages: []Message{{Role: User, Blocks: []Block{{Text: "hello"}}}}}

// errorOf is err as the error of this package.
func errorOf(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("the error is %#v, not an *Error", err)
	}
	return e
}

// failed is the error of a turn that must fail.
func failed(t *testing.T, m *Model) *Error {
	t.Helper()
	_, err := m.Turn(t.Context(), hello, nil)
	return errorOf(t, err)
}

// sent is the request that m makes of r, as JSON.
func sent(t *testing.T, m Model, r Request) map[string]any {
	t.Helper()
	var got map[string]any
	m.HTTP = &http.Client{Transport: trip(func(q *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(q.Body)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Errorf("the request is no JSON: %v\n%s", err, b)
		}
		return respond(http.StatusTeapot, text("{}")), nil
	})}
	if _, err := m.Turn(context.Background(), r, nil); err == nil {
		t.Fatal("a teapot answered")
	}
	return got
}

// lines puts events together: "name data" for each, the name left out where it is empty.
func lines(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		name, data, _ := strings.Cut(e, " ")
		if name != "" && name != "-" {
			b.WriteString("event: " + name + "\n")
		}
		b.WriteString("data: " + data + "\n\n")
	}
	return b.String()
}

// named is lines with the type that stands in the data as the name.
func named(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var typed struct{ Type string }
		if err := json.Unmarshal([]byte(e), &typed); err != nil {
			panic(err)
		}
		b.WriteString(lines(typed.Type + " " + e))
	}
	return b.String()
}

func plain(events ...string) string {
	return lines(strings.Split("- "+strings.Join(events, "\x00- "), "\x00")...)
}

// recorded is one answer in each protocol: thinking, a text, two calls (the second without arguments), usage.
var recorded = map[string]string{
	Anthropic: named(
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-x","stop_reason":null,"usage":{"input_tokens":7,"cache_creation_input_tokens":100,"cache_read_input_tokens":900,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2lnbg=="}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I read "}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"größe 1 < 2."}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a\\n"}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"b.go\",\"from\":1}"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_2","name":"check","input":{}}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}`,
		`{"type":"message_stop"}`,
	),
	OpenAI: named(
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"gpt-x","status":"in_progress","output":[]}}`,
		`{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1"}}`,
		`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
		`{"type":"response.reasoning_summary_part.added","sequence_number":3,"output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}`,
		`{"type":"response.reasoning_summary_text.delta","sequence_number":4,"output_index":0,"summary_index":0,"delta":"Let me "}`,
		`{"type":"response.reasoning_summary_text.delta","sequence_number":5,"output_index":0,"summary_index":0,"delta":"see."}`,
		`{"type":"response.reasoning_summary_text.done","sequence_number":6,"output_index":0,"summary_index":0,"text":"Let me see."}`,
		`{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA","summary":[{"type":"summary_text","text":"Let me see."}]}}`,
		`{"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}}`,
		`{"type":"response.content_part.added","sequence_number":9,"output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}`,
		`{"type":"response.output_text.delta","sequence_number":10,"output_index":1,"content_index":0,"delta":"I read "}`,
		`{"type":"response.output_text.delta","sequence_number":11,"output_index":1,"content_index":0,"delta":"größe 1 < 2."}`,
		`{"type":"response.output_text.done","sequence_number":12,"output_index":1,"content_index":0,"text":"I read größe 1 < 2."}`,
		`{"type":"response.content_part.done","sequence_number":13,"output_index":1,"content_index":0,"part":{"type":"output_text","text":"I read größe 1 < 2."}}`,
		`{"type":"response.output_item.done","sequence_number":14,"output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I read größe 1 < 2."}]}}`,
		`{"type":"response.output_item.added","sequence_number":15,"output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"toolu_1","name":"read","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":16,"output_index":2,"delta":"{\"path\":\"a\\n"}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":17,"output_index":2,"delta":"b.go\",\"from\":1}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":18,"output_index":2,"arguments":"{\"path\":\"a\\nb.go\",\"from\":1}"}`,
		`{"type":"response.output_item.done","sequence_number":19,"output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"toolu_1","name":"read","arguments":"{\"path\":\"a\\nb.go\",\"from\":1}","status":"completed"}}`,
		`{"type":"response.output_item.added","sequence_number":20,"output_index":3,"item":{"type":"function_call","id":"fc_2","call_id":"toolu_2","name":"check","arguments":""}}`,
		`{"type":"response.function_call_arguments.done","sequence_number":21,"output_index":3,"arguments":"{}"}`,
		`{"type":"response.output_item.done","sequence_number":22,"output_index":3,"item":{"type":"function_call","id":"fc_2","call_id":"toolu_2","name":"check","arguments":"{}","status":"completed"}}`,
		`{"type":"response.completed","sequence_number":23,"response":{"id":"resp_1","model":"gpt-x","status":"completed","usage":{"input_tokens":1007,"input_tokens_details":{"cached_tokens":900,"cache_write_tokens":100},"output_tokens":42,"output_tokens_details":{"reasoning_tokens":9},"total_tokens":1049}}}`,
	),
	OpenAIChat: plain(
		`{"id":"c_1","object":"chat.completion.chunk","model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{"reasoning_content":"Let me "},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{"reasoning_content":"see.","content":null},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{"content":"I read "},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{"content":"größe 1 < 2."},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"toolu_1","type":"function","function":{"name":"read","arguments":""}}]},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"a\\n"}}]},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"b.go\",\"from\":1}"}}]},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"toolu_2","type":"function","function":{"name":"check","arguments":""}}]},"finish_reason":null}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		`{"id":"c_1","model":"gpt-x","choices":[],"usage":{"prompt_tokens":1007,"completion_tokens":42,"total_tokens":1049,"prompt_tokens_details":{"cached_tokens":900,"cache_write_tokens":100}}}`,
		`[DONE]`,
	),
	Gemini: plain(
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"Let me ","thought":true}]},"index":0}],"usageMetadata":{"promptTokenCount":1007,"candidatesTokenCount":3,"totalTokenCount":1010},"modelVersion":"gemini-x","responseId":"g_1"}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"see.","thought":true}]},"index":0}],"modelVersion":"gemini-x","responseId":"g_1"}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"I read "}]},"index":0}],"modelVersion":"gemini-x","responseId":"g_1"}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"größe 1 < 2."}]},"index":0}],"modelVersion":"gemini-x","responseId":"g_1"}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"read","args":{"path":"a\nb.go","from":1}},"thoughtSignature":"c2lnbg=="}]},"index":0}],"modelVersion":"gemini-x","responseId":"g_1"}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"toolu_2","name":"check"}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1007,"cachedContentTokenCount":900,"candidatesTokenCount":30,"thoughtsTokenCount":12,"totalTokenCount":1049},"modelVersion":"gemini-x","responseId":"g_1"}`,
	),
}

// compact is JSON without the space between.
func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatalf("%q is no JSON: %v", raw, err)
	}
	return b.String()
}
