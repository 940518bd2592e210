package native

// Recovery as a turn sees it: the engine rows of the table, with time that does not pass by itself.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// P30: a lost stream does not reach a tool that runs: it ends by itself, once, and the turn goes on.
func TestP30ToolOutlivesTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{calls: []model.Call{call("1", "run", `{"argv":["test"]}`)}, late: true, err: lost()}, step{text: finalText})
		d.tools.do = func(ctx context.Context, c model.Call) tools.Outcome {
			time.Sleep(500 * time.Millisecond)
			if ctx.Err() != nil {
				t.Error("the lost stream ended the tool")
			}
			return tools.Outcome{Text: "ran for half a second"}
		}
		d.ends(context.Background(), "", 2)
		d.ran("1")
		if got := d.results()["1"]; got.Text != "ran for half a second" || got.Failed {
			t.Errorf("result %+v", got)
		}
	})
}

// P32: the same for one that fails: its error is its own.
func TestP32ToolFailsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{calls: []model.Call{call("1", "edit", `{"path":"a"}`)}, late: true, err: lost()}, step{text: finalText})
		d.tools.do = func(context.Context, model.Call) tools.Outcome {
			time.Sleep(time.Second)
			return tools.Outcome{Text: "no match", Code: tools.Failed}
		}
		d.turn(context.Background())
		if got := d.results()["1"]; got.Text != "no match" || !got.Failed {
			t.Errorf("result %+v", got)
		}
		if lines := d.of("tool_result"); lines[0].Data["interrupted"] != nil {
			t.Error("a failure of its own is marked as interrupted")
		}
	})
}

// P33: one that never returns is waited for as long as it may take; the model is told not to repeat it.
func TestP33ToolNeverReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{calls: []model.Call{call("1", "write", `{"path":"a"}`), call("2", "read", `{"path":"b"}`)}, late: true, err: lost()}, step{text: finalText})
		d.drain = time.Minute
		end := make(chan struct{})
		defer close(end)
		var told error
		d.tools.do = func(ctx context.Context, c model.Call) tools.Outcome {
			<-ctx.Done()
			told = ctx.Err()
			<-end
			return tools.Outcome{Text: "too late"}
		}
		_, took := d.ends(context.Background(), "", 2)
		synctest.Wait()
		if took != time.Minute || told == nil {
			t.Errorf("it was waited for %s; the tool was told %v", took, told)
		}
		got := d.results()
		if got["1"].Text != saidDead || !got["1"].Failed || !strings.Contains(saidDead, "Do not repeat") {
			t.Errorf("result %+v", got["1"])
		}
		if got["2"].Text != saidLeft {
			t.Errorf("the next one: %+v", got["2"])
		}
		d.ran("1")
	})
}

// A tool that runs is not started again, whatever becomes of the stream: the turn goes on with its result.
func TestBreakWhileAToolRuns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"P14 read", "run"} {
		bubble(t, name, func(t *testing.T) {
			c := call("1", strings.TrimPrefix(name, "P14 "), `{"path":"a"}`)
			d := newDesk(t, step{calls: []model.Call{c}, late: true, err: lost()}, step{text: finalText})
			d.tools.do = func(context.Context, model.Call) tools.Outcome {
				time.Sleep(time.Minute) // the stream breaks meanwhile
				return tools.Outcome{Text: "ok"}
			}
			if _, took := d.ends(t.Context(), "", 2); took != time.Minute || len(d.of("recovery")) != 0 {
				t.Errorf("after %s, %d recoveries", took, len(d.of("recovery")))
			}
			d.ran("1")
		})
	}
	bubble(t, "P16 cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := newDesk(t, step{calls: []model.Call{call("1", "run", `{"argv":["x"]}`)}, hang: true, late: true})
		d.tools.do = func(ctx context.Context, _ model.Call) tools.Outcome {
			cancel()
			<-ctx.Done()
			return tools.Outcome{Text: "ended"}
		}
		d.ends(ctx, failure.Cancelled, 1)
		d.ran("1")
	})
}

