// What an audit found: what differs from its record, and what cannot be checked.
package view

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// Audited is what was found in the folder of one run.
type Audited struct {
	Run    string
	Fixes  []string
	Files  int
	Faults []journal.Fault
	Notes  []journal.Note
}

// Audit shows what was found in each run, and the result.
func (s *Screen) Audit(runs []Audited) {
	var b strings.Builder
	faults := 0
	for _, r := range runs {
		mark := s.paint(green, "✓")
		if len(r.Faults) > 0 {
			mark = s.paint(red, "✗")
		}
		has := english.Count(r.Files, "file") + ", " + english.Count(len(r.Fixes), "fix")
		between := " "
		if 2+4+columns(Harmless(r.Run))+2+len(has) > s.wide() {
			between = "\n  "
		}
		b.WriteString(mark + " " + s.paint(bold, "run "+Harmless(r.Run)) + ":" + between + has + "\n")
		for _, f := range r.Faults {
			faults++
			b.WriteString("  " + s.paint(red, Harmless(f.File)) + "\n")
			b.WriteString(s.paragraph("by "+Harmless(f.Where), "    "))
			b.WriteString(s.paragraph("expected "+Harmless(f.Expected), "    "))
			b.WriteString(s.paragraph("found    "+Harmless(f.Found), "    "))
		}
		for _, n := range r.Notes {
			for i, line := range Wrap(Harmless(n.File+": "+n.Text), s.wide()-4) {
				lead := "    "
				if i == 0 {
					lead = "  - "
				}
				b.WriteString(s.paint(dim, lead+line) + "\n")
			}
		}
	}
	switch {
	case len(runs) == 0:
		b.WriteString("There are no fixes here.\n")
	case faults == 0:
		b.WriteString("\nEverything is as it was recorded.\n")
	default:
		b.WriteString("\n" + s.coloured(red, english.Count(faults, "difference")+" from what was recorded: do not apply a fix whose evidence changed.", ""))
	}
	s.put(b.String())
}
