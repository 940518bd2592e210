// What would run and why (run --dry-run), and what there is to run (list).
package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A Planned is one task of a plan.
type Planned struct {
	Task  *pipeline.Task
	After []string // the selected tasks it waits for
	Why   string   // "asked for", "job verify", "needed by test"
	Cache string   // what the cache is expected to do: "cached", "runs: src/a.go changed"; empty for a task without inputs
}

// Plan shows the tasks in the order they start in.
func (s *Screen) Plan(plan []Planned, parallel int) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d at a time; nothing was run:\n", english.Count(len(plan), "task"), parallel)
	for i, p := range plan {
		name, why := taskName(p.Task.Name), p.Why
		if len(p.After) > 0 {
			why += ", after " + Harmless(strings.Join(TaskNames(p.After), ", "))
		}
		fmt.Fprintf(&b, "%3d. %s", i+1, s.paint(bold, name))
		if 5+columns(name)+2+columns(why) <= s.wide() {
			b.WriteString("  " + s.paint(dim, why) + "\n")
		} else {
			b.WriteString("\n")
			for _, line := range Wrap(why, s.wide()-5) {
				b.WriteString("     " + s.paint(dim, line) + "\n")
			}
		}
		b.WriteString("     " + does(p.Task) + "\n")
		if p.Cache != "" {
			for _, line := range Wrap(Harmless(p.Cache), s.wide()-5) {
				b.WriteString("     " + line + "\n")
			}
		}
	}
	s.put(b.String())
}

// Tasks lists the tasks and jobs of a configuration.
func (s *Screen) Tasks(c *pipeline.Config) {
	var b strings.Builder
	b.WriteString(s.paint(bold, "Tasks") + "\n")
	if len(c.Tasks) == 0 {
		b.WriteString("  none\n")
	}
	wide := 0
	for _, t := range c.Tasks {
		wide = max(wide, min(columns(taskName(t.Name)), 24))
	}
	for _, j := range c.Jobs {
		wide = max(wide, min(columns(Harmless(j.Name)), 24))
	}
	for _, t := range c.Tasks {
		about := Harmless(t.Description)
		if about == "" {
			about = does(t)
		}
		b.WriteString(s.entry(taskName(t.Name), cut(about, max(s.wide()-wide-4, 20)), wide))
		var more []string
		if t.Service != nil {
			more = append(more, "service")
		}
		if t.Agent != nil && t.Description != "" {
			more = append(more, "done by agent "+Harmless(t.Agent.Use))
		}
		if len(t.DependsOn) > 0 {
			more = append(more, "after "+Harmless(strings.Join(TaskNames(t.DependsOn), ", ")))
		}
		for _, h := range OnFail(t) {
			more = append(more, "on_fail: "+h)
		}
		if len(more) > 0 {
			for _, line := range s.hung(strings.Join(more, " · "), wide+4) {
				b.WriteString(s.paint(dim, line) + "\n")
			}
		}
	}
	if len(c.Jobs) > 0 {
		b.WriteString("\n" + s.paint(bold, "Jobs") + "\n")
		for _, j := range c.Jobs {
			tasks := cmp.Or(strings.Join(TaskNames(j.Tasks), ", "), "none")
			b.WriteString(s.entry(Harmless(j.Name), cut(Harmless(tasks), max(s.wide()-wide-4, 20)), wide))
		}
	}
	s.put(b.String())
}

// entry returns a name and a text behind it, or below it where a name that is wider than its column leaves too
// little space.
func (s *Screen) entry(name, about string, wide int) string {
	if columns(name) > wide && 2+columns(name)+2+columns(about) > s.wide() {
		return "  " + name + "\n" + strings.Repeat(" ", wide+4) + about + "\n"
	}
	return "  " + pad(name, wide) + "  " + about + "\n"
}

// OnFail names the hooks of a task: "agent claude", "run".
func OnFail(t *pipeline.Task) []string {
	var names []string
	for _, h := range t.OnFail {
		if h.Agent != nil {
			names = append(names, "agent "+Harmless(h.Agent.Use))
		}
		if h.Run != nil {
			names = append(names, "run")
		}
	}
	return names
}

// The result of init.

// Drafted is a PIPELINE.hcl that was just written.
type Drafted struct {
	File   string   // its path
	Found  []string // what it was made from
	Notes  []string // what was left out, and why
	Config *pipeline.Config
	Next   string // the command to type next

	// The lines of the file where the hook and its agent begin; 0 where there are none.
	HookLine, AgentLine int
	Agent               string // a CLI that is the hook's agent; empty: a program that has yet to be written
	Active              bool   // the hook is no comment
	HookTask            string // the one with the hook, where the agent was asked for and no task runs tests; else empty
	Lacks               string // why the agent cannot be asked yet; empty: it can
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
	switch {
	case d.HookLine == 0:
	case d.Active:
		b.WriteString("\nFixes are on\n")
		b.WriteString(s.hanging("  ", fmt.Sprintf("When a test fails, %s proposes a fix (line %d of %s). You review and apply it.", d.Agent,
			d.HookLine, s.Path(d.File))))
		if d.Lacks != "" {
			b.WriteString(s.hanging("  ", "Not yet: "+d.Lacks))
		}
	default:
		b.WriteString("\nFixes are off\n")
		fails := "a test fails"
		if d.HookTask != "" {
			b.WriteString(s.hanging("  ", fmt.Sprintf("No task here is known to run tests, so none asks %s yet.", d.Agent)))
			fails = TaskName(d.HookTask) + " fails"
		}
		text := fmt.Sprintf("To get a proposed fix when %s, take the # away from on_fail (line %d) and agent (line %d) of %s",
			fails, d.HookLine, d.AgentLine, s.Path(d.File))
		if d.Agent == "" {
			text += ", and put your agent's program into command"
		}
		b.WriteString(s.hanging("  ", text+"."))
		if d.Lacks != "" {
			b.WriteString(s.hanging("  ", "Before that: "+d.Lacks))
		}
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