// P34: calls that were written and not started carry no caution.
func TestP34CapturedAndNotStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		half, whole := call("2", "write", `{"path":"a","content":"xyz`), call("1", "run", `{"argv":["x"]}`)
		d := newDesk(t, step{calls: []model.Call{whole}, half: &half, err: lost()}, step{text: finalText})
		d.turn(context.Background())
		got := d.results()
		if got["2"].Text != saidBroken || got["1"].Text != saidUnstarted {
			t.Errorf("results %+v", got)
		}
		for _, text := range []string{saidBroken, saidUnstarted} {
			if strings.Contains(text, "Do not repeat") {
				t.Errorf("%q carries a caution for what never ran", text)
			}
		}
		if d.ran(); len(d.of("recovery")) != 1 {
			t.Errorf("%d recoveries", len(d.of("recovery")))
		}
	})
}

// P36: what a tool says after its call got another end holds up nobody and changes nothing.
func TestP36LateResultIsNobodys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t,
			step{calls: []model.Call{call("1", "write", `{"path":"a"}`)}, late: true, err: lost()},
			step{calls: []model.Call{call("2", "read", `{"path":"a"}`)}, wait: time.Hour}, // the tool returns meanwhile
			step{text: finalText},
		)
		d.drain = time.Second
		start := time.Now()
		var back time.Duration
		d.tools.do = func(_ context.Context, c model.Call) tools.Outcome {
			if c.ID == "2" {
				return tools.Outcome{Text: "read"}
			}
			defer func() { back = time.Since(start) }()
			time.Sleep(time.Minute)
			return tools.Outcome{Text: "too late"}
		}
		if _, took := d.ends(context.Background(), "", 3); back != time.Minute || took != time.Hour+time.Second {
			t.Errorf("after %s; the tool was back after %s", took, back)
		}
		if got := d.results()["1"]; got.Text != saidDead {
			t.Errorf("result %+v", got)
		}
		if n := len(d.of("tool_result")); n != 2 {
			t.Errorf("%d results are written down", n)
		}
	})
}

// P37: the tool is at its end before the answer with its call has been returned: one result.
func TestP37ToolEndsBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}, late: true, hang: true}, step{text: finalText})
		d.turn(context.Background())
		if got := show(d.script.requests()[1].Messages); strings.Count(got, "call 1") != 1 || strings.Count(got, `result 1 "ok read"`) != 1 {
			t.Errorf("history\n%s", got)
		}
	})
}

// P38: a person who cancels while a tool is waited for waits no longer than its processes need to be ended.
func TestP38CancelWhileATool(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tool string
		most time.Duration
	}{{"that only looks", "read", 1100 * time.Millisecond}, {"that writes", "write", 1100 * time.Millisecond}, {"with processes to end", "run", killTime + 100*time.Millisecond}} {
		bubble(t, tt.name, func(t *testing.T) {
			d := newDesk(t, step{calls: []model.Call{call("1", tt.tool, `{"path":"a"}`)}, late: true, err: lost()})
			end := make(chan struct{})
			defer close(end)
			d.tools.do = func(context.Context, model.Call) tools.Outcome {
				<-end
				return tools.Outcome{}
			}
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(3*time.Second, cancel)
			if turn, took := d.ends(ctx, failure.Cancelled, 1); took > 3*time.Second+tt.most || !turn.Exit.Cancelled {
				t.Errorf("took %s, turn %+v", took, turn)
			}
			if lines := d.of("tool_result"); len(lines) != 1 || lines[0].Data["text"] != saidAborted || strings.Contains(saidAborted, "repeat") {
				t.Errorf("results %v", lines)
			}
		})
	}
}

