// Runs that were imported from elsewhere.
package view

import (
	"cmp"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// Imported is one imported run.
type Imported struct {
	Run     string
	Fixes   []fix.Item
	Already bool
	Called  string   // name of the folder it came from, where that is not the id of the run
	LeftOut []string // files that no record of the run names
	Show    string   // what a person types next; empty: there is no proposal
}

// Imported shows the imported runs, and what to do next.
func (s *Screen) Imported(runs []Imported) {
	var b strings.Builder
	for _, r := range runs {
		what := s.paint(green, "imported") + " run "
		if r.Already {
			what = "already here: run "
		}
		b.WriteString(what + Harmless(r.Run) + ", " + english.Count(len(r.Fixes), "fix") + "\n")
		if r.Called != "" {
			b.WriteString(s.aside("The folder is called " + Harmless(r.Called) + "; " + Harmless(r.Run) + " is the run's own id."))
		}
		if n := len(r.LeftOut); n > 0 {
			b.WriteString(s.aside("Left out: " + english.Count(n, "file") + " that no record of the run names: " + english.List(r.LeftOut, mostNames)))
		}
		for _, f := range r.Fixes {
			b.WriteString("  " + pad(Harmless(cmp.Or(f.Name, f.Task)), 20) + "  " + s.paint(standingColour(f), Harmless(standing(f))) + "\n")
		}
		if r.Show != "" && !r.Already {
			b.WriteString(s.aside("It was verified elsewhere. Review it, and verify it here:"))
			b.WriteString("  " + r.Show + "\n  " + strings.Replace(r.Show, " fix show ", " fix replay ", 1) + "\n")
		}
	}
	s.put(b.String())
}

// imported shows that a fix was made and verified elsewhere.
func (s *Screen) imported(i *fix.Imported) string {
	if i == nil {
		return ""
	}
	return s.paragraph("imported at "+Harmless(i.At)+" from "+Harmless(i.From)+": made and verified elsewhere; fix replay verifies it here", "  ")
}
