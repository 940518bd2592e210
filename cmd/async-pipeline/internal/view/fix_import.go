// Runs that were taken in from elsewhere.
package view

import (
	"cmp"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// An Imported is one run that was taken in.
type Imported struct {
	Run     string
	Fixes   []fix.Item
	Already bool
	Called  string   // the folder that it was taken from, where that had another name
	LeftOut []string // files that no record of the run speaks of
	Show    string   // what a person types next; empty: there is no proposal
}

// Imported shows them, and what to do next.
func (s *Screen) Imported(runs []Imported) {
	var b strings.Builder
	for _, r := range runs {
		what := s.paint(green, "imported") + " run "
		if r.Already {
			what = "already here: run "
		}
		b.WriteString(what + Harmless(r.Run) + ", " + fixCount(len(r.Fixes)) + "\n")
		if r.Called != "" {
			b.WriteString(s.aside("The folder is called " + Harmless(r.Called) + "; " + Harmless(r.Run) + " is the run's own id."))
		}
		if n := len(r.LeftOut); n > 0 {
			b.WriteString(s.aside("Left out: " + count(n, "file") + " that no record of the run speaks of: " + list(r.LeftOut)))
		}
		for _, f := range r.Fixes {
			b.WriteString("  " + pad(Harmless(cmp.Or(f.Name, f.Task)), 20) + "  " + s.paint(standingColour(f), Harmless(standing(f))) + "\n")
		}
		if r.Show != "" && !r.Already {
			b.WriteString(s.aside("It was verified elsewhere. To look at it, and to verify it here:"))
			b.WriteString("  " + r.Show + "\n  " + strings.Replace(r.Show, " fix show ", " fix replay ", 1) + "\n")
		}
	}
	s.put(b.String())
}

// imported says that a fix was not made and verified here.
func (s *Screen) imported(i *fix.Imported) string {
	if i == nil {
		return ""
	}
	return s.paragraph("imported at "+Harmless(i.At)+" from "+Harmless(i.From)+": it was made and verified elsewhere; fix replay verifies it here", "  ")
}
