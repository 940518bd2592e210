package agent

import (
	"strings"
	"testing"
	"time"
)

func TestParseFailure(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		name, text string
		want       *Failure
	}{
		{"alone", `{"error":{"kind":"quota_exhausted","message":"used up","retry_after_ms":60000}}`, &Failure{QuotaExhausted, "used up", after(time.Minute)}},
		{"at the end of prose", "I tried.\n" + `{"error": {"kind": "gateway_blip"}}` + "\n", &Failure{"gateway_blip", "", nil}},
		{"in a fence of its own", "```json\n" + `{"error":{"kind":"billing","message":"a\nb"}}` + "\n```\n", &Failure{Billing, "a b", nil}},
		{"a fraction", `{"error":{"kind":"rate_limited","retry_after_ms":1.5}}`, &Failure{RateLimited, "", after(1500 * time.Microsecond)}},
		{"quoted before the end", `{"error":{"kind":"billing"}}` + "\nis what I saw in the log", nil},
		{"followed by a control object", `{"error":{"kind":"billing"}}` + "\n" + `{"outcome":"fixed","summary":"x"}`, nil},
		{"with other fields", `{"error":{"kind":"billing"},"outcome":"fixed"}`, nil},
		{"no kind", `{"error":{"message":"x"}}`, nil},
		{"a kind of no form", `{"error":{"kind":"Rate Limited!"}}`, nil},
		{"a text", `{"error":"billing"}`, nil},
		{"not an agent's to say: cancelled", `{"error":{"kind":"cancelled"}}`, nil},
		{"not an agent's to say: the budget", `{"error":{"kind":"wall_timeout"}}`, nil},
		{"an unbelievable time", `{"error":{"kind":"rate_limited","retry_after_ms":1e15}}`, &Failure{RateLimited, "", nil}},
		{"a time that is gone", `{"error":{"kind":"rate_limited","retry_after_ms":-5}}`, &Failure{RateLimited, "", nil}},
		{"nothing", "", nil},
	} {
		got := ParseFailure(c.text)
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
	}
}

// Every kind that ends a hook or an agent says what a person can do, and no line is for a kind that does not exist.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for k := range advice {
		if _, ok := classes[k]; !ok {
			t.Errorf("%s is no kind", k)
		}
	}
	own := map[Kind]bool{AgentError: true, VerdictAmbiguous: true, ParseError: true, PatchEmpty: true, OutputInvalid: true, AttemptsExhausted: true}
	for k, class := range classes {
		if (class == Terminal || class == Fatal || class == Wait) && k.Advice() == "" && !own[k] {
			t.Errorf("%s (%s) says nothing of what to do", k, class)
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
