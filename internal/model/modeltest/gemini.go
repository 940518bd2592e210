package modeltest

// Gemini's generateContent. Sources: Google, "Generating content" (streamGenerateContent), "Function calling",
// "Thought signatures", "Troubleshooting" (error codes).

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

func geminiEvents(t *Turn, n int) []string {
	var events []string
	say := func(parts []any, finish string, last bool) {
		c := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		if finish != "" {
			c["finishReason"] = finish
		}
		chunk := object{"candidates": []any{c}, "modelVersion": "scripted", "responseId": fmt.Sprintf("g_%d", n+1)}
		if last && t.Usage != (Usage{}) {
			chunk["usageMetadata"] = object{
				"promptTokenCount": t.Usage.Input, "cachedContentTokenCount": t.Usage.Cached,
				"candidatesTokenCount": t.Usage.Output, "totalTokenCount": t.Usage.Input + t.Usage.Output,
			}
		}
		events = append(events, event("", chunk))
	}
	for p := range pieces(t.Thinking) {
		say([]any{object{"text": p, "thought": true}}, "", false)
	}
	for p := range pieces(t.Text) {
		say([]any{object{"text": p}}, "", false)
	}
	for i, c := range t.Calls {
		var args any = json.RawMessage(c.args())
		if !json.Valid([]byte(c.args())) {
			args = object{"broken": c.args()} // the protocol has no half arguments
		}
		call := object{"id": callID(n, i), "name": c.Name, "args": args}
		say([]any{object{"functionCall": call, "thoughtSignature": "c2lnbmVk"}}, "", false)
	}
	finish := map[string]string{
		"end_turn": "STOP", "tool_calls": "STOP", "max_tokens": "MAX_TOKENS", "refused": "SAFETY",
	}[t.stop()]
	say([]any{object{"text": ""}}, finish, true)
	return events
}

func geminiFail(w http.ResponseWriter, status int, kind, message string) {
	word := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
	}[status]
	failWith(w, status, object{"error": object{"code": status, "message": message, "status": cmp.Or(word, kind)}})
}

// geminiLegal checks that the message after one with calls has as many answers as there were calls.
func geminiLegal(q map[string]any) error {
	contents := list(q["contents"])
	if len(contents) == 0 {
		return errors.New("contents is not specified")
	}
	calls := 0
	for i, c := range contents {
		now, answers := 0, 0
		parts := list(c["parts"])
		if len(parts) == 0 {
			return fmt.Errorf("contents[%d]: must include at least one parts field", i)
		}
		for _, p := range parts {
			if p["functionCall"] != nil {
				now++
			}
			if p["functionResponse"] != nil {
				answers++
			}
		}
		if answers != calls {
			return fmt.Errorf("contents[%d]: the number of function response parts (%d) is not that of the function call "+
				"parts before (%d)", i, answers, calls)
		}
		calls = now
	}
	if calls > 0 {
		return errors.New("the last function calls have no responses")
	}
	return nil
}
