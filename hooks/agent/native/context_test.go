package native

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

func usage(in, out int64) model.Usage { return model.Usage{Input: &in, Output: &out} }

func unknown(int) model.Usage { return model.Usage{} }

// looksAt is a model that reads n files of a kilobyte each, by another name every time, and then ends.
func looksAt(n int, usageOf func(n int) model.Usage) func(int) step {
	return func(i int) step {
		if i >= n {
			return step{text: finalText, usage: usageOf(i)}
		}
		return step{calls: []model.Call{call(fmt.Sprint(i), "read", fmt.Sprintf(`{"path":"f%d"}`, i))}, usage: usageOf(i)}
	}
}

func kilobytes(_ context.Context, c model.Call) tools.Outcome {
	return tools.Outcome{Text: "output " + c.ID + " " + strings.Repeat("x", 4000)}
}

func TestOldOutputGoesFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Window = 14_000
	d.tools.do = kilobytes
	d.script.more = looksAt(12, unknown)
	d.ends(t.Context(), "", 13) // a summary was not needed
	asked := d.script.requests()
	last := show(asked[len(asked)-1].Messages)
	if !strings.Contains(last, "bytes of output of read were dropped to save room") || !strings.Contains(last, "output 11 ") || strings.Contains(last, "output 0 ") {
		t.Errorf("the newest output stays, the oldest goes:\n%.2000s", last)
	}
	for i, r := range asked {
		if size := charsOf(r.Messages) / charsPerToken; size > 14_000 {
			t.Errorf("request %d holds about %d tokens", i, size)
		}
	}
	if lines := d.of("notice"); len(lines) == 0 || lines[0].Data["notice"] != "context" {
		t.Errorf("notices %v", lines)
	}
}

// What the provider counts is believed, not what we guess.
func TestCountedTokensMakeRoom(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Window = 100_000
	d.tools.do = kilobytes
	d.script.more = looksAt(8, func(i int) model.Usage { return usage(int64(20_000*min(i+1, 4)), 10) })
	d.turn(context.Background())
	if lines := d.of("notice"); len(lines) == 0 || lines[0].Data["tokens_before"].(int64) < 80_000 {
		t.Errorf("notices %v", lines)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Window = 5000
	d.tools.do = kilobytes
	summaries := 0
	n := 0
	d.script.more = func(int) step {
		asked := d.script.asked[len(d.script.asked)-1]
		if last := show(asked.Messages[len(asked.Messages)-1:]); strings.Contains(last, "Write a summary") {
			summaries++
			if len(asked.Tools) != 0 || strings.Contains(show(asked.Messages), " result ") || !strings.Contains(show(asked.Messages), "(called read with") {
				t.Errorf("the summary is asked for with tools:\n%.500s", show(asked.Messages))
			}
			return step{text: fmt.Sprintf("summary %d: f0 is fine.", summaries)}
		}
		if n++; n > 8 {
			return step{text: finalText}
		}
		return looksAt(99, unknown)(n)
	}
	turn := d.turn(context.Background())
	if turn.Kind != "" || summaries == 0 || *turn.Turns != 9 || *turn.Requests != 9+summaries {
		t.Fatalf("kind %q, %d summaries, %d turns, %d requests", turn.Kind, summaries, *turn.Turns, *turn.Requests)
	}
	asked := d.script.requests()
	last := show(asked[len(asked)-1].Messages)
	if !strings.Contains(last, "Repair it.") || !strings.Contains(last, fmt.Sprintf("summary %d: f0 is fine.", summaries)) {
		t.Errorf("the first message and the summary are gone:\n%.1000s", last)
	}
}

// A first message that fills the window leaves nothing to be made smaller: no summary is asked for, and an overflow
// is the end.
func TestNoRoomToMake(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Window = 2000
	d.req.Prompt = strings.Repeat("long ", 4000)
	d.script.more = func(n int) step {
		if asked := d.script.asked[n]; strings.Contains(show(asked.Messages), "Write a summary") {
			return step{text: "short"}
		}
		if n > 9 {
			return step{text: finalText}
		}
		return step{calls: []model.Call{call(fmt.Sprint(n), "read", fmt.Sprintf(`{"path":"%d"}`, n))}}
	}
	if turn := d.turn(context.Background()); turn.Kind != "" || *turn.Requests > 12 {
		t.Errorf("kind %q after %d requests", turn.Kind, *turn.Requests)
	}
	newDesk(t, step{err: tooLong}).ends(t.Context(), failure.ContextOverflow, 1)
}

var tooLong = fault5("context_overflow", 400, "prompt is too long")

// madeSmaller returns how the conversation was made smaller: "summary", "newest" or not at all.
func (d *desk) madeSmaller() string {
	how := ""
	for _, l := range d.of("notice") {
		if h, ok := l.Data["how"]; ok {
			how = h.(string)
		}
	}
	return how
}

// A provider that says that the conversation is too long is obeyed twice; if the summary fails, the newest part
// remains.
func TestOverflow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		last []step // after five reads
		kind failure.Kind
		how  string
	}{
		{"once", []step{{err: tooLong}, {text: finalText}}, "", ""},
		{"as a stop reason", []step{{stop: model.Overflow}, {text: finalText}}, "", ""},
		{"twice", []step{{err: tooLong}, {err: tooLong}, {text: "a summary"}, {text: finalText}}, "", "summary"},
		{"twice, and the summary fails", []step{{err: tooLong}, {err: tooLong}, {err: tooLong}, {text: finalText}}, "", "newest"},
		{"three times", []step{{err: tooLong}, {err: tooLong}, {text: "a summary"}, {err: tooLong}}, failure.ContextOverflow, "summary"},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.tools.do = kilobytes
			d.script.more = func(n int) step {
				if n < 6 {
					return looksAt(6, unknown)(n)
				}
				return tt.last[n-6]
			}
			d.ends(context.Background(), tt.kind, 6+len(tt.last))
			if how := d.madeSmaller(); how != tt.how || len(d.of("recovery")) != 0 {
				t.Errorf("made smaller by %q, want %q; %d recoveries", how, tt.how, len(d.of("recovery")))
			}
		})
	}
}

