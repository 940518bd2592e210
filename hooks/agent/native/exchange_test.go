package native

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A panic while an answer is read, or a call is checked as it arrives, ends the turn and nothing more.
func TestPanicOfAnAnswer(t *testing.T) {
	t.Parallel()
	t.Run("in what reads it", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.Ask = func(context.Context, model.Request, func(model.Event)) (model.Answer, error) {
			panic("index out of range")
		}
		if turn, _ := d.ends(t.Context(), failure.ParseError, 1); !strings.Contains(turn.Evidence, "index out of range") {
			t.Errorf("evidence %q", turn.Evidence)
		}
	})
	t.Run("in what looks at a call", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, step{text: "I write", calls: []model.Call{call("1", "write", `{"path":"a"}`)}})
		d.tools.refuse = func([]model.Call, string, string) (string, bool) { panic("nil map") }
		if turn, _ := d.ends(t.Context(), failure.ParseError, 1); turn.Text != "I write" {
			t.Errorf("text %q", turn.Text)
		}
		d.ran()
	})
}

// An answer that is cut at its length before its first word is gone on with once; then the length is what it is said
// to be.
func TestCutWhileItThought(t *testing.T) {
	t.Parallel()
	cut := step{think: "There are many ways to", stop: model.MaxTokens}
	for _, tt := range []struct {
		name  string
		steps []step
		kind  failure.Kind
		text  string
	}{
		{"once", []step{cut, {text: finalText}}, "", finalText},
		{"twice", []step{cut, cut}, failure.OutputTruncated, ""},
		{"twice, with work between", []step{cut, {calls: []model.Call{call("1", "read", `{"path":"a"}`)}}, cut, {text: finalText}}, "", finalText},
		{"behind a text that was cut too", []step{{text: "The cause ", stop: model.MaxTokens}, cut, {text: "is clear."}}, "", "The cause is clear."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, tt.steps...)
			if turn, _ := d.ends(t.Context(), tt.kind, len(tt.steps)); turn.Text != tt.text {
				t.Errorf("text %q", turn.Text)
			}
			if got := show(d.script.requests()[1].Messages); tt.name == "once" && !strings.Contains(got, lengthNote) {
				t.Errorf("it is not told why:\n%s", got)
			}
		})
	}
}

// A tool that has processes to end is waited for: nothing starts beside it, and no turn ends before it.
func TestProcessesAreWaitedFor(t *testing.T) {
	t.Parallel()
	// three seconds of grace, a supervisor that is replaced, and the rest of the output
	const ending = 4500 * time.Millisecond
	slow := func(d *desk) (runs *int) {
		runs = new(int)
		d.tools.do = func(ctx context.Context, c model.Call) tools.Outcome {
			if c.Name != "run" {
				if *runs > 0 {
					d.script.t.Error("a tool starts beside one that is ending")
				}
				return tools.Outcome{Text: "ok"}
			}
			*runs++
			<-ctx.Done()
			time.Sleep(ending)
			*runs--
			return tools.Outcome{Text: "ended", Code: tools.Failed}
		}
		return runs
	}
	bubble(t, "when the turn ends", func(t *testing.T) {
		d := newDesk(t, step{calls: []model.Call{call("1", "run", `{"argv":["x"]}`)}})
		runs := slow(d)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, took := d.ends(ctx, failure.WallTimeout, 1); *runs != 0 || took != time.Minute+ending {
			t.Errorf("after %s, %d running", took, *runs)
		}
		if got := d.of("tool_result"); len(got) != 1 || got[0].Data["text"] != "ended" {
			t.Errorf("results %v", got)
		}
	})
	bubble(t, "when its stream is lost for long", func(t *testing.T) {
		d := newDesk(t,
			step{calls: []model.Call{call("1", "run", `{"argv":["x"]}`), call("2", "write", `{"path":"a"}`)}, late: true, err: lost()},
			step{calls: []model.Call{call("3", "write", `{"path":"a"}`)}},
			step{text: finalText},
		)
		d.drain = time.Second
		runs := slow(d)
		if d.ends(context.Background(), "", 3); *runs != 0 {
			t.Errorf("%d running", *runs)
		}
		if got := d.results(); got["1"].Text != "ended" || got["2"].Text != saidLeft || got["3"].Text != "ok" {
			t.Errorf("results %+v", got)
		}
	})
}

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
		if turn, _ := d.ends(context.Background(), "", 1); turn.Control == nil || turn.Model != "big-model-2026" {
			t.Errorf("control %v, model %q", turn.Control, turn.Model)
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

// What a request used is not known if the first event of its answer cannot be read: the count may stand in that event.
func TestUnreadableAnswerUsedWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{err: &model.Error{Kind: failure.ParseError, Message: "no JSON", RetryAfter: -1}})
	if turn, _ := d.ends(t.Context(), failure.ParseError, 1); turn.Tokens.Input != nil || turn.Tokens.Output != nil || turn.CostUSD != nil {
		t.Errorf("tokens %+v, cost %v", turn.Tokens, turn.CostUSD)
	}
}
