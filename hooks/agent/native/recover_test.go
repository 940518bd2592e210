package native

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		cause  cause
		facts  facts
		action action
		reason string
	}{
		{"P01 transport, nothing happened", transport, facts{retryable: true}, replay, "nothing_visible"},
		{"P02 transport, nothing happened, an unknown local tool is offered", transport, facts{retryable: true, unknownCall: true}, replay, "nothing_visible"},
		{"P04 transport, nothing happened, a tool of somebody else's is offered", transport, facts{retryable: true, elsewhere: true}, goOn, "facts_incomplete"},
		{"P05 transport, nothing happened, nobody knows what was offered", transport, facts{retryable: true, elsewhere: true}, goOn, "facts_incomplete"},
		{"P06 no such host, nothing happened", transport, facts{}, stop, "not_retryable"},
		{"P08 reasoning only, a tool of somebody else's is offered", transport, facts{retryable: true, reasoning: true, elsewhere: true}, goOn, "facts_incomplete"},
		{"reasoning only", transport, facts{retryable: true, reasoning: true}, replay, "reasoning_only"},
		{"P09 text started", transport, facts{retryable: true, text: true}, goOn, "visible_output"},
		{"P09 text after reasoning", transport, facts{retryable: true, text: true, reasoning: true}, goOn, "visible_output"},
		{"P10 a part of a call", transport, facts{retryable: true, partialCall: true}, goOn, "partial_tool_input"},
		{"P12 a whole call that needs consent", transport, facts{retryable: true, wholeCall: true}, goOn, "materialised_without_execution"},
		{"P13 a whole call of an unknown tool", transport, facts{retryable: true, wholeCall: true, unknownCall: true}, goOn, "facts_incomplete"},
		{"a whole call", transport, facts{retryable: true, wholeCall: true, partialCall: true, text: true}, goOn, "materialised_without_execution"},
		{"cancelled", userCancel, facts{retryable: true, wholeCall: true}, stop, "user_cancel"},
		{"P17 the program ends", lifecycleClose, facts{retryable: true}, stop, "local_lifecycle_close"},
		{"P18 rejected, nothing ran", provider, facts{}, stop, "provider_api_error"},
		{"rejected, and who knows", provider, facts{incomplete: true}, stop, "facts_incomplete"},
		{"P20 429 before anything", provider, facts{retryable: true}, replay, "nothing_visible"},
		{"P21 nothing heard at all", watchdog, facts{retryable: true}, replay, "nothing_visible"},
		{"P22 silence in the middle of a text", watchdog, facts{retryable: true, text: true}, goOn, "visible_output"},
		{"who knows", transport, facts{retryable: true, text: true, incomplete: true}, goOn, "facts_incomplete"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if act, why := decide(tt.cause, tt.facts); act != tt.action || why != tt.reason {
				t.Errorf("decide = %v, %q; want %v, %q", act, why, tt.action, tt.reason)
			}
		})
	}
}

func TestDecideNeverRepeatsWhatActed(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 8 {
		f := facts{
			retryable: bits&1 != 0, reasoning: bits&2 != 0, text: bits&4 != 0, partialCall: bits&8 != 0, wholeCall: bits&16 != 0, unknownCall: bits&32 != 0,
			incomplete: bits&64 != 0, elsewhere: bits&128 != 0,
		}
		for _, c := range []cause{userCancel, lifecycleClose, transport, watchdog, provider} {
			act, why := decide(c, f)
			if act == replay && (f.text || f.acted() || f.elsewhere || !f.retryable) {
				t.Errorf("decide(%s, %+v) sends the same request again (%s)", c, f, why)
			}
			if act != stop && (c == userCancel || c == lifecycleClose || !f.retryable) {
				t.Errorf("decide(%s, %+v) does not stop", c, f)
			}
			if why == "" {
				t.Errorf("decide(%s, %+v) gives no reason", c, f)
			}
		}
	}
}

