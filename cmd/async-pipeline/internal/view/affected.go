// What run --affected chose.
package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Affected shows which tasks changes affect, and why; the first ten unless all are asked for.
func (s *Screen) Affected(since *record.Affected, why map[string]string, all bool) {
	const most = 10
	at := Harmless(since.Base) + " (" + since.Commit[:min(12, len(since.Commit))] + ")"
	if len(why) == 0 {
		s.Line("Nothing is affected by what changed since %s.", at)
		return
	}
	names := slices.Sorted(maps.Keys(why))
	wide := nameColumns(names, 30)
	var b strings.Builder
	b.WriteString(english.Count(len(names), "task") + " affected by what changed since " + at + "\n")
	shown := names
	if !all && len(names) > most {
		shown = names[:most]
	}
	for _, name := range shown {
		b.WriteString(s.hanging("  "+pad(taskName(name), wide)+"  ", Harmless(why[name])))
	}
	if more := len(names) - len(shown); more > 0 {
		fmt.Fprintf(&b, "  and %d more: --dry-run shows all\n", more)
	}
	s.put(b.String() + "\n")
}
