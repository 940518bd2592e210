package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

func TestParseFailure(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		name, text string
		want       *Failure
		left       string // in what was left out
		fault      string // in the error
	}{
		{name: "alone", text: `{"error":{"kind":"quota_exhausted","message":"used up","retry_after_ms":60000}}`, want: &Failure{failure.QuotaExhausted, "used up", after(time.Minute), nil}},
		{name: "at the end of prose", text: "I tried.\n" + `{"error": {"kind": "gateway_blip"}}` + "\n", want: &Failure{Kind: "gateway_blip"}},
		{name: "in a fence of its own", text: "```json\n" + `{"error":{"kind":"billing","message":"a\nb"}}` + "\n```\n", want: &Failure{failure.Billing, "a b", nil, nil}},
		{name: "a fraction", text: `{"error":{"kind":"rate_limited","retry_after_ms":1.5}}`, want: &Failure{failure.RateLimited, "", after(1500 * time.Microsecond), nil}},
		{name: "null is not said", text: `{"error":{"kind":"rate_limited","retry_after_ms":null,"message":null}}`, want: &Failure{Kind: failure.RateLimited}},

		{name: "quoted before the end", text: `{"error":{"kind":"billing"}}` + "\nis what I saw in the log"},
		{name: "followed by a control object", text: `{"error":{"kind":"billing"}}` + "\n" + `{"outcome":"fixed","summary":"x"}`},
		{name: "a control object with an error", text: `{"error":{"kind":"billing"},"outcome":"fixed"}`},
		{name: "an object of something else", text: `{"kind":"billing"}`},
		{name: "nothing"},

		{name: "a field beside it", text: `{"error":{"kind":"billing"},"code":1}`, fault: `field "code" is beside "error"`},
		{name: "a text", text: `{"error":"billing"}`, fault: `field "error" holds "billing"; it must be an object with the fields kind, message, retry_after_ms`},
		{name: "nothing at all", text: `{"error":null}`, fault: `field "error" holds null`},
		{name: "no kind", text: `{"error":{"message":"x"}}`, fault: `required field "kind" is missing; it was ignored, and how the program ended is what counts; the kinds are agent_budget, `},
		{name: "a kind of no form", text: `{"error":{"kind":"Rate Limited!"}}`, fault: `field "kind" holds "Rate Limited!"; a kind begins with a small letter`},
		{name: "a long kind", text: `{"error":{"kind":"` + strings.Repeat("X", 500) + `"}}`, fault: `XXX…; a kind begins`},
		{name: "a number as kind", text: `{"error":{"kind":429}}`, fault: `field "kind" holds 429, which is no string; it was ignored`},
		{name: "not an agent's to say: cancelled", text: `{"error":{"kind":"cancelled"}}`, fault: `holds "cancelled", which is not an agent's to say`},
		{name: "not an agent's to say: the budget", text: `{"error":{"kind":"wall_timeout"}}`, fault: `holds "wall_timeout", which is not`},

		{name: "an unbelievable time", text: `{"error":{"kind":"rate_limited","retry_after_ms":1e15}}`, want: &Failure{Kind: failure.RateLimited}, left: `field "retry_after_ms" holds 1e15`},
		{name: "a time that is gone", text: `{"error":{"kind":"rate_limited","retry_after_ms":-5}}`, want: &Failure{Kind: failure.RateLimited}, left: `holds -5, which is no number of milliseconds`},
		{name: "a time in words", text: `{"error":{"kind":"rate_limited","retry_after_ms":"60s"}}`, want: &Failure{Kind: failure.RateLimited}, left: `holds "60s", which is no number`},
		{name: "a message that is none", text: `{"error":{"kind":"billing","message":["a"]}}`, want: &Failure{Kind: failure.Billing}, left: `field "message" holds ["a"], which is no string, and was left out`},
		{name: "a field that is not known", text: `{"error":{"kind":"billing","retry_after":5,"message":"m"}}`, want: &Failure{failure.Billing, "m", nil, nil}, left: `field "retry_after" is unknown (the fields are kind, message, retry_after_ms), and was left out`},
	} {
		got, err := ParseFailure(c.text)
		if (err == nil) != (c.fault == "") || err != nil && (!strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), "it was ignored, and how the program ended is what counts")) {
			t.Errorf("%s: %v", c.name, err)
		}
		if (got == nil) != (c.want == nil) {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if got == nil {
			continue
		}
		if got.Kind != c.want.Kind || got.Message != c.want.Message || (got.RetryAfter == nil) != (c.want.RetryAfter == nil) ||
			got.RetryAfter != nil && *got.RetryAfter != *c.want.RetryAfter {
			t.Errorf("%s: %+v", c.name, got)
		}
		if left := strings.Join(got.Left, "; "); (left == "") != (c.left == "") || !strings.Contains(left, c.left) {
			t.Errorf("%s: left out %q", c.name, left)
		}
	}
}

// The kinds that a message names are those that an agent may name.
func TestKnownKinds(t *testing.T) {
	t.Parallel()
	for _, k := range failure.All() {
		class := k.Class()
		mine := class == failure.Lifecycle || class == failure.Fatal
		got, err := ParseFailure(`{"error":{"kind":"` + string(k) + `"}}`)
		if (got == nil) != mine || (err == nil) == mine || strings.Contains(KnownKinds()+",", " "+string(k)+",") == mine || !k.Known() {
			t.Errorf("%s: %v, %v", k, got, err)
		}
	}
}

func TestFinalizerText(t *testing.T) {
	t.Parallel()
	text := Finalizer(FinalizerParts{
		Task: "test", Problem: "control object: required field \"summary\" is missing", Answer: strings.Repeat("x", 20<<10) + " the end\x1b[31m of it",
		Changed: []string{"modified a.go"}, Mark: func() string { return "mark" },
	})
	for _, want := range []string{`required field "summary"`, "modified a.go", "----- begin answer mark", " the end of it\n", "no Markdown", ControlForm} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if len(text) > TailOfAnswer+4<<10 {
		t.Errorf("%d bytes", len(text))
	}
	if again := Finalizer(FinalizerParts{Task: "test"}); !strings.Contains(again, "final answer is missing") || !strings.Contains(again, "Nothing was changed") || strings.Contains(again, "begin answer") {
		t.Error(again)
	}
}
