// All fixes, one below the other, newest first.
package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// Fixes shows the table of `fix list`. dir returns the folder of an item's run, better the command that applies an
// older proposal that is verified.
func (s *Screen) Fixes(items []fix.Item, dir, better func(fix.Item) string) {
	run, task, state := len("RUN"), len("TASK"), len("STATE")
	for _, it := range items {
		run = max(run, min(columns(Harmless(it.Run)), 24))
		task = max(task, min(columns(taskName(cmp.Or(it.Name, it.Task))), 20))
		if !partly(it.Applied, it.Files) && len(it.Partly) == 0 {
			state = max(state, columns(Harmless(standing(it))))
		}
	}
	var b strings.Builder
	if run+task+state+11 <= s.wide() {
		b.WriteString(s.paint(bold, pad("RUN", run)+"  "+pad("TASK", task)+"  "+pad("STATE", state)+"  FILES") + "\n")
	}
	for _, it := range items {
		word, files := Harmless(standing(it)), fmt.Sprintf("  %d", len(it.Files))
		if partly(it.Applied, it.Files) || len(it.Partly) > 0 || it.State != fix.Proposed {
			files = "" // the state has the number
		}
		lead := pad(Harmless(it.Run), run) + "  " + pad(taskName(cmp.Or(it.Name, it.Task)), task)
		fits := func(word string) bool { return columns(lead)+2+columns(word+files) <= s.wide() }
		switch {
		case fits(pad(word, state)) && files != "":
			b.WriteString(lead + "  " + s.paint(standingColour(it), pad(word, state)) + files + "\n")
		case fits(word):
			b.WriteString(lead + "  " + s.paint(standingColour(it), word) + files + "\n")
		default:
			if files != "" {
				files = ", " + english.Count(len(it.Files), "file")
			}
			s.head(&b, strings.TrimRight(lead, " "))
			b.WriteString("  " + s.paint(standingColour(it), word) + files + "\n")
		}
		for _, part := range it.Partly {
			b.WriteString(s.paragraph("applied of "+part.Path+": "+hunks(part), "  "))
		}
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
		if it.Verified != nil {
			b.WriteString(s.better(*it.Verified, better(it)))
		}
		b.WriteString(s.later(it.Later, "  "))
		b.WriteString(s.since(it.PassedIn, it.RecurredIn, "  "))
		b.WriteString(s.without(it.Without, "  "))
		if it.Fits != nil && !*it.Fits {
			b.WriteString(s.coloured(yellow, "its files have changed since; it no longer applies as it is", "  "))
		}
		if it.State != fix.Proposed {
			if why := because(it.Reason, it.Kind); why != "" && (it.Summary == nil || *it.Summary == "") {
				b.WriteString("  " + s.paint(dim, cut(Harmless(why), s.wide()-2)) + "\n")
			}
			for _, r := range it.Rescue {
				for line := range strings.Lines(s.named("  ", "kept:", joined(dir(it), r))) {
					b.WriteString("  " + s.paint(dim, strings.TrimSpace(line)) + "\n")
				}
			}
		}
	}
	s.put(b.String())
}

// standing returns state, verdict and disposition in a few words.
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
	if it.Edited {
		words += " as edited"
	}
	if partly(it.Applied, it.Files) {
		words += fmt.Sprintf(", %d of %d applied", len(it.Applied), len(it.Files))
	} else if len(it.Partly) > 0 && it.Disposition == fix.Open {
		words += ", partly applied"
	}
	return words
}

// partly reports whether some files of a patch were applied and some not.
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

// since shows the runs in which the task passed, or failed again, after the fix was applied.
func (s *Screen) since(passed *string, again []string, indent string) string {
	text := ""
	if passed != nil {
		text = s.coloured(dim, "passed since: run "+*passed, indent)
	}
	if n := len(again); n > 0 {
		words := "failed again the same way: run " + again[n-1]
		if n > 1 {
			words += fmt.Sprintf(" and %d before", n-1)
		}
		text += s.coloured(red, words, indent)
	}
	return text
}

// later shows how a later fix of the same failure ended.
func (s *Screen) later(l *fix.Later, indent string) string {
	if l == nil {
		return ""
	}
	text := "Later: " + TaskName(l.Name) + " " + l.State
	if why := because(l.Reason, l.Kind); why != "" {
		text += ": " + why
	}
	return s.paragraph(text, indent)
}

// better shows that an older proposal is verified, and the command that applies it.
func (s *Screen) better(name, command string) string {
	line := "  " + taskName(name) + " is verified:"
	if columns(line)+1+columns(command) > s.wide() {
		return s.paragraph(TaskName(name)+" is verified:", "  ") + "  " + command + "\n"
	}
	return line + " " + command + "\n"
}

// because returns why a fix ended as it did, in a line; empty where that is not recorded.
func because(reason, kind *string) string {
	switch {
	case reason != nil && *reason != "":
		return strings.Join(strings.Fields(*reason), " ")
	case kind != nil:
		return *kind
	}
	return ""
}

// without shows that a task passes although its fix was never applied.
func (s *Screen) without(run *string, indent string) string {
	if run == nil {
		return ""
	}
	if indent == "" {
		return "\n" + s.paragraph("The task has passed without it since run "+*run+".", "")
	}
	return s.coloured(dim, "passes without it since run "+*run, indent)
}
