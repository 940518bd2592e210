package native

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// What a stream says after it was given up is nobody's: it must not reach a tool, nor the answer that was made of
// what came before.
func TestLateEventsAreNobodys(t *testing.T) {
	t.Parallel()
	e := newListener(nil, func() {})
	e.take(model.Event{Kind: model.TextDelta, Text: "in time"})
	_, _, _ = e.close()
	e.take(model.Event{Kind: model.TextDelta, Text: ", and too late"})
	e.take(model.Event{Kind: model.CallWhole, Call: call("1", "run", `{}`)})
	e.take(model.Event{Kind: model.Stopped, Stop: model.ToolCalls})
	e.ended(model.Answer{Blocks: []model.Block{{Text: "too late"}}, Stop: model.EndTurn}, nil)
	a, stop, err := e.peek()
	if len(a.Blocks) != 1 || a.Blocks[0].Text != "in time" || stop != "" || err != nil || len(e.calls()) != 0 || isClosed(e.stopped) {
		t.Errorf("answer %+v, stop %q, %v", a, stop, err)
	}
	if !isClosed(e.over) {
		t.Error("the end of the stream is not seen")
	}
}

// Silence is counted from the last event: a stream that goes on is never given up.
func TestSlowStreamIsNotSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.req.Idle = 10 * time.Second
		d.Ask = func(ctx context.Context, _ model.Request, heard func(model.Event)) (model.Answer, error) {
			a := model.Answer{Stop: model.EndTurn, Model: "big-model-2026"}
			for part := range strings.SplitSeq(finalText, ",") {
				if err := pause(ctx, 8*time.Second); err != nil {
					return a, context.Cause(ctx)
				}
				heard(model.Event{Kind: model.TextDelta, Text: part})
			}
			a.Blocks = []model.Block{{Text: finalText}}
			heard(model.Event{Kind: model.Stopped, Stop: model.EndTurn})
			return a, nil
		}
		turn := d.turn(context.Background())
		if turn.Kind != "" || *turn.Requests != 1 || turn.Control == nil {
			t.Errorf("kind %q after %d requests", turn.Kind, *turn.Requests)
		}
		if turn.Model != "big-model-2026" {
			t.Errorf("model %q", turn.Model)
		}
	})
}

// Bytes of the provider's own that hold a secret do not go back.
func TestSecretInRawBlock(t *testing.T) {
	t.Parallel()
	const secret = "ghp_16C7e42F292c6912E771"
	j := transcript{secrets: &redact.Set{}}
	j.secrets.Add("TOKEN", secret)
	a := j.cleanAnswer(model.Answer{Blocks: []model.Block{
		{Thinking: "a", Raw: json.RawMessage(`{"t":"` + secret + `"}`), Provider: "anthropic"},
		{Thinking: "b", Raw: json.RawMessage(`{"t":"fine"}`), Provider: "anthropic"},
	}})
	if a.Blocks[0].Raw != nil || a.Blocks[0].Provider != "" || a.Blocks[1].Raw == nil {
		t.Errorf("blocks %+v", a.Blocks)
	}
}