// P40: a refusal after a tool ends the turn with the provider's own words, and the tool's result is kept.
func TestP40RejectedAfterATool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{calls: []model.Call{call("1", "write", `{"path":"a"}`)}}, step{err: fault5("auth_invalid", 401, "invalid x-api-key")})
		turn, _ := d.ends(context.Background(), failure.AuthInvalid, 2)
		if turn.Evidence != "invalid x-api-key" || !slices.Equal(d.notices, []string{"turn 1: writes a"}) {
			t.Errorf("evidence %q, notices %v", turn.Evidence, d.notices)
		}
		lines := d.of("notice")
		if len(lines) != 1 || lines[0].Data["unsafe_completed"] != true || lines[0].Data["reason"] != "provider_api_error" {
			t.Errorf("notices %v", lines)
		}
		if got, kept := d.results()["1"], d.of("tool_result"); got.Text != "ok write" || got.Failed || len(kept) != 1 || kept[0].Data["failed"] != false {
			t.Errorf("the tool's result is %+v, in the transcript %v", got, kept)
		}
	})
}

// P41: six requests, one notice, and the last real kind.
func TestP41LostAgainAndAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.script.more = func(int) step { return step{think: "hm", err: lost()} }
		if _, took := d.ends(context.Background(), failure.TransportDisconnect, 6); took != (2+4+8+16+30)*time.Second {
			t.Errorf("took %s", took)
		}
		want := []string{
			"connection lost, retry 1/5 in 2 s", "connection lost, retry 2/5 in 4 s", "connection lost, retry 3/5 in 8 s",
			"connection lost, retry 4/5 in 16 s", "connection lost, retry 5/5 in 30 s",
		}
		if !slices.Equal(d.notices, want) {
			t.Errorf("the terminal shows %q", d.notices)
		}
		for i, r := range d.script.requests() {
			if len(r.Messages) != 1 {
				t.Errorf("request %d is not the first one again:\n%s", i, show(r.Messages))
			}
		}
		lines := d.of("notice")
		if len(lines) != 1 || lines[0].Data["notice"] != "safe_retry_failed" || lines[0].Data["unsafe_completed"] != false {
			t.Errorf("notices %v", lines)
		}
		for i, l := range d.of("recovery") {
			if l.Data["n"] != i+1 || l.Data["of"] != 5 || l.Data["reason"] != "reasoning_only" || l.Data["delay_ms"] == nil {
				t.Errorf("recovery %v", l.Data)
			}
		}
	})
}

// P42: a limit that does not end spends the same budget and ends with the same notice.
func TestP42RateLimitUsesTheSameBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{err: lost()}, step{err: lost()})
		d.script.more = func(int) step {
			return step{err: &model.Error{Kind: "rate_limited", Status: 429, Message: "slow down", RetryAfter: 1500 * time.Millisecond}}
		}
		turn, took := d.ends(context.Background(), failure.RateLimited, 6)
		if turn.RetryAfter == nil || *turn.RetryAfter != 1500*time.Millisecond || took != (2+4)*time.Second+3*1500*time.Millisecond {
			t.Errorf("retry after %v; took %s: Retry-After is exact", turn.RetryAfter, took)
		}
		if last := d.notices[4]; last != "rate limited, retry 5/5 in 2 s" {
			t.Errorf("the terminal shows %q", last)
		}
		if lines := d.of("notice"); len(lines) != 1 || lines[0].Data["notice"] != "safe_retry_failed" {
			t.Errorf("notices %v", lines)
		}
		if lines := d.of("request"); lines[5].Data["status"] != 429 {
			t.Errorf("the last request's line: %v", lines[5].Data)
		}
	})
}

