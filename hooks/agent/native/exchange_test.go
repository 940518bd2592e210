package native

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A panic while an answer is read, or a call is checked as it arrives, ends the turn and nothing more.
func TestPanicOfAnAnswer(t *testing.T) {
	t.Parallel()
	t.Run("in what reads it", func(t *testing.T) {
		t.Parallel()
		a := &Agent{ID: "own", open: (&toolbox{}).open, Ask: func(context.Context, model.Request, func(model.Event)) (model.Answer, error) {
			panic("index out of range")
		}}
		turn, err := a.Turn(t.Context(), agent.Request{Prompt: "x"})
		if err != nil || turn.Kind != failure.ParseError || !strings.Contains(turn.Evidence, "index out of range") || *turn.Requests != 1 {
			t.Errorf("kind %q (%s), %v", turn.Kind, turn.Evidence, err)
		}
	})
	t.Run("in what looks at a call", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, step{text: "I write", calls: []model.Call{call("1", "write", `{"path":"a"}`)}})
		d.tools.refuse = func([]model.Call, string, string) (string, bool) { panic("nil map") }
		if turn := d.turn(t.Context()); turn.Kind != failure.ParseError || turn.Text != "I write" || len(d.tools.started()) != 0 {
			t.Errorf("kind %q (%s), text %q, ran %v", turn.Kind, turn.Evidence, turn.Text, d.tools.started())
		}
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
			turn := d.turn(t.Context())
			if turn.Kind != tt.kind || turn.Text != tt.text || *turn.Requests != len(tt.steps) {
				t.Errorf("kind %q (%s), text %q after %d requests", turn.Kind, turn.Evidence, turn.Text, *turn.Requests)
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
	const ending = 4500 * time.Millisecond // three seconds of grace, a supervisor that is replaced, and the rest of the output
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
	t.Run("when the turn ends", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, step{calls: []model.Call{call("1", "run", `{"argv":["x"]}`)}})
			runs := slow(d)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			start := time.Now()
			turn := d.turn(ctx)
			if turn.Kind != failure.WallTimeout || *runs != 0 || time.Since(start) != time.Minute+ending {
				t.Errorf("kind %q after %s, %d running", turn.Kind, time.Since(start), *runs)
			}
			if got := d.of("tool_result"); len(got) != 1 || got[0].Data["text"] != "ended" {
				t.Errorf("results %v", got)
			}
		})
	})
	t.Run("when its stream is lost for long", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(
				t,
				step{calls: []model.Call{call("1", "run", `{"argv":["x"]}`), call("2", "write", `{"path":"a"}`)}, late: true, err: lost()},
				step{calls: []model.Call{call("3", "write", `{"path":"a"}`)}},
				step{text: finalText},
			)
			d.drain = time.Second
			runs := slow(d)
			if turn := d.turn(context.Background()); turn.Kind != "" || *runs != 0 {
				t.Errorf("kind %q, %d running", turn.Kind, *runs)
			}
			if got := d.results(); got["1"].Text != "ended" || got["2"].Text != saidLeft || got["3"].Text != "ok" {
				t.Errorf("results %+v", got)
			}
		})
	})
}
