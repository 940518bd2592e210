// What an audit found: what differs from its record, and what cannot be checked.
package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// Audited has what was found in the folder of one run.
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
			b.WriteString(s.painted(dim, s.hanging("  - ", n.File+": "+n.Text)))
		}
	}
	switch {
	case len(runs) == 0:
		b.WriteString("There are no fixes here.\n")
	case faults == 0:
		b.WriteString("\nEverything is as it was recorded.\n")
	default:
		b.WriteString("\n" + s.coloured(red, english.Count(faults, "difference")+
			" from what was recorded: do not apply a fix whose evidence changed.", ""))
	}
	s.put(b.String())
}

// Runs that were imported from elsewhere.

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
			b.WriteString(s.aside("The folder is called " + Harmless(r.Called) + "; " + Harmless(r.Run) +
				" is the run's own id."))
		}
		if n := len(r.LeftOut); n > 0 {
			b.WriteString(s.aside("Left out: " + english.Count(n, "file") + " that no record of the run names: " +
				english.List(r.LeftOut, mostNames)))
		}
		for _, f := range r.Fixes {
			name := pad(taskName(cmp.Or(f.Name, f.Task)), 20)
			b.WriteString("  " + name + "  " + s.paint(standingColour(f), Harmless(standing(f))) + "\n")
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
	return s.paragraph("imported at "+Harmless(i.At)+" from "+Harmless(i.From)+
		": made and verified elsewhere; fix replay verifies it here", "  ")
}

// A repeated verification, beside the recorded one.

// Replayed is how a verification ended then and now.
type Replayed struct {
	Run, Task    string
	Same         bool
	Then, Now    string // a verdict, with its reason in brackets
	Verification *fix.Verification
	Rebuilt      *Rebuilt // nil: the patch was not made by a native agent
	Notes        []string
	Output       string // of the check that failed now; empty: none
}

// Rebuilt compares the patch with the changes that the calls of the transcript make.
type Rebuilt struct {
	Calls          int
	Why            string   // why nothing was compared; empty: it was
	FromCommands   []string // files
	Unknown        []string // lines, each of one file
	Contradictions []string // lines
}

// Replayed shows both verdicts, and the checks of the second.
func (s *Screen) Replayed(r Replayed) {
	var b strings.Builder
	word := s.paint(green, "same verdict")
	if !r.Same {
		word = s.paint(red, "different verdict")
	}
	b.WriteString(word + " for " + taskName(r.Task) + " of run " + Harmless(r.Run) + "\n")
	b.WriteString("  recorded  " + Harmless(r.Then) + "\n  now       " + Harmless(r.Now) + "\n")
	if r.Rebuilt != nil {
		b.WriteString(s.rebuilt(r.Rebuilt))
	}
	for _, n := range r.Notes {
		b.WriteString(s.aside(Harmless(n)))
	}
	s.section(&b, "Verification now", s.verification(&fix.Fix{State: fix.Proposed, Verification: r.Verification}))
	if !r.Same && strings.TrimSpace(r.Output) != "" {
		b.WriteString("\n" + s.paint(bold, "End of the check's output") + "\n" + s.paragraph(r.Output, quoted))
	}
	s.put(b.String())
}

// rebuilt shows whether the transcript leads to the patch.
func (s *Screen) rebuilt(r *Rebuilt) string {
	const label, indent = "  rebuilt   ", "            "
	const apart = "patch and transcript do not belong together"
	calls := "from " + english.Count(r.Calls, "call") + " of the transcript"
	if r.Calls == 0 {
		calls = "from no call of the transcript"
	}
	from := func(n int) string {
		if n == 1 {
			return "1 file is"
		}
		return english.Count(n, "file") + " are"
	}
	var text string
	switch n, m := len(r.FromCommands), len(r.Unknown); {
	case r.Why != "":
		text = "not compared: " + r.Why
	case len(r.Contradictions) > 0:
		text = apart
	case n+m == 0:
		text = calls + ": the same patch"
	default:
		text = calls
		if n > 0 {
			text += "; " + from(n) + " from commands: " + english.List(r.FromCommands, mostNames)
		}
		if m > 0 {
			text += "; " + from(m) + " not known"
		}
	}
	shown := label + strings.TrimPrefix(s.paragraph(text, indent), indent)
	if len(r.Contradictions) > 0 {
		shown = strings.Replace(shown, apart, s.paint(red, apart), 1)
	}
	for _, line := range slices.Concat(r.Contradictions, r.Unknown) {
		shown += s.paragraph(line, indent)
	}
	return shown
}
