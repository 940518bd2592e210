package view

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

func TestStats(t *testing.T) {
	t.Parallel()
	agent := func(name string) fix.AgentStats {
		return fix.AgentStats{
			Agent: &name, Attempts: 12, Retries: 3, RetriesSucceeded: 2, WallClockMS: 754_000,
			Tokens: fix.Tokens{Input: new(int64(1_234_567)), Output: new(int64(9_876))}, CostUSD: new(1.5), CostUnknown: 1, TokensUnknown: 1,
		}
	}
	plain := fix.AgentStats{Agent: new("a\x1b[31mgent with a very long name"), Attempts: 1, WallClockMS: 900, TokensUnknown: 1, CostUnknown: 1}
	n := fix.Stats{
		Runs: fix.RunStats{Total: 1000, Passed: 900, Failed: 80, Interrupted: 15, Running: 1, Unreadable: 4, WallClockMS: 36_000_000, First: new("20261121T024000Z-7f3a")},
		Healings: fix.HealingStats{
			Total: 90, Proposed: 60, Skipped: 10, NotReproduced: 8, Flaky: 3, NoFix: 4, Failed: 3, Cancelled: 1, Interrupted: 1, WallClockMS: 7_200_000,
		},
		Proposals: fix.ProposalStats{Total: 60, Verified: 40, Suspect: 12, Unverified: 8, Open: 5, Applied: 30, Rejected: 10, Superseded: 13, Reverted: 2, Passed: 28, Recurred: 2},
		Total:     agent("all"),
		Agents:    []fix.AgentStats{agent("claude"), plain},
		Kinds:     []fix.KindStats{{Kind: "idle_timeout", Attempts: 5, Retried: 3, Succeeded: 2}, {Kind: "cli_error", Attempts: 1}},
	}
	some := n
	some.Runs = fix.RunStats{Total: 1, Passed: 1}
	some.Healings, some.Proposals, some.Total, some.Agents, some.Kinds = fix.HealingStats{}, fix.ProposalStats{}, fix.AgentStats{}, nil, nil
	golden(t, "stats", func(s *Screen) {
		s.Stats(n, "async-pipeline fix list --recurring")
		s.Line("")
		s.Stats(some, "")
		s.Line("")
		s.Stats(fix.Stats{}, "")
	})
}

func TestFixesRecurring(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := &Screen{W: &b}
	s.Fixes([]fix.Item{
		{Run: "r1", Task: "test", State: fix.Proposed, Disposition: "applied", Verdict: new("verified"), PassedIn: new("r2"), RecurredIn: []string{"r3", "r4"}},
		{Run: "r0", Task: "test", State: fix.Proposed, Disposition: "applied", Verdict: new("verified"), RecurredIn: []string{"r3"}},
	}, func(fix.Item) string { return "" }, nil)
	for _, want := range []string{"  passed since: run r2\n", "  failed again the same way: run r4 and 1 before\n", "  failed again the same way: run r3\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}