func TestCaps(t *testing.T) {
	t.Parallel()
	price := func(_ string, u model.Usage) (float64, bool) {
		return float64(*u.Input+*u.Output) / 1000, true
	}
	for _, tt := range []struct {
		name   string
		tokens int64
		usd    float64
		cost   func(string, model.Usage) (float64, bool)
		usage  model.Usage
		kind   failure.Kind
		asked  int
		notice string
	}{
		{"no cap", 0, 0, price, usage(1000, 100), "", 11, ""},
		{"tokens", 3000, 0, price, usage(1000, 100), failure.TokenBudget, 2, ""}, // the third alone would hold 1100
		{"tokens, and an answer has its least", 2500, 0, price, usage(1000, 100), failure.TokenBudget, 2, ""},
		{"cost", 0, 2, price, usage(1000, 100), failure.TokenBudget, 2, ""},
		{"H22 usage that nobody knows", 3000, 0, price, model.Usage{}, "", 11, "the cap of tokens cannot be enforced"},
		{"H22 cost that nobody knows", 0, 2, nil, usage(1000, 100), "", 11, "the cap of cost cannot be enforced"},
		{"H22 a model without a price", 0, 2, func(string, model.Usage) (float64, bool) { return 0, false }, usage(1000, 100), "", 11, "the cap of cost cannot be enforced"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.Cost = tt.cost
			d.req.Tokens, d.req.CostUSD = tt.tokens, tt.usd
			d.script.more = looksAt(10, func(int) model.Usage { return tt.usage })
			turn, _ := d.ends(t.Context(), tt.kind, tt.asked)
			lines := d.of("notice")
			if tt.notice == "" && len(lines) != 0 || tt.notice != "" && (len(lines) != 1 || !strings.Contains(lines[0].Data["text"].(string), tt.notice)) {
				t.Errorf("notices %v, want %q", lines, tt.notice)
			}
			if known := tt.usage.Input != nil; (turn.Tokens.Input != nil) != known || (turn.Tokens.Output != nil) != known {
				t.Errorf("tokens %v", turn.Tokens)
			}
			if (turn.CostUSD != nil) != (tt.cost != nil && tt.usage.Input != nil && !strings.Contains(tt.name, "without a price")) {
				t.Errorf("cost %v", turn.CostUSD)
			}
			if tt.tokens > 0 && tt.usage.Input != nil {
				if most := d.script.requests()[1].MaxTokens; most > int(tt.tokens)-2200 || most < int(tt.tokens)-2220 { // what the first has used, holds again, and some words of a result
					t.Errorf("the last answer may have %d tokens", most)
				}
			}
		})
	}
}

// A request that failed before anything arrived used nothing; what one that was cut used is unknown.
func TestTokensOfBrokenRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{err: lost()}, step{text: finalText, usage: usage(10, 5)})
		if turn := d.turn(context.Background()); turn.Tokens.Input == nil || *turn.Tokens.Input != 10 {
			t.Errorf("tokens %v", turn.Tokens)
		}
		d = newDesk(t, step{text: "I am at", err: lost()}, step{text: finalText, usage: usage(10, 5)})
		if turn := d.turn(context.Background()); turn.Tokens.Input != nil || turn.CostUSD != nil {
			t.Errorf("tokens %v, cost %v", turn.Tokens, turn.CostUSD)
		}
	})
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model string
		own   int
		want  int64
	}{{"gpt-5", 0, model.Window("gpt-5")}, {"somebodys-model", 0, windowDefault}, {"gpt-5", 9000, 9000}} {
		l := newLoop(&Agent{Model: tt.model, Window: tt.own}, agent.Request{}, &toolbox{})
		if got := l.window(); got != tt.want || got == 0 {
			t.Errorf("the window of %s (%d) is %d, want %d", tt.model, tt.own, got, tt.want)
		}
	}
}