// P65: a wait that nobody can mean, or that does not fit, is not waited for, and no time at which to go on is
// invented.
func TestP65AbsurdWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		kind     failure.Kind
		after    time.Duration
		requests int
		told     bool // when it can go on
	}{
		{"an hour, of ten minutes", "rate_limited", time.Hour, 1, true},
		{"years", "rate_limited", 3 * 365 * 24 * time.Hour, 1, false},
		{"as long as there is", "server_overload", 1<<63 - 1, 1, false},
		{"none", "rate_limited", 0, 6, false},
		{"a quota, years", "quota_exhausted", 3 * 365 * 24 * time.Hour, 1, false},
		{"a quota, thirty days", "quota_exhausted", agent.LongestWait, 1, true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.script.more = func(int) step {
				return step{err: &model.Error{Kind: tt.kind, Status: 429, Message: "slow down", RetryAfter: tt.after}}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			turn, took := d.ends(ctx, tt.kind, tt.requests)
			if (took == 0) != (tt.requests == 1) || turn.Exit.TimedOut {
				t.Errorf("after %s, timed out %v", took, turn.Exit.TimedOut)
			}
			if (turn.RetryAfter != nil) != tt.told || tt.told && *turn.RetryAfter != tt.after {
				t.Errorf("retry after %v", turn.RetryAfter)
			}
			if strings.Contains(turn.Evidence, disbelief) != (tt.after > agent.LongestWait) || !strings.HasPrefix(turn.Evidence, "slow down") {
				t.Errorf("evidence %q", turn.Evidence)
			}
		})
	}
}

// P44: an answer lost in the middle of a call is continued, and costs one recovery.
func TestP44LostInACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		half := call("1", "write", `{"path":"a.go","content":"pack`)
		d := newDesk(t,
			step{text: "I write it.", half: &half, err: lost()},
			step{calls: []model.Call{call("1", "write", `{"path":"a.go","content":"package a"}`)}},
			step{text: finalText},
		)
		d.ends(context.Background(), "", 3)
		if lines := d.of("recovery"); len(lines) != 1 || lines[0].Data["reason"] != "partial_tool_input" {
			t.Errorf("recoveries %v", lines)
		}
		want := `assistant: "I write it.""" call 1 write {}
user: result 1 "` + saidBroken + `" "` + ours + goOnNote + `"""
`
		if got := show(d.script.requests()[1].Messages[1:]); got != want {
			t.Errorf("the half turn became\n%swant\n%s", got, want)
		}
		d.ran("1")
	})
}

// P44b: a provider that drops after every call has the same budget as any other.
func TestP44bLostAfterEveryCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.script.more = func(n int) step {
			return step{calls: []model.Call{call(fmt.Sprint(n), "read", fmt.Sprintf(`{"path":"%d"}`, n))}, err: lost()}
		}
		d.ends(context.Background(), failure.TransportDisconnect, 6)
		d.ran()
	})
}

// P45: who cancels during a wait is asked for nothing more.
func TestP45CancelDuringTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{err: lost()})
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if _, took := d.ends(ctx, failure.Cancelled, 1); took != time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// P46: the end of the clock during a wait: no more requests, and nobody is left waiting at the breaker.
func TestP46EndOfTheClockDuringTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errWall := errors.New("the budget's wall clock")
		parent, cancel := context.WithDeadlineCause(context.Background(), time.Now().Add(time.Minute), errWall)
		defer cancel()
		d := newDesk(t, step{text: "I am at wo", hang: true}, step{text: finalText})
		d.Breaker = &Breaker{}
		d.Breaker.failed(false, time.Hour) // another turn waits so long before it asks again
		turn, took := d.ends(parent, failure.WallTimeout, 0)
		if !turn.Exit.TimedOut || took != time.Minute {
			t.Errorf("turn %+v after %s", turn, took)
		}
		time.Sleep(time.Hour)
		late, cancelLate := context.WithDeadlineCause(context.Background(), time.Now().Add(time.Minute), errWall)
		defer cancelLate()
		turn, took = d.ends(late, failure.WallTimeout, 1) // the one that tries, and hears nothing more
		if !turn.Exit.TimedOut || turn.Exit.Cancelled || turn.Text != "I am at wo" || took != time.Minute {
			t.Errorf("turn %+v after %s", turn, took)
		}
		if _, took := d.ends(context.Background(), "", 1); took != 0 {
			t.Errorf("the next turn ended after %s", took)
		}
	})
}

