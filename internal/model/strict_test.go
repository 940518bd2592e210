package model

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// Streams that break their protocol: each is an error, never an answer.
func TestStrict(t *testing.T) {
	t.Parallel()
	const start = `{"type":"message_start","message":{"id":"m"}}`
	const created = `{"type":"response.created","response":{"id":"r"}}`
	const message = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`
	for _, c := range []struct {
		name, provider, stream string
		kind                   failure.Kind
		words                  string
	}{
		{"twice begun", Anthropic, named(start, start), failure.StreamFailure, "before"},
		{"delta before the start", Anthropic, named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`), failure.StreamFailure, "not yet"},
		{"delta without its block", Anthropic, named(start, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`), failure.StreamFailure, "not begun"},
		{"block twice", Anthropic, named(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`), failure.StreamFailure, "block 0 begins"},
		{"block left out", Anthropic, named(start, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`), failure.StreamFailure, "block 1 begins"},
		{"delta after the block", Anthropic, named(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_stop","index":0}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`), failure.StreamFailure, "has ended"},
		{"delta of another type", Anthropic, named(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`), failure.StreamFailure, "in a block of type text"},
		{"stop with an open block", Anthropic, named(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`), failure.StreamFailure, "had not ended"},
		{"two reasons", Anthropic, named(start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`), failure.StreamFailure, "and then"},
		{"end without a reason", Anthropic, named(start, `{"type":"message_stop"}`), failure.StreamFailure, "without the reason"},
		{"more after the reason", Anthropic, named(start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`), failure.StreamFailure, "after the reason"},
		{"tool use without a call", Anthropic, named(start, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`), failure.StreamFailure, "called none"},
		{"no JSON", Anthropic, "data: <html>\n\n", failure.ParseError, "not the JSON"},
		{"no type", Anthropic, plain(`{}`), failure.ParseError, "no type"},
		{"no index", Anthropic, named(start, `{"type":"content_block_start","content_block":{"type":"text"}}`), failure.ParseError, "no index"},

		{"delta without its item", OpenAI, named(created, `{"type":"response.output_text.delta","output_index":0,"delta":"x"}`), failure.StreamFailure, "not begun"},
		{"item twice", OpenAI, named(created, message, message), failure.StreamFailure, "twice"},
		{"delta after the item", OpenAI, named(created, message, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}`, `{"type":"response.output_text.delta","output_index":0,"delta":"x"}`), failure.StreamFailure, "is done"},
		{"event twice", OpenAI, named(`{"type":"response.created","sequence_number":1,"response":{"id":"r"}}`, `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"message"}}`), failure.StreamFailure, "event 1 after event 1"},
		{"events exchanged", OpenAI, named(`{"type":"response.created","sequence_number":2,"response":{"id":"r"}}`, `{"type":"response.in_progress","sequence_number":1}`), failure.StreamFailure, "event 1 after event 2"},
		{"piece lost", OpenAI, named(created, message, `{"type":"response.output_text.delta","output_index":0,"delta":"x"}`, `{"type":"response.output_text.done","output_index":0,"text":"xy"}`), failure.StreamFailure, "other words"},
		{"piece of arguments twice", OpenAI, named(created, `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"n"}}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{"}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{"}`, `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{}"}`), failure.StreamFailure, "other words"},
		{"complete with an open item", OpenAI, named(created, message, `{"type":"response.completed","response":{}}`), failure.StreamFailure, "not done"},
		{"no item", OpenAI, named(created, `{"type":"response.output_item.added","output_index":0}`), failure.ParseError, "no item"},

		{"B92/no choices", OpenAIChat, plain(`{"id":"x"}`), failure.ParseError, "no choices"},
		{"done without a finish", OpenAIChat, plain(`{"choices":[{"delta":{"content":"x"}}]}`, `[DONE]`), failure.StreamFailure, "no finish_reason"},
		{"more after the finish", OpenAIChat, plain(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{"content":"x"}}]}`), failure.StreamFailure, "after its finish_reason"},
		{"piece of an unknown call", OpenAIChat, plain(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`), failure.StreamFailure, "not begun"},
		{"two calls in one place", OpenAIChat, plain(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"y"}}]}}]}`), failure.StreamFailure, "two calls"},
		{"wrong shape", OpenAIChat, plain(`{"choices":{"delta":"x"}}`), failure.ParseError, "protocol (choices holds object, which is wrong there)"},

		{"more after the finish", Gemini, plain(`{"candidates":[{"finishReason":"STOP"}]}`, `{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`), failure.StreamFailure, "after its finishReason"},
		{"call without a name", Gemini, plain(`{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}`), failure.ParseError, "no name"},
		{"a call that Google cannot read", Gemini, plain(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: read("}]}`), failure.StreamFailure, "Malformed function call: read("},
		{"no candidates", Gemini, plain(`{"responseId":"x"}`), failure.ParseError, "no candidates"},
		{"nothing", Gemini, "", failure.StreamFailure, "ended before"},
		{"nothing but comments", Anthropic, ": ping\n\n: ping\n\n", failure.StreamFailure, "ended before"},
	} {
		t.Run(c.provider+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			e := failed(t, answering(c.provider, c.stream))
			if e.Kind != c.kind || e.Retryable != (c.kind == failure.StreamFailure) || !strings.Contains(e.Message, c.words) || e.RetryAfter >= 0 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// What nobody knows is passed over: new types of events, of blocks, of deltas, of parts; comments and keep-alives.
func TestUnknownIsPassedOver(t *testing.T) {
	t.Parallel()
	for provider, stream := range map[string]string{
		Anthropic: ": hello\n\n" + named(
			`{"type":"news"}`,
			`{"type":"message_start","message":{"id":"m"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"n"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"yes"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`,
		),
		OpenAI: named(
			`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.queued"}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call"}}`,
			`{"type":"response.web_search_call.searching","output_index":0}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call"}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"message"}}`,
			`{"type":"response.output_text.annotation.added","output_index":1}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"yes"}]}}`,
			`{"type":"response.completed","response":{"id":"r"}}`,
		),
		OpenAIChat: ": OPENROUTER PROCESSING\n\n" + plain(
			`{"choices":[],"prompt_filter_results":[],"usage":null}`,
			`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes","new":1}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`,
		),
		Gemini: plain(
			`{"candidates":[{"content":{"parts":[{"executableCode":{"code":"1"}},{"text":"yes"},{"text":""}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}],"new":{}}`,
		),
	} {
		a, err := answering(provider, stream).Turn(t.Context(), hello, nil)
		if err != nil {
			t.Errorf("%s: %v\n%s", provider, err, stream)
			continue
		}
		if len(a.Blocks) != 1 || a.Blocks[0].Text != "yes" || a.Stop != EndTurn || len(a.Broken) != 0 {
			t.Errorf("%s: %+v", provider, a)
		}
	}
}

// Why a model stopped, in our words.
func TestStops(t *testing.T) {
	t.Parallel()
	anthropic := func(reason string) string {
		return named(`{"type":"message_start","message":{"id":"m"}}`, `{"type":"message_delta","delta":{"stop_reason":"`+reason+`"}}`, `{"type":"message_stop"}`)
	}
	chat := func(reason string) string {
		return plain(`{"choices":[{"delta":{},"finish_reason":"`+reason+`"}]}`, `[DONE]`)
	}
	gemini := func(reason string) string { return plain(`{"candidates":[{"finishReason":"` + reason + `"}]}`) }
	openai := func(reason string) string {
		return named(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"` + reason + `"}}}`)
	}
	for _, c := range []struct {
		provider, stream string
		stop             Stop
		reason           string
	}{
		{Anthropic, anthropic("end_turn"), EndTurn, "end_turn"},
		{Anthropic, anthropic("stop_sequence"), EndTurn, "stop_sequence"},
		{Anthropic, anthropic("max_tokens"), MaxTokens, "max_tokens"},
		{Anthropic, anthropic("refusal"), Refused, "refusal"},
		{Anthropic, anthropic("model_context_window_exceeded"), Overflow, "model_context_window_exceeded"},
		{Anthropic, anthropic("pause_turn"), Other, "pause_turn"},
		{OpenAI, openai("max_output_tokens"), MaxTokens, "max_output_tokens"},
		{OpenAI, openai("content_filter"), Refused, "content_filter"},
		{OpenAI, openai("steered"), Other, "steered"},
		{OpenAI, named(
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`,
			`{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"I will not."}`,
			`{"type":"response.refusal.done","output_index":0,"content_index":0,"refusal":"I will not."}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}`,
			`{"type":"response.completed","response":{}}`,
		), Refused, "refusal"},
		{OpenAIChat, chat("stop"), EndTurn, "stop"},
		{OpenAIChat, chat("length"), MaxTokens, "length"},
		{OpenAIChat, chat("content_filter"), Refused, "content_filter"},
		{OpenAIChat, chat("eos"), Other, "eos"},
		{OpenAIChat, plain(`{"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]}`, `[DONE]`), Refused, "stop"},
		{Gemini, gemini("STOP"), EndTurn, "STOP"},
		{Gemini, gemini("MAX_TOKENS"), MaxTokens, "MAX_TOKENS"},
		{Gemini, gemini("SAFETY"), Refused, "SAFETY"},
		{Gemini, gemini("TOO_MANY_TOOL_CALLS"), Other, "TOO_MANY_TOOL_CALLS"},
		{Gemini, plain(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":3}}`), Refused, "PROHIBITED_CONTENT"},
	} {
		var told Stop
		a, err := answering(c.provider, c.stream).Turn(context.Background(), hello, func(e Event) { told = e.Stop })
		if err != nil || a.Stop != c.stop || a.Reason != c.reason || told != c.stop {
			t.Errorf("%s %s: stop %q, reason %q, told %q, error %v", c.provider, c.reason, a.Stop, a.Reason, told, err)
		}
	}
}

