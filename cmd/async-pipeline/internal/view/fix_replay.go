// A repeated verification, beside the recorded one.
package view

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

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
	b.WriteString(word + " for " + Harmless(r.Task) + " of run " + Harmless(r.Run) + "\n")
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