func TestFaultOf(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	errWall := errors.New("the budget's wall clock")
	late, cancelLate := context.WithDeadlineCause(context.Background(), time.Now().Add(-time.Second), errWall)
	defer cancelLate()
	for _, tt := range []struct {
		name      string
		ctx       context.Context
		err       error
		cause     cause
		kind      failure.Kind
		retryable bool
	}{
		{"reset", nil, lost(), transport, failure.TransportDisconnect, true},
		{"P76 429 that says it is not retryable", nil, fault5("rate_limited", 429, "slow down"), provider, failure.RateLimited, true},
		{"P76 overload", nil, fault5("server_overload", 529, "busy"), provider, failure.ServerOverload, true},
		{"P76 decompression", nil, fault5("decompression", 0, "gzip"), transport, failure.Decompression, true},
		{"P77 unknown kind, retryable", nil, &model.Error{Retryable: true, RetryAfter: -1}, provider, failure.Unknown, true},
		{"P77 unknown kind, not retryable", nil, &model.Error{RetryAfter: -1}, provider, failure.Unknown, false},
		{"a terminal kind beats the flag", nil, &model.Error{Kind: "auth_invalid", Retryable: true}, provider, failure.AuthInvalid, false},
		{"a 404 is not retried", nil, &model.Error{Kind: "model_not_found", Status: 404, Retryable: true}, provider, failure.ModelNotFound, false},
		{"P06 no such host", nil, fault5("dns_not_found", 0, ""), transport, failure.DNSNotFound, false},
		{"quota", nil, fault5("quota_exhausted", 429, ""), provider, failure.QuotaExhausted, false},
		{"no start", nil, fault5("cold_start_timeout", 0, ""), watchdog, failure.ColdStartTimeout, true},
		{"silence of ours", nil, errSilent, watchdog, failure.IdleTimeout, true},
		{"not an error of the model's", nil, io.ErrUnexpectedEOF, provider, failure.Unknown, false},
		{"a person cancelled", cancelled, lost(), userCancel, failure.Cancelled, false},
		{"the wall clock, with a cause of its own", late, lost(), lifecycleClose, failure.WallTimeout, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := tt.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			if f := faultOf(ctx, tt.err); f.cause != tt.cause || f.kind != tt.kind || f.retryable != tt.retryable {
				t.Errorf("faultOf = %+v; want %s, %s, %v", f, tt.cause, tt.kind, tt.retryable)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	none := func() float64 { return 0 }
	most := func() float64 { return 0.999999999 }
	for i, want := range []time.Duration{2, 4, 8, 16, 30, 30, 30} {
		n := i + 1
		if got := delay(n, -1, none); got != want*time.Second/2 {
			t.Errorf("P60 delay %d at the least is %s, want %s", n, got, want*time.Second/2)
		}
		if got := delay(n, -1, most); got < want*time.Second-time.Millisecond || got > want*time.Second {
			t.Errorf("P60 delay %d at the most is %s, want %s", n, got, want*time.Second)
		}
	}
	for _, tt := range []struct {
		name  string
		after time.Duration
		want  time.Duration
	}{
		{"P61 retry-after-ms 1500", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"P62 retry-after 1.2", 1200 * time.Millisecond, 1200 * time.Millisecond},
		{"at once", 0, 0},
		{"P64 a date that has passed", -1, 2 * time.Second},
		{"P65 a month", 30 * 24 * time.Hour, 30 * 24 * time.Hour},
	} {
		if got := delay(1, tt.after, func() float64 { return 1 }); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if !fits(context.Background(), time.Hour) {
			t.Error("a context without an end has no room")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if !fits(ctx, 9*time.Second) || fits(ctx, 10*time.Second) {
			t.Error("the end of the context is not where it is")
		}
		if err := pause(ctx, 3*time.Second); err != nil {
			t.Error(err)
		}
		if fits(ctx, 8*time.Second) {
			t.Error("time that has passed is counted as left")
		}
		cancel()
		if start := time.Now(); pause(ctx, time.Hour) == nil || time.Since(start) != 0 || fits(ctx, 0) {
			t.Error("a cancelled context is waited for")
		}
	})
}