// A count that is none is unknown: a budget must not grow by it, and the answer stands.
func TestTally(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int64 // -1: unknown
	}{
		{"0", 0},
		{"300", 300},
		{"1e3", 1000},
		{"-100000", -1},
		{"9223372036854775807", mostTokens},
		{"4611686018427387904", mostTokens},
		{"1e30", mostTokens},
		{`"300"`, -1},
		{"300.5", -1},
		{"null", -1},
		{"true", -1},
		{"{}", -1},
		{"[1]", -1},
	} {
		for _, provider := range []string{Anthropic, OpenAI, OpenAIChat, Gemini} {
			t.Run(provider+" "+c.text, func(t *testing.T) {
				t.Parallel()
				stream := recorded[provider]
				for _, was := range []string{`"input_tokens":7,`, `"input_tokens":1007,`, `"prompt_tokens":1007,`, `"promptTokenCount":1007,`} {
					name, _, _ := strings.Cut(was, ":")
					stream = strings.ReplaceAll(stream, was, name+":"+c.text+",")
				}
				a, err := answering(provider, stream).Turn(t.Context(), hello, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprint(c.want)
				if c.want >= 0 && provider == Anthropic {
					want = fmt.Sprint(c.want + 1000) // what was read from the cache and put there
				}
				got := "-1"
				if a.Usage.Input != nil {
					got = fmt.Sprint(*a.Usage.Input)
				}
				if got != want {
					t.Errorf("%s tokens, want %s", got, want)
				}
			})
		}
	}
}
