package native

import (
	"context"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// What a request has used that was taken and not answered nobody knows; one that was refused has used nothing.
func TestUsageOfSilence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   model.Error
		known bool
	}{
		{model.Error{Kind: failure.IdleTimeout}, false},
		{model.Error{Kind: failure.ColdStartTimeout}, false},
		{model.Error{Kind: failure.StreamFailure}, false},
		{model.Error{Kind: failure.RateLimited, Status: 429}, true},
		{model.Error{Kind: failure.DNSNotFound}, true},
	} {
		m := newMeter(&Agent{Model: "m"}, agent.Request{})
		m.asked()
		m.add(model.Answer{}, &c.err, func(string) {})
		if got := m.tokens(); (got.Input != nil) != c.known || (got.Output != nil) != c.known {
			t.Errorf("%s: %+v", c.err.Kind, got)
		}
	}
}

// Caps are hard: what alone is more than is left is not sent, the first request as little as any later one, and an
// answer may have only what its request leaves. What was done is kept.
func TestCapHoldsBeforeARequestIsSent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		pack  int // bytes
		steps []step
		out   int // bytes of a tool's result
		asked int
		kind  failure.Kind
	}{
		{"the first is too large", 44_000, nil, 0, 0, failure.TokenBudget},
		{"the first just fits", 36_000, []step{{text: finalText}}, 0, 1, ""},
		{"a result makes the second too large", 100, []step{{calls: []model.Call{call("1", "write", `{"path":"a"}`)}}}, 44_000, 1, failure.TokenBudget},
		{
			"a result makes the second too large, behind a count", 100,
			[]step{{calls: []model.Call{call("1", "write", `{"path":"a"}`)}, usage: usage(500, 100)}},
			44_000, 1, failure.TokenBudget,
		},
		{"a result leaves little room", 100, []step{{calls: []model.Call{call("1", "write", `{"path":"a"}`)}, usage: usage(500, 100)}, {text: finalText}}, 20_000, 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const most = 10_000
			d := newDesk(t, tt.steps...)
			d.req.Tokens, d.req.Pack = most, []byte(strings.Repeat("p", tt.pack))
			d.tools.do = func(context.Context, model.Call) tools.Outcome {
				return tools.Outcome{Text: strings.Repeat("r", tt.out)}
			}
			turn := d.turn(t.Context())
			if turn.Kind != tt.kind || *turn.Requests != tt.asked || tt.kind != "" && !strings.Contains(turn.Evidence, "the next request alone holds about") {
				t.Errorf("kind %q (%s) after %d requests", turn.Kind, turn.Evidence, *turn.Requests)
			}
			if len(d.tools.started()) != len(d.of("tool_result")) || tt.out > 0 && len(d.tools.started()) != 1 {
				t.Errorf("ran %v", d.tools.started())
			}
			var used int64
			for i, r := range d.script.requests() {
				holds := int64(len(r.System)+charsOf(r.Messages)) / charsPerToken
				if total := used + holds + int64(r.MaxTokens); total > most {
					t.Errorf("request %d: %d tokens were used, it holds %d, and its answer may have %d", i+1, used, holds, r.MaxTokens)
				}
				if u := tt.steps[i].usage; u.Input != nil {
					used += *u.Input + *u.Output
				}
			}
		})
	}
}