// A summary is taken when it is whole; a connection that is lost while it is written is recovered from the turn's one
// budget.
func TestSummaryThatFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		last       []step // after an overflow
		how        string
		recoveries int
	}{
		{"a blip", []step{{err: lost()}, {text: "the summary"}, {text: finalText}}, "summary", 1},
		{"a blip in the middle", []step{{text: "the sum", err: lost()}, {text: "the summary"}, {text: finalText}}, "summary", 1},
		{"refused", []step{{text: "I cannot help with that.", stop: model.Refused}, {text: finalText}}, "newest", 0},
		{"too long", []step{{text: "the sum", stop: model.MaxTokens}, {text: finalText}}, "newest", 0},
		{"always lost", []step{{err: lost()}, {err: lost()}, {err: lost()}, {err: lost()}, {err: lost()}, {err: lost()}, {text: finalText}}, "newest", 5},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.Breaker = &Breaker{}
			steps := append([]step{
				{calls: []model.Call{call("1", "read", `{"path":"a"}`), call("2", "run", `{"argv":["x"]}`)}},
				{err: tooLong},
			}, tt.last...)
			d.script.steps = steps
			d.ends(context.Background(), "", len(steps))
			if n := len(d.of("recovery")); n != tt.recoveries {
				t.Errorf("%d recoveries", n)
			}
			how, asked := d.madeSmaller(), d.script.requests()
			last := show(asked[len(asked)-1].Messages)
			if how != tt.how || strings.Contains(last, "your own summary") != (how == "summary") {
				t.Errorf("made smaller by %q, want %q:\n%s", how, tt.how, last)
			}
			if how == "newest" && !strings.Contains(last, "dropped to save room; a tool that changes something had completed in it") {
				t.Errorf("the caution is gone:\n%s", last)
			}
		})
	}
}

// Neither a summary nor the last words are asked for where the cap has no room for them.
func TestCapsHoldBesideTheConversation(t *testing.T) {
	t.Parallel()
	t.Run("a summary", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.Window, d.req.Tokens = 5000, 6000
		d.script.more = looksAt(20, func(int) model.Usage { return usage(1, 1) })
		l := newLoop(d.Agent, d.req, &toolbox{})
		said := model.Block{Text: strings.Repeat("x ", 2000)}
		l.messages = []model.Message{fromUser("Repair it."), {Role: model.Assistant, Blocks: []model.Block{said}}}
		l.meter.input.n = 5000
		if !l.summarise(context.Background()) || len(d.script.requests()) != 0 {
			t.Errorf("%d requests", len(d.script.requests()))
		}
	})
	t.Run("last words, once more", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, step{usage: usage(900, 50)})
		d.req.Tokens = 1500
		l := newLoop(d.Agent, d.req, &toolbox{})
		l.begin()
		if e := l.finalWords(context.Background(), "it went in circles."); !e.synthetic || len(d.script.requests()) != 1 {
			t.Errorf("%+v after %d requests", e, len(d.script.requests()))
		}
	})
}

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

// So it is where we ended the request: the idle limit, the wall clock or a person. What was used before is known.
func TestUsageOfARequestThatWeEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		idle time.Duration
		end  func(context.Context) (context.Context, context.CancelFunc)
		kind failure.Kind
	}{
		{"idle limit", time.Minute, nil, failure.IdleTimeout},
		{"wall clock", 0, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 3*time.Minute)
		}, failure.WallTimeout},
		{"a person", 0, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(3*time.Minute, cancel)
			return ctx, cancel
		}, failure.Cancelled},
	} {
		bubble(t, c.name, func(t *testing.T) {
			d := newDesk(t, step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}, usage: usage(10, 5)})
			d.script.more = func(int) step { return step{hang: true} }
			d.Cost = func(string, model.Usage) (float64, bool) { return 0.5, true }
			d.req.Idle = c.idle
			ctx := context.Background()
			if c.end != nil {
				var cancel context.CancelFunc
				ctx, cancel = c.end(ctx)
				defer cancel()
			}
			turn := d.turn(ctx)
			if turn.Kind != c.kind {
				t.Errorf("kind %q", turn.Kind)
			}
			if n := turn.Tokens; n.Input != nil || n.Output != nil || n.AtLeast == nil || *n.AtLeast != 15 {
				t.Errorf("tokens %+v", n)
			}
			if turn.CostUSD != nil || turn.CostAtLeast == nil || *turn.CostAtLeast != 0.5 {
				t.Errorf("cost %v, at least %v", turn.CostUSD, turn.CostAtLeast)
			}
		})
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
			turn, _ := d.ends(t.Context(), tt.kind, tt.asked)
			if tt.kind != "" && !strings.Contains(turn.Evidence, "the next request alone holds about") {
				t.Errorf("evidence %q", turn.Evidence)
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
