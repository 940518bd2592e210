package modeltest

// OpenAI's Responses API and Chat Completions. Sources: OpenAI's API reference, "Responses", "Responses streaming
// events", "Chat completions", "The chat completion chunk object", and the guide "Error codes".

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
)

func openaiEvents(t *Turn, n int) []string {
	var events []string
	say := func(name string, data object) {
		data["type"], data["sequence_number"] = name, len(events)
		events = append(events, event(name, data))
	}
	id := fmt.Sprintf("resp_%d", n+1)
	whole := func(status string) object {
		r := object{"id": id, "object": "response", "model": "scripted", "status": status, "output": []any{}, "usage": nil}
		if status != "in_progress" && t.Usage != (Usage{}) {
			r["usage"] = object{
				"input_tokens": t.Usage.Input, "input_tokens_details": object{"cached_tokens": t.Usage.Cached},
				"output_tokens": t.Usage.Output, "output_tokens_details": object{"reasoning_tokens": 0},
				"total_tokens": t.Usage.Input + t.Usage.Output,
			}
		}
		return r
	}
	say("response.created", object{"response": whole("in_progress")})
	say("response.in_progress", object{"response": whole("in_progress")})
	index := 0
	if t.Thinking != "" {
		id := fmt.Sprintf("rs_%d", n+1)
		at := func(more object) object {
			more["output_index"], more["item_id"], more["summary_index"] = index, id, 0
			return more
		}
		item := object{"type": "reasoning", "id": id, "summary": []any{}}
		say("response.output_item.added", object{"output_index": index, "item": item})
		say("response.reasoning_summary_part.added", at(object{"part": object{"type": "summary_text", "text": ""}}))
		for p := range pieces(t.Thinking) {
			say("response.reasoning_summary_text.delta", at(object{"delta": p}))
		}
		part := object{"type": "summary_text", "text": t.Thinking}
		say("response.reasoning_summary_text.done", at(object{"text": t.Thinking}))
		say("response.reasoning_summary_part.done", at(object{"part": part}))
		item = object{"type": "reasoning", "id": id, "encrypted_content": "Z0FBQUFB", "summary": []any{part}}
		say("response.output_item.done", object{"output_index": index, "item": item})
		index++
	}
	if t.Text != "" {
		kind, field := "output_text", "text"
		if t.stop() == "refused" {
			kind, field = "refusal", "refusal"
		}
		item := fmt.Sprintf("msg_%d", n+1)
		at := func(more object) object {
			more["output_index"], more["item_id"], more["content_index"] = index, item, 0
			return more
		}
		say("response.output_item.added", object{"output_index": index, "item": object{
			"type": "message", "id": item, "role": "assistant", "status": "in_progress", "content": []any{},
		}})
		say("response.content_part.added", at(object{"part": object{"type": kind, field: ""}}))
		for p := range pieces(t.Text) {
			say("response."+kind+".delta", at(object{"delta": p}))
		}
		say("response."+kind+".done", at(object{field: t.Text}))
		say("response.content_part.done", at(object{"part": object{"type": kind, field: t.Text}}))
		say("response.output_item.done", object{"output_index": index, "item": object{
			"type": "message", "id": item, "role": "assistant", "status": "completed",
			"content": []any{object{"type": kind, field: t.Text}},
		}})
		index++
	}
	cut := t.stop() == "max_tokens"
	for i, c := range t.Calls {
		item := object{
			"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", n+1, i+1), "call_id": callID(n, i),
			"name": c.Name, "arguments": "", "status": "in_progress",
		}
		say("response.output_item.added", object{"output_index": index, "item": item})
		for p := range pieces(c.args()) {
			say("response.function_call_arguments.delta",
				object{"output_index": index, "item_id": item["id"], "delta": p})
		}
		if cut && i == len(t.Calls)-1 {
			break
		}
		done := object{"output_index": index, "item_id": item["id"], "arguments": c.args()}
		say("response.function_call_arguments.done", done)
		item = maps.Clone(item)
		item["arguments"], item["status"] = c.args(), "completed"
		say("response.output_item.done", object{"output_index": index, "item": item})
		index++
	}
	if cut {
		r := whole("incomplete")
		r["incomplete_details"] = object{"reason": "max_output_tokens"}
		say("response.incomplete", object{"response": r})
		return events
	}
	say("response.completed", object{"response": whole("completed")})
	return events
}

