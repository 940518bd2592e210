package tools

import (
	"context"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
)

// mostWords is how much of each part of the model's report is kept, in bytes: people read it.
const mostWords = 8 << 10

var toolFinish = declared{
	name: Finish, effect: Ends, verb: "finishes",
	says: "Ends the work. Call it alone, when the check has passed or when nothing more can be done.",
	fields: []field{
		{name: "outcome", must: true, says: "fixed: the check should pass now; no_fix: there is nothing to fix; " +
			"needs_human: a person must decide", choices: []string{agent.Fixed, agent.NoFix, agent.NeedsHuman}},
		{name: "summary", must: true, says: "what was changed and why, in two sentences"},
		{name: "root_cause", says: "why the task failed"},
	},
	// What was touched, and what passed since, is known better than any model knows it.
	do: func(_ context.Context, w *Toolset, a args) Outcome {
		w.mu.Lock()
		defer w.mu.Unlock()
		return Outcome{Text: "finished: " + a.texts["outcome"], Finished: &agent.Control{
			Outcome: a.texts["outcome"], Summary: atMost(a.texts["summary"], mostWords),
			RootCause:        atMost(a.texts["root_cause"], mostWords),
			VerifiedCommands: append([]string{}, slices.Compact(slices.Sorted(slices.Values(w.passed)))...),
			Touched:          append([]string{}, w.paths...),
		}}
	},
}
