package view

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// What is known of a cost is told where a part of it is unknown, of an attempt and of all of them; commands are, where there were any.
func TestAttemptsCost(t *testing.T) {
	t.Parallel()
	some := fix.Tokens{Input: ptr(int64(10)), Output: ptr(int64(5))}
	for name, c := range map[string]struct {
		attempts []fix.Attempt
		used     fix.Amounts
		want     []string
		never    string
	}{
		"all": {
			[]fix.Attempt{{Number: 1, Tokens: some, CostUSD: ptr(0.5)}},
			fix.Amounts{Tokens: ptr(int64(15)), CostUSD: ptr(0.5)},
			[]string{"tokens 10 in, 5 out; cost $0.50\n", "· tokens 15 · cost $0.50\n"},
			"at least",
		},
		"a part of one": {
			[]fix.Attempt{{Number: 1, Tokens: some, CostAtLeast: ptr(0.25)}, {Number: 2, Tokens: some, CostUSD: ptr(0.5)}},
			fix.Amounts{Tokens: ptr(int64(30))},
			[]string{"tokens 10 in, 5 out; cost at least $0.25\n", "tokens 10 in, 5 out; cost $0.50\n", "· cost at least $0.75\n"},
			"cost unknown",
		},
		"a part, and no tokens": {
			[]fix.Attempt{{Number: 1, CostAtLeast: ptr(0.25)}},
			fix.Amounts{},
			[]string{"tokens unknown; cost at least $0.25\n", "cost at least $0.25\n"},
			"cost unknown",
		},
		"of the question": {
			[]fix.Attempt{{Number: 1, Tokens: some, CostUSD: ptr(0.5), Finalizer: &fix.Finalizer{Result: "recovered", Tokens: some, CostAtLeast: ptr(0.25)}}},
			fix.Amounts{},
			[]string{"cost $0.50\n", "cost at least\n     $0.25\n", "cost at least $0.75\n"},
			"cost unknown",
		},
		"nothing": {[]fix.Attempt{{Number: 1}}, fix.Amounts{}, []string{"tokens and cost unknown\n", "· cost unknown\n"}, "at least"},
		"commands": {
			[]fix.Attempt{{Number: 1, Commands: fix.Commands{Allowed: ptr(1), Refused: ptr(0)}}, {Number: 2, Commands: fix.Commands{Allowed: ptr(0), Refused: ptr(0)}}},
			fix.Amounts{},
			[]string{"     1 command run, 0 refused\n"},
			"0 commands",
		},
	} {
		f := &fix.Fix{State: fix.Proposed, Attempts: c.attempts, Budget: &fix.Budget{Used: c.used}}
		var b strings.Builder
		got := (&Screen{W: &b}).attempts(f, "")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, got)
			}
		}
		if strings.Contains(got, c.never) {
			t.Errorf("%s: %q is in\n%s", name, c.never, got)
		}
	}
}