func chatEvents(t *Turn, n int) []string {
	var events []string
	chunk := func(delta object, finish any) {
		events = append(events, event("", object{
			"id": fmt.Sprintf("chatcmpl-%d", n+1), "object": "chat.completion.chunk", "model": "scripted",
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		}))
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for p := range pieces(t.Thinking) {
		chunk(object{"reasoning_content": p}, nil)
	}
	field := "content"
	if t.stop() == "refused" {
		field = "refusal"
	}
	for p := range pieces(t.Text) {
		chunk(object{field: p}, nil)
	}
	for i, c := range t.Calls {
		chunk(object{"tool_calls": []any{object{
			"index": i, "id": callID(n, i), "type": "function",
			"function": object{"name": c.Name, "arguments": ""},
		}}}, nil)
		for p := range pieces(c.args()) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	chunk(object{}, map[string]string{
		"end_turn": "stop", "tool_calls": "tool_calls", "max_tokens": "length", "refused": "content_filter",
	}[t.stop()])
	if t.Usage != (Usage{}) {
		events = append(events, event("", object{
			"id": fmt.Sprintf("chatcmpl-%d", n+1), "object": "chat.completion.chunk", "model": "scripted",
			"choices": []any{},
			"usage": object{
				"prompt_tokens": t.Usage.Input, "completion_tokens": t.Usage.Output,
				"total_tokens":          t.Usage.Input + t.Usage.Output,
				"prompt_tokens_details": object{"cached_tokens": t.Usage.Cached},
			},
		}))
	}
	return append(events, "data: [DONE]\n\n")
}

func openaiFail(w http.ResponseWriter, status int, kind, message string) {
	failWith(w, status, object{"error": object{"message": message, "type": kind, "param": nil, "code": kind}})
}

// openaiLegal checks that each call has one output, which comes after it.
func openaiLegal(q map[string]any) error {
	calls, outputs := map[string]bool{}, map[string]bool{}
	for i, item := range list(q["input"]) {
		id, _ := item["call_id"].(string)
		switch item["type"] {
		case "function_call":
			calls[id] = true
		case "function_call_output":
			if !calls[id] {
				return fmt.Errorf("input[%d]: no tool call found for function call output with call_id %s", i, id)
			}
			if outputs[id] {
				return fmt.Errorf("input[%d]: a second output for %s", i, id)
			}
			outputs[id] = true
		}
	}
	for id := range calls {
		if !outputs[id] {
			return fmt.Errorf("no tool output found for function call %s", id)
		}
	}
	if len(list(q["input"])) == 0 {
		return errors.New("input is empty")
	}
	return nil
}

// chatLegal checks that the messages after one with tool_calls are their results, each once.
func chatLegal(q map[string]any) error {
	open := map[string]bool{}
	messages := list(q["messages"])
	if len(messages) == 0 {
		return errors.New("messages is empty")
	}
	for i, m := range messages {
		if m["role"] == "tool" {
			id, _ := m["tool_call_id"].(string)
			if !open[id] {
				return fmt.Errorf("messages[%d]: role 'tool' must be a response to a preceding message with 'tool_calls'", i)
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages "+
				"responding to each 'tool_call_id'", i)
		}
		for _, c := range list(m["tool_calls"]) {
			id, _ := c["id"].(string)
			open[id] = true
		}
	}
	if len(open) > 0 {
		return errors.New("the last calls have no results")
	}
	return nil
}
