package fix

import "testing"

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
