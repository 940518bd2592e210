// All fixes, one below the other, newest first.
package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// Fixes shows the table of `fix list`.
func (s *Screen) Fixes(items []fix.Item) {
	if len(items) == 0 {
		s.Line("No fix has been proposed here yet.")
		return
	}
	run, task, state := len("RUN"), len("TASK"), len("STATE")
	for _, it := range items {
		run = max(run, min(columns(Harmless(it.Run)), 24))
		task = max(task, min(columns(Harmless(it.Task)), 20))
		if !partly(it.Applied, it.Files) {
			state = max(state, columns(Harmless(standing(it))))
		}
	}
	var b strings.Builder
	b.WriteString(s.paint(bold, pad("RUN", run)+"  "+pad("TASK", task)+"  "+pad("STATE", state)+"  FILES") + "\n")
	for _, it := range items {
		word, files := Harmless(standing(it)), fmt.Sprintf("  %d", len(it.Files))
		if partly(it.Applied, it.Files) {
			files = "" // the word says it
		}
		b.WriteString(pad(Harmless(it.Run), run) + "  " + pad(Harmless(it.Task), task) + "  " + s.paint(standingColour(it), pad(word, state)) + files + "\n")
		if it.Summary != nil && *it.Summary != "" {
			b.WriteString("  " + s.paint(dim, cut(Harmless(*it.Summary), s.wide()-2)) + "\n")
		}
		if n := len(it.Flags); n > 0 {
			var rules []string
			for _, g := range it.Flags {
				rules = append(rules, Harmless(g.ID)+" "+Harmless(g.Rule))
			}
			b.WriteString("  " + s.paint(yellow, cut("flags: "+strings.Join(rules, ", "), s.wide()-2)) + "\n")
		}
		if it.State != fix.Proposed {
			for _, r := range it.Rescue {
				b.WriteString("  " + s.paint(dim, "kept: "+Harmless(r)) + "\n")
			}
		}
	}
	s.put(b.String())
}

// standing is state, verdict and what became of it in as few words as tell them apart.
func standing(it fix.Item) string {
	if it.State != fix.Proposed {
		return it.State
	}
	words := "no verdict"
	if it.Verdict != nil {
		words = *it.Verdict
	}
	if it.Disposition != "" && it.Disposition != "none" {
		words += ", " + it.Disposition
	}
	if partly(it.Applied, it.Files) {
		words += fmt.Sprintf(", %d of %d applied", len(it.Applied), len(it.Files))
	}
	return words
}

// partly says that some files of a patch were applied and some not.
func partly(applied, files []string) bool { return len(applied) > 0 && len(applied) < len(files) }

func standingColour(it fix.Item) string {
	if it.State != fix.Proposed {
		return dim
	}
	if it.Verdict != nil && *it.Verdict == "verified" {
		return green
	}
	return yellow
}

// Applied says what fix apply wrote, or would write.
func (s *Screen) Applied(f *fix.Fix, a fix.Applied, dry bool, again string) {
	var b strings.Builder
	what, in := "the fix for "+Harmless(f.Task)+" of run "+Harmless(f.Run), " is in the tree"
	if n := len(a.Files); f.Patch != nil && 0 < n && n < len(f.Patch.Files) {
		what, in = fmt.Sprintf("%d of %s of %s", n, count(len(f.Patch.Files), "file"), what), ""
	}
	switch {
	case a.Already:
		b.WriteString("already applied: " + what + in + "\n")
	case dry:
		b.WriteString("would apply " + what + " (nothing was written):\n")
	default:
		b.WriteString(s.paint(green, "✓") + " applied " + what + ":\n")
	}
	for _, p := range a.Files {
		b.WriteString("  " + Harmless(p) + "\n")
	}
	if !a.Already && !dry {
		if a.Note != "" {
			b.WriteString(s.paragraph(a.Note, "  "))
		}
		b.WriteString("Nothing was committed. To see that it holds:\n  " + s.paint(cyan, again) + "\n")
	}
	s.put(b.String())
}
