// What an audit found: what is not as it was recorded, and what nobody can know.
package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// An Audited is what was found in one run's folder.
type Audited struct {
	Run    string
	Fixes  []string
	Files  int
	Faults []journal.Fault
	Notes  []journal.Note
}

// Audit shows what was found in every run, and what it comes to.
func (s *Screen) Audit(runs []Audited) {
	var b strings.Builder
	faults := 0
	for _, r := range runs {
		mark := s.paint(green, "✓")
		if len(r.Faults) > 0 {
			mark = s.paint(red, "✗")
		}
		has := count(r.Files, "file") + ", " + fixCount(len(r.Fixes))
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
		b.WriteString("There are no fixes here to look at.\n")
	case faults == 0:
		b.WriteString("\nAll that was recorded is as it was.\n")
	default:
		b.WriteString("\n" + s.coloured(red, count(faults, "thing")+" not as it was recorded: do not apply a fix whose evidence changed.", ""))
	}
	s.put(b.String())
}

func fixCount(n int) string {
	if n == 1 {
		return "1 fix"
	}
	return fmt.Sprintf("%d fixes", n)
}
