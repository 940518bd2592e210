// A verification that was made once more, beside the one that is recorded.
package view

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// A Replayed is how a verification ended then and now.
type Replayed struct {
	Run, Task    string
	Same         bool
	Then, Now    string // a verdict, with its reason in brackets
	Verification *fix.Verification
	Notes        []string
	Output       string // of the check that failed now; empty: none
}

// Replayed shows both verdicts, and what the second was made of.
func (s *Screen) Replayed(r Replayed) {
	var b strings.Builder
	word := s.paint(green, "same verdict")
	if !r.Same {
		word = s.paint(red, "different verdict")
	}
	b.WriteString(word + " for " + Harmless(r.Task) + " of run " + Harmless(r.Run) + "\n")
	b.WriteString("  recorded  " + Harmless(r.Then) + "\n  now       " + Harmless(r.Now) + "\n")
	for _, n := range r.Notes {
		b.WriteString(s.aside(Harmless(n)))
	}
	s.section(&b, "Verification now", s.verification(&fix.Fix{State: fix.Proposed, Verification: r.Verification}))
	if !r.Same && strings.TrimSpace(r.Output) != "" {
		b.WriteString("\n" + s.paint(bold, "The end of what the check printed") + "\n" + s.paragraph(r.Output, quoted))
	}
	s.put(b.String())
}
