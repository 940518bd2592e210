package failure

import (
	"slices"
	"testing"
)

func TestRetryable(t *testing.T) {
	t.Parallel()
	on := Policy{ExtraKinds: []string{"shim_specific_blip", "quota_exhausted", "opencode_db_corrupt", "verdict_ambiguous", "openrouter_429", "500", "http_500"}, OnNullKind: true, OnNoOutput: true}
	var none Policy
	for _, c := range []struct {
		id     string
		kinds  []Kind
		policy Policy
		want   bool
	}{
		{"C01 no kind", []Kind{""}, none, false},
		{"C02 empty kind", []Kind{""}, none, false},
		{"C02 empty kind, opted in", []Kind{""}, Policy{OnNullKind: true}, true},
		{"C04 empty policy", []Kind{""}, Policy{}, false},
		{"C05 no output", []Kind{NoOutput}, none, false},
		{"C06 no output, opted in", []Kind{NoOutput}, Policy{OnNoOutput: true}, true},
		{"C06 opted in for the other", []Kind{NoOutput}, Policy{OnNullKind: true}, false},
		{"C08 extra kind", []Kind{"shim_specific_blip"}, Policy{ExtraKinds: []string{"shim_specific_blip"}}, true},
		{"C09 kind of nobody", []Kind{"shim_specific_blip"}, none, false},
		{"C10 quota, all on", []Kind{QuotaExhausted}, on, false},
		{"C12 database, all on", []Kind{"opencode_db_corrupt"}, on, false},
		{"C13 ambiguous, all on", []Kind{VerdictAmbiguous}, on, false},
		{"C14 prompt", []Kind{PermissionPrompt}, none, false},
		{"C16 no start", []Kind{ColdStartTimeout}, none, true},
		{"C17 a terminal that died", []Kind{"tmux_dead"}, none, true},
		{"C18 half a stream", []Kind{StreamFailure}, none, true},
		{"C19 nobody knows", []Kind{Unknown}, none, true},
		{"C20 a server of tools", []Kind{MCPHandshakeFailed}, none, true},
		{"C21 transient, policy without flags", []Kind{StreamFailure}, Policy{ExtraKinds: []string{"x"}}, true},
		{"C22 before HTTP", []Kind{"openrouter_fetch_failed", "openrouter_no_body"}, none, true},
		{"C22 5xx", []Kind{"openrouter_500", "openrouter_529", "openrouter_599"}, none, true},
		{"C24 4xx", []Kind{"openrouter_400", "openrouter_401", "openrouter_402", "openrouter_403", "openrouter_429"}, none, false},
		{"C24 4xx, all on", []Kind{"openrouter_429"}, on, false},
		{"C25 malformed", []Kind{"openrouter_", "openrouter_unknown", "openrouter_600", "openrouter_5000", "openrouter_+50"}, none, false},
		{"C26 no provider", []Kind{"500", "http_500"}, none, false},
		{"C26 no provider, all on", []Kind{"500", "http_500"}, on, false},
		{"falls through", []Kind{CLIError, CLINotInPath, SpawnFailed, ParseError, OutputTruncated, "timeout", Aborted, Cancelled, AuthMissing, "rate_limit"}, none, false},
	} {
		t.Run(c.id, func(t *testing.T) {
			for _, k := range c.kinds {
				if got := Retryable(k, c.policy); got != c.want {
					t.Errorf("%q: %v", k, got)
				}
			}
		})
	}
	for _, k := range alwaysTransient {
		if slices.Contains(alwaysTerminal, k) {
			t.Errorf("%s is transient and terminal", k)
		}
	}
}

func TestClass(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]Class{
		"": "", StreamFailure: Transient, RateLimited: Wait, CLIError: Terminal, WallTimeout: Fatal, Cancelled: Lifecycle, "new_one": Terminal,
		NoOutput: Terminal, OutputInvalid: Terminal, VerdictAmbiguous: Terminal, IdleTimeout: Transient, KilledExternally: Lifecycle,
	} {
		if got := kind.Class(); got != want {
			t.Errorf("%q: %q, want %q", kind, got, want)
		}
	}
	for _, kind := range All() {
		if kind.Class() == Fatal && Retryable(kind, Policy{OnNullKind: true, OnNoOutput: true}) {
			t.Errorf("%s ends the hook and would be tried again", kind)
		}
	}
}

// Every kind that ends a hook or an agent has advice for a person.
func TestAdvice(t *testing.T) {
	t.Parallel()
	own := map[Kind]bool{AgentError: true, VerdictAmbiguous: true, ParseError: true, PatchEmpty: true, OutputInvalid: true, AttemptsExhausted: true}
	for _, k := range All() {
		class := k.Class()
		if (class == Terminal || class == Fatal || class == Wait) && k.Advice(true) == "" && !own[k] {
			t.Errorf("%s (%s) has no advice", k, class)
		}
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	if Kind("rate_limit").Known() || !Kind("openrouter_502").Known() {
		t.Error("what is not in any table is not known")
	}
}
