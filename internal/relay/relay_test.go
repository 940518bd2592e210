package relay

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// A turn through the relay is the turn that the provider played, and its usage is counted.
func TestWires(t *testing.T) {
	t.Parallel()
	for _, wire := range model.Providers() {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			b := scripted(t, Options{}, modeltest.Turn{
				Thinking: "Let me see.", Text: "Größe", Calls: []modeltest.Call{{Name: "read", RawArgs: `{"path":"a"}`}},
				Usage: modeltest.Usage{Input: 1007, Output: 42, Cached: 900},
			})
			a, err := b.client(wire).Turn(t.Context(), hello, nil)
			if err != nil || a.Stop != model.ToolCalls || len(a.Blocks) != 3 {
				t.Fatalf("%v, %+v", err, a)
			}
			r := b.requests(t, 1)[0]
			if r.Outcome != Passed || r.Status != 200 || r.Wire != wire || r.Model != "scripted" && wire != model.Gemini {
				t.Errorf("%+v", r)
			}
			u := b.Used()
			if u.Requests != 1 || u.Refused != 0 || u.Stopped != "" || u.AtLeast != nil {
				t.Errorf("%+v", u)
			}
			if u.Input == nil || *u.Input != 1007 || u.Output == nil || *u.Output != 42 || u.Cached == nil || *u.Cached != 900 {
				t.Errorf("%+v", u)
			}
		})
	}
}