// P49: what is recovered leaves no error behind.
func TestP49RecoveredIsNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{text: "The cause is a typo in ", err: lost()}, step{text: "a typo in main.go.\n" + finalText})
		turn := d.turn(context.Background())
		if turn.Kind != "" || turn.Evidence != "" || turn.Control == nil {
			t.Errorf("turn %+v", turn)
		}
		if want := "The cause is a typo in main.go.\n" + finalText; turn.Text != want {
			t.Errorf("text %q, want %q", turn.Text, want)
		}
		if got := show(d.script.requests()[1].Messages[1:]); !strings.Contains(got, `assistant: "The cause is a typo in `) || !strings.Contains(got, goOnNote) {
			t.Errorf("history\n%s", got)
		}
	})
}

// P50: while a tool waits for something outside nobody is silent: the watchdog counts from when the model is asked again.
func TestP50ToolThatWaitsIsNotSilence(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} { // whether the stream stays open meanwhile
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, step{calls: []model.Call{call("1", "run", `{"argv":["test"]}`)}, late: late}, step{text: finalText})
			d.req.Idle = 30 * time.Second
			d.tools.do = func(ctx context.Context, _ model.Call) tools.Outcome {
				time.Sleep(11 * time.Minute)
				if ctx.Err() != nil {
					t.Error("the watchdog ended the tool")
				}
				return tools.Outcome{Text: "ran for eleven minutes"}
			}
			turn, _ := d.ends(context.Background(), "", 2)
			d.ran("1")
			if got := d.results()["1"]; turn.Control == nil || got.Text != "ran for eleven minutes" || got.Failed || len(d.of("recovery")) != 0 {
				t.Errorf("late %v: result %+v, %d recoveries", late, got, len(d.of("recovery")))
			}
		})
	}
}

// P52: a stream that does not even hear that it is to end is not waited for.
func TestP52StreamThatNeverEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{text: "I think", deaf: true}, step{text: " so.\n" + finalText})
		defer close(d.script.end)
		d.req.Idle = 30 * time.Second
		turn, took := d.ends(context.Background(), "", 2)
		if turn.Text != "I think so.\n"+finalText || took != 30*time.Second+letGo+2*time.Second {
			t.Errorf("turn %+v after %s", turn, took)
		}
		if got := d.of("recovery")[0].Data; got["kind"] != "idle_timeout" || got["reason"] != "visible_output" {
			t.Errorf("recovery %v", got)
		}
	})
}

// P53: when the budget is spent the notice says what was done earlier in the turn.
func TestP53NoticeSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{calls: []model.Call{call("1", "run", `{"argv":["deploy"]}`)}}, step{calls: []model.Call{call("2", "read", `{"path":"a"}`)}})
		d.script.more = func(int) step { return step{err: lost()} }
		d.turn(context.Background())
		line := d.of("notice")[0].Data
		if line["notice"] != "safe_retry_failed" || line["unsafe_completed"] != true || !strings.Contains(line["text"].(string), "do not repeat") {
			t.Errorf("notice %v", line)
		}
	})
}

// P54: what is lost after the stop reason is missed by nobody.
func TestP54LostAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, step{text: finalText, late: true, err: lost()})
		if turn, _ := d.ends(context.Background(), "", 1); turn.Control == nil {
			t.Errorf("turn %+v", turn)
		}
	})
}

// An answer without a stop reason is not whole, whatever it says.
func TestNoStopReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.Ask = func(context.Context, model.Request, func(model.Event)) (model.Answer, error) {
			return model.Answer{Blocks: []model.Block{{Text: finalText}}}, nil
		}
		d.ends(context.Background(), failure.StreamFailure, 6)
	})
}
