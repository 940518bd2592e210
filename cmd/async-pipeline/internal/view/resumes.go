// What run --resume takes over.
package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// Resumes shows what a run takes over from an earlier one. again has the tasks that passed there and run all the
// same, with the reason; gone those that PIPELINE.hcl no longer has; of unknown of those that passed nobody can tell
// whether they would pass now. The first ten names are shown unless all are asked for.
func (s *Screen) Resumes(run, status string, passed, gone []string, unknown int, again map[string]string, all bool) {
	const most = 10
	limit := most
	if all {
		limit = max(len(passed), len(gone), len(again))
	}
	var b strings.Builder
	b.WriteString("Resumes run " + run + " (" + status + ")\n")
	if len(passed) > 0 {
		b.WriteString(strings.Join(s.hung("not run again: "+english.List(TaskNames(passed), limit), 2), "\n") + "\n")
	}
	if len(gone) > 0 {
		b.WriteString(strings.Join(s.hung("no longer in PIPELINE.hcl: "+english.List(TaskNames(gone), limit), 2), "\n") + "\n")
	}
	if unknown > 0 {
		text := fmt.Sprintf("For %d of these no inputs are recorded: a change since then would not be noticed.", unknown)
		b.WriteString(strings.Join(s.hung(text, 2), "\n") + "\n")
	}
	names := slices.Sorted(maps.Keys(again))
	wide := nameColumns(names, 30)
	if len(names) > 0 {
		b.WriteString("  passed there, and run again:\n")
	}
	for _, name := range names[:min(len(names), limit)] {
		b.WriteString(s.hanging("    "+pad(taskName(name), wide)+"  ", Harmless(again[name])))
	}
	if more := len(names) - limit; more > 0 {
		fmt.Fprintf(&b, "    and %d more: --dry-run shows all\n", more)
	}
	s.put(b.String() + "\n")
}
