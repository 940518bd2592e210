package fix

import (
	"strings"
	"testing"
)

func TestReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Reason{
		"":                                 {},
		"no_time":                          {Code: "no_time"},
		"not_run: no space: /tmp":          {"not_run", "no space: /tmp"},
		"no attempt changed anything":      {Words: "no attempt changed anything"},
		"2 of 3 runs: the others passed":   {Words: "2 of 3 runs: the others passed"},
		OpenProposal + ": run 1 has one":   {OpenProposal, "run 1 has one"},
		"open_proposals: this is no other": {"open_proposals", "this is no other"},
	} {
		got := ParseReason(text)
		if got != want || got.String() != text {
			t.Errorf("%q: %+v, again as text %q", text, got, got.String())
		}
	}
}

func TestNextStep(t *testing.T) {
	t.Parallel()
	rescued := []Attempt{{}, {Rescue: new("fixes/check/attempt-2.patch")}}
	for _, c := range []struct {
		f    Fix
		want string
	}{
		{Fix{State: Cancelled}, "run heal again"},
		{Fix{State: Interrupted, Attempts: rescued}, "or look at the rescue patch"},
		{Fix{State: NoFix, Attempts: rescued}, "the agent left a change"},
		{Fix{State: NoFix, Attempts: []Attempt{{}}}, ""},
		{Fix{State: Proposed, Attempts: rescued}, ""},
		{Fix{State: Failed, Attempts: rescued}, ""},
	} {
		switch got := c.f.NextStep(); {
		case got == nil && c.want == "":
		case got == nil || c.want == "" || !strings.Contains(*got, c.want):
			t.Errorf("%s: %v, want %q", c.f.State, got, c.want)
		}
	}
}
