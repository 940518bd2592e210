package cli

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
)

func TestConclude(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   ending
		want failure.Kind
		says string
	}{
		"exit 0 with output":                        {in: ending{said: true}},
		"exit 0 with a control object":              {in: ending{said: true, control: true}},
		"1 a cancel wins over everything":           {ending{exit: agent.Exit{Cancelled: true, TimedOut: true, IdledOut: true, Signal: "SIGTERM", Code: 143}}, failure.Cancelled, "cancelled"},
		"4 wall clock":                              {ending{exit: agent.Exit{TimedOut: true, Signal: "SIGKILL", Code: 124}, said: true, control: true}, failure.WallTimeout, "wall clock"},
		"4 wall clock wins over idling":             {ending{exit: agent.Exit{TimedOut: true, IdledOut: true}}, failure.WallTimeout, "wall clock"},
		"4 wall clock, though it ended with exit 0": {ending{exit: agent.Exit{TimedOut: true}, said: true}, failure.WallTimeout, "wall clock"},
		"4 idle":                                {ending{exit: agent.Exit{IdledOut: true, Signal: "SIGTERM", Code: 143}}, failure.IdleTimeout, "idle"},
		"E17 a signal that nobody of ours sent": {ending{exit: agent.Exit{Signal: "SIGKILL", Code: 137}}, failure.KilledExternally, "SIGKILL"},
		"C44 exit 127":                          {ending{exit: agent.Exit{Code: 127}, stderr: "sh: foo: not found"}, failure.CLINotInPath, "foo: not found"},
		"exit 126":                              {ending{exit: agent.Exit{Code: 126}}, failure.SpawnFailed, "exit 126"},
		"C46 a vague exit takes nothing from a kind it named": {
			ending{exit: agent.Exit{Code: 1}, said: true, failure: &agent.Failure{Kind: failure.QuotaExhausted, Message: "used up"}, stderr: "Error: it ended with an error"}, failure.QuotaExhausted, "used up",
		},
		"5 exit 1": {ending{exit: agent.Exit{Code: 1}, said: true, stderr: "boom"}, failure.CLIError, "exit 1; stderr: boom"},
		"5 a control object excuses no exit code":    {ending{exit: agent.Exit{Code: 2}, said: true, control: true}, failure.CLIError, "exit 2"},
		"E16 words of stderr are evidence, no kind":  {ending{exit: agent.Exit{Code: 1}, stderr: "fix the 401 unauthorized"}, failure.CLIError, "401"},
		"5 an exit wins over what was cut":           {ending{exit: agent.Exit{Code: 1}, said: true, truncated: true}, failure.CLIError, "exit 1"},
		"exit 137 of a shell is an exit":             {ending{exit: agent.Exit{Code: 137}}, failure.CLIError, "exit 137"},
		"7 C30 exit 0, nothing said":                 {ending{}, failure.NoOutput, "exit 0, nothing on stdout"},
		"C37 cut, exit 0":                            {ending{said: true, truncated: true}, failure.OutputTruncated, "10 MiB"},
		"cut, but the control object is in the tail": {in: ending{said: true, truncated: true, control: true}},
	} {
		kind, evidence := conclude(c.in)
		if kind != c.want || !strings.Contains(evidence, c.says) || (kind == "") != (evidence == "") || strings.Contains(evidence, "\n") {
			t.Errorf("%s: %q, %q", name, kind, evidence)
		}
	}
}
