package model

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// fuzz reads arbitrary bytes as a stream: never a panic, never a call whose arguments are no JSON object, and without
// an error a call only beside its stop reason.
func fuzz(f *testing.F, provider string) {
	f.Add([]byte(recorded[provider]))
	f.Add([]byte(recorded[provider][:len(recorded[provider])/2]))
	f.Add([]byte(recorded[provider] + recorded[provider]))
	f.Add([]byte("data: {\"error\":{\"code\":429,\"message\":\"x\"}}\n\n"))
	f.Add([]byte("data: [DONE]\n\ndata: null\n\ndata: []\n\n"))
	w, _ := wireOf(provider)
	f.Fuzz(func(t *testing.T, stream []byte) {
		m := &Model{Provider: provider, Name: "a-model"}
		stopped := 0
		d := newDraft(provider, Request{}, func(e Event) {
			if e.Kind == Stopped {
				stopped++
			}
			if e.Kind == CallWhole && !isObject(e.Call.Args) {
				t.Fatalf("a whole call with %q", e.Call.Args)
			}
		})
		// Without the network and its goroutines: the fuzzer needs the same way through the code every time.
		dec := w.decoder(d)
		p := sse{max: defaultLine}
		err := p.feed(stream, func(name string, data []byte) error {
			if d.ended {
				return nil
			}
			return dec.event(name, data)
		})
		switch {
		case err == nil && d.ended:
			err = d.settle()
		case err == nil:
			err = d.cut(newError(failure.StreamFailure, "the end"))
		}
		a := d.answer()
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%#v", err)
		}
		if stopped > 1 || err == nil && stopped != 1 {
			t.Fatalf("stopped %d times, error %v", stopped, err)
		}
		for _, b := range a.Blocks {
			if b.Call == nil {
				continue
			}
			if !isObject(b.Call.Args) || b.Call.ID == "" || b.Call.Name == "" {
				t.Fatalf("call %+v", b.Call)
			}
			if err == nil && a.Stop != ToolCalls {
				t.Fatalf("a call beside %s", a.Stop)
			}
		}
		if err == nil { // what came can go back
			if _, err := marshal(w.encode(m, Request{Messages: []Message{{Role: Assistant, Blocks: a.Blocks}}})); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func isObject(args json.RawMessage) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(args, &o) == nil && o != nil
}

func FuzzAnthropic(f *testing.F)  { fuzz(f, Anthropic) }
func FuzzOpenAI(f *testing.F)     { fuzz(f, OpenAI) }
func FuzzOpenAIChat(f *testing.F) { fuzz(f, OpenAIChat) }
func FuzzGemini(f *testing.F)     { fuzz(f, Gemini) }

// FuzzReported reads arbitrary bytes as the body of an error.
func FuzzReported(f *testing.F) {
	f.Add([]byte(`[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x","details":[{"retryDelay":"17s","violations":[{"quotaId":"PerDay"}]}]}}]`), 429)
	f.Add([]byte(`<html>`), 502)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		facts := reported(body)
		facts.status = status
		m := Model{Key: testKey}
		e := facts.error()
		_ = m.finish(e)
		if e.Kind == "" || e.Message == "" && strings.TrimSpace(facts.message) == "" || len(e.Message) > maxMessage {
			t.Fatalf("%+v", e)
		}
	})
}
