package modeltest

// Anthropic's Messages API. Sources: Anthropic, "Messages", "Streaming messages", "Errors", "Extended thinking".

import (
	"errors"
	"fmt"
	"net/http"
)

type object = map[string]any

func anthropicEvents(t *Turn, n int) []string {
	var events []string
	say := func(name string, data object) {
		data["type"] = name
		events = append(events, event(name, data))
	}
	usage := object{
		"input_tokens": t.Usage.Input - t.Usage.Cached, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": t.Usage.Cached, "output_tokens": 1,
	}
	if t.Usage == (Usage{}) {
		usage = object{}
	}
	say("message_start", object{"message": object{
		"id": fmt.Sprintf("msg_%d", n+1), "type": "message", "role": "assistant", "model": "scripted",
		"content":     []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
	index := 0
	block := func(start object, kind, field, text string, more ...object) {
		say("content_block_start", object{"index": index, "content_block": start})
		for p := range pieces(text) {
			say("content_block_delta", object{"index": index, "delta": object{"type": kind, field: p}})
		}
		for _, d := range more {
			say("content_block_delta", object{"index": index, "delta": d})
		}
		say("content_block_stop", object{"index": index})
		index++
	}
	if t.Thinking != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", t.Thinking,
			object{"type": "signature_delta", "signature": "c2lnbmVk"})
	}
	say("ping", object{})
	if t.Text != "" {
		block(object{"type": "text", "text": ""}, "text_delta", "text", t.Text)
	}
	for i, c := range t.Calls {
		block(object{"type": "tool_use", "id": "toolu_" + callID(n, i), "name": c.Name, "input": object{}},
			"input_json_delta", "partial_json", c.args())
	}
	stop := map[string]string{
		"end_turn": "end_turn", "tool_calls": "tool_use", "max_tokens": "max_tokens", "refused": "refusal",
	}[t.stop()]
	last := object{}
	if t.Usage != (Usage{}) {
		last["output_tokens"] = t.Usage.Output
	}
	say("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": last})
	say("message_stop", object{})
	return events
}

func anthropicFail(w http.ResponseWriter, status int, kind, message string) {
	failWith(w, status, object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_1"})
}

// anthropicLegal checks a request against the rules that the API enforces with status 400.
func anthropicLegal(q map[string]any) error {
	if _, ok := q["max_tokens"].(float64); !ok {
		return errors.New("max_tokens: Field required")
	}
	var open []string // calls of the message before, that wait for a result
	last := ""
	for i, m := range list(q["messages"]) {
		role, _ := m["role"].(string)
		if role == last {
			return fmt.Errorf("messages.%d: two messages of %s in a row", i, role)
		}
		last = role
		blocks := list(m["content"])
		if text, _ := m["content"].(string); text != "" {
			blocks = []object{{"type": "text", "text": text}}
		}
		if len(blocks) == 0 {
			return fmt.Errorf("messages.%d: the content is empty", i)
		}
		results := map[string]bool{}
		var calls []string
		for j, b := range blocks {
			switch b["type"] {
			case "text":
				if s, _ := b["text"].(string); s == "" {
					return fmt.Errorf("messages.%d.content.%d: text content blocks must be non-empty", i, j)
				}
			case "tool_use":
				id, _ := b["id"].(string)
				if _, ok := b["input"].(map[string]any); !ok {
					return fmt.Errorf("messages.%d.content.%d: input is no object", i, j)
				}
				calls = append(calls, id)
			case "tool_result":
				id, _ := b["tool_use_id"].(string)
				if results[id] {
					return fmt.Errorf("messages.%d: each tool_use must have a single result: %s", i, id)
				}
				results[id] = true
			}
		}
		if err := answered(open, results); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
		open = calls
		if role == "assistant" && len(results) > 0 || role == "user" && len(calls) > 0 {
			return fmt.Errorf("messages.%d: blocks of the other side", i)
		}
	}
	if last != "user" {
		return errors.New("messages: the conversation must end with a user message")
	}
	return nil
}

// answered reports whether results are exactly those of the calls.
func answered(calls []string, results map[string]bool) error {
	for _, id := range calls {
		if !results[id] {
			return fmt.Errorf("the call %s has no result", id)
		}
	}
	if len(results) > len(calls) {
		return errors.New("a result without its call")
	}
	return nil
}

// list returns v as a list of objects, without what is not one.
func list(v any) []map[string]any {
	all, _ := v.([]any)
	var objects []map[string]any
	for _, a := range all {
		if o, ok := a.(map[string]any); ok {
			objects = append(objects, o)
		}
	}
	return objects
}
