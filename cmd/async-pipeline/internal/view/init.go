package view

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A Drafted is a PIPELINE.hcl that was just written.
type Drafted struct {
	File   string   // its path
	Found  []string // what it was made from
	Notes  []string // what was seen and left out, and why
	Config *pipeline.Config
	Next   string // the command to type next
}

// Drafted says what was found, what the tasks are and what to type next.
func (s *Screen) Drafted(d Drafted) {
	var b strings.Builder
	b.WriteString(s.paint(green, "✓") + " wrote " + s.paint(bold, s.Path(d.File)) + "; it is yours to change\n\n")
	found := d.Found
	if len(found) == 0 {
		found = []string{"nothing that this program knows how to check: the task is an example"}
	}
	b.WriteString(s.items("Found", found))
	s.put(b.String())
	s.Tasks(d.Config)
	b.Reset()
	b.WriteString("\n")
	if len(d.Notes) > 0 {
		b.WriteString(s.items("Left out, or worth a look", d.Notes))
	}
	b.WriteString("Next\n  " + s.paint(bold, d.Next) + "\n")
	s.put(b.String())
}

// items is a heading and a list under it, with an empty line after.
func (s *Screen) items(heading string, items []string) string {
	var b strings.Builder
	b.WriteString(s.paint(bold, heading) + "\n")
	for _, item := range items {
		lead := "  - "
		for _, line := range Wrap(Harmless(item), s.wide()-len(lead)) {
			b.WriteString(lead + line + "\n")
			lead = "    "
		}
	}
	return b.String() + "\n"
}
