// The result of init.
package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// Drafted is a PIPELINE.hcl that was just written.
type Drafted struct {
	File   string   // its path
	Found  []string // what it was made from
	Notes  []string // what was left out, and why
	Config *pipeline.Config
	Next   string // the command to type next

	// The lines of the file where the commented-out hook and its agent begin; 0 where there are none.
	HookLine, AgentLine int
}

// Drafted shows what was found, the tasks, and what to type next.
func (s *Screen) Drafted(d Drafted) {
	var b strings.Builder
	b.WriteString(s.paint(green, "✓") + " wrote " + s.paint(bold, s.Path(d.File)) + "; it is yours to change\n\n")
	found := d.Found
	if len(found) == 0 {
		found = []string{"no known kind of project: the task is an example"}
	}
	b.WriteString(s.items("Found", found))
	s.put(b.String())
	s.Tasks(d.Config)
	b.Reset()
	b.WriteString("\n")
	if len(d.Notes) > 0 {
		b.WriteString(s.items("Left out, or worth knowing", d.Notes))
	}
	b.WriteString("Next\n  " + s.paint(bold, d.Next) + "\n")
	if d.HookLine > 0 {
		b.WriteString("\nFixes are off\n")
		text := fmt.Sprintf("To get a proposed fix when a test fails, take the # away from on_fail (line %d) and agent (line %d) of %s, "+
			"and put your agent's program into command.", d.HookLine, d.AgentLine, s.Path(d.File))
		b.WriteString(s.hanging("  ", text))
	}
	s.put(b.String())
}

// items returns a heading and a list below it, with an empty line after.
func (s *Screen) items(heading string, items []string) string {
	var b strings.Builder
	b.WriteString(s.paint(bold, heading) + "\n")
	for _, item := range items {
		b.WriteString(s.hanging("  - ", item))
	}
	return b.String() + "\n"
}
