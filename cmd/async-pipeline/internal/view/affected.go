// What run --affected chose.
package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Affected shows which tasks changes affect, and why.
func (s *Screen) Affected(since *record.Affected, why map[string]string) {
	at := Harmless(since.Base) + " (" + since.Commit[:min(12, len(since.Commit))] + ")"
	if len(why) == 0 {
		s.Line("Nothing is affected by what changed since %s.", at)
		return
	}
	names := slices.Sorted(maps.Keys(why))
	wide := nameColumns(names, 30)
	var b strings.Builder
	b.WriteString(english.Count(len(names), "task") + " affected by what changed since " + at + "\n")
	for _, name := range names {
		b.WriteString(s.hanging("  "+pad(taskName(name), wide)+"  ", Harmless(why[name])))
	}
	s.put(b.String() + "\n")
}
