// What is shown while hooks answer a failure, and what came of it.
package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// HookStarted says who begins to work, how far it is confined, and what it may spend.
func (s *Screen) HookStarted(task, agent, tier string, attempts int, wallClock time.Duration) {
	s.put("\n" + s.heading(fmt.Sprintf("%s works on %s", Harmless(agent), Harmless(task)), "in a copy of the tree") +
		s.aside(fmt.Sprintf("sandbox %s; budget %s and %s", Harmless(tier), count(attempts, "attempt"), Duration(wallClock))) +
		s.aside("The run is already recorded as failed; Ctrl-C ends only the healing."))
}

// RunHookStarted says that an on_fail "run" begins.
func (s *Screen) RunHookStarted(task string) {
	s.put("\n" + s.paint(bold, `on_fail "run" of `+Harmless(task)) + "\n")
}

// HookStep is one thing that happened; left is what is left of the wall clock, 0 before it started.
func (s *Screen) HookStep(task, text string, left time.Duration) { s.put(s.step(task, text, left)) }

func (s *Screen) step(task, text string, left time.Duration) string {
	lead := s.paint(dim, Harmless(task)+" ·") + " "
	tail := ""
	if left > 0 {
		tail = "(" + Duration(left) + " left)"
	}
	indent := columns(Harmless(task)) + 3
	var b strings.Builder
	words := Harmless(text)
	parts := Wrap(words, max(s.wide()-indent, 30))
	for i, part := range parts {
		if i == 0 {
			b.WriteString(lead + part)
		} else {
			b.WriteString("\n" + strings.Repeat(" ", indent) + part)
		}
	}
	if tail != "" {
		if indent+columns(parts[len(parts)-1])+1+len(tail) > s.wide() {
			b.WriteString("\n" + strings.Repeat(" ", indent-1))
		}
		b.WriteString(" " + s.paint(dim, tail))
	}
	return b.String() + "\n"
}

// RunHookDone says how an on_fail "run" ended.
func (s *Screen) RunHookDone(task string, exit int, problem string, took time.Duration, log string) {
	if problem == "" && exit == 0 {
		s.Line("%s on_fail \"run\" of %s done %s", s.paint(green, "✓"), Harmless(task), Duration(took))
		return
	}
	if problem == "" {
		problem = fmt.Sprintf("exit %d", exit)
	}
	s.Line("%s on_fail \"run\" of %s failed: %s %s", s.paint(yellow, "!"), Harmless(task), Harmless(problem), Duration(took))
	s.Line("  This changes nothing in the verdict.")
	if log != "" {
		s.Line("  log      %s", s.Path(log))
	}
}

// Commands are what a person types about one fix.
type Commands struct {
	Apply string   // the one command that applies it
	Dirty []string // files of the patch with changes that are not committed
	Show  string
	Dir   string // folder of the run; the paths of its record are relative to it

	Imported *fix.Imported // where the run was made, when not here

	// For fix show; empty where it has nothing to say.
	Heal    string     // has another fix made
	Unfit   bool       // files are no longer as the fix found them: Apply merges with --3way, or is empty
	Changed []string   // which
	Refused string     // any other reason why Apply would be refused
	Nothing bool       // all of it is in the tree already, by whoever
	Partly  []fix.Part // files of which only some hunks are applied
	Failing []string   // names of the tests that failed with the patch
}

// Outcome shows what came of an agent hook, with the command that applies a proposal on a line of its own.
func (s *Screen) Outcome(f *fix.Fix, c Commands) {
	var b strings.Builder
	b.WriteByte('\n')
	if f.State != fix.Proposed {
		b.WriteString(s.worded(yellow, "No fix is proposed for "+Harmless(f.Task), "", stateWord(f.State)))
		b.WriteString(s.paragraphIf(stateText(f)) + s.said(f))
		b.WriteString(s.rescues(f, c.Dir))
		b.WriteString(s.next([]Next{{"look at it", c.Show}}))
		s.put(b.String())
		return
	}
	verdict, colour := verdictOf(f)
	b.WriteString(s.worded(bold, "Proposed fix for "+Harmless(f.Task), colour, verdict))
	b.WriteString(s.paragraph(verdictText(f), "  "))
	if bad := failedCheck(f); bad != nil {
		b.WriteString(s.failingTests(Failing{Names: c.Failing}, 1))
		if bad.Log != nil {
			b.WriteString(s.named("  ", "log ", joined(c.Dir, *bad.Log))) // with more before it, it would not fit
		}
	}
	b.WriteString(s.said(f))
	b.WriteString(s.patchFiles(f))
	b.WriteString(s.flagLines(f))
	b.WriteString(s.dirty(c))
	b.WriteString("\n" + s.next([]Next{{"look at it first", c.Show}}) + s.paragraph("then apply it     with this command, which only you can give:", "  ") + "\n")
	b.WriteString(s.paint(bold, c.Apply) + "\n")
	s.put(b.String())
}

// worded is a subject and, behind a colon or below it, a word about it.
func (s *Screen) worded(sgr, subject, colour, word string) string {
	said := word
	if colour != "" {
		said = s.paint(colour, word)
	}
	if columns(subject)+2+columns(word) <= s.wide() {
		return s.paint(sgr, subject) + ": " + said + "\n"
	}
	var b strings.Builder
	for i, line := range Wrap(subject+":", s.wide()-2) {
		if i > 0 {
			line = "  " + line
		}
		b.WriteString(s.paint(sgr, line) + "\n")
	}
	if colour == "" {
		return b.String() + s.paragraph(word, "  ")
	}
	return b.String() + "  " + said + "\n"
}

// mostFiles is how many files of a patch are listed; the patch itself has them all.
const mostFiles = 40

// dirty says what of the patch has uncommitted changes: they stay, and the patch goes on top.
func (s *Screen) dirty(c Commands) string {
	if len(c.Dirty) == 0 {
		return ""
	}
	return s.paragraph("Not committed: "+list(c.Dirty)+". The patch goes on top of what you changed; commit it first if you want to tell the two apart.", "  ")
}

// patchFiles lists the files of the patch with their added and removed lines.
func (s *Screen) patchFiles(f *fix.Fix) string {
	if f.Patch == nil {
		return ""
	}
	var b strings.Builder
	wide := 0
	for _, p := range f.Patch.Files {
		wide = max(wide, min(columns(Harmless(p.Path)), 56, s.wide()-24))
	}
	for i, p := range f.Patch.Files {
		if i == mostFiles {
			fmt.Fprintf(&b, "  and %d more files\n", len(f.Patch.Files)-i)
			break
		}
		added, removed := fmt.Sprintf("+%d", p.Added), fmt.Sprintf("−%d", p.Removed)
		counts := s.paint(green, added) + " " + s.paint(red, removed)
		if 2+8+2+max(columns(Harmless(p.Path)), wide)+2+columns(added+" "+removed) > s.wide() {
			b.WriteString("  " + pad(p.Change, 8) + "  " + counts + "\n    " + Harmless(p.Path) + "\n")
			continue
		}
		b.WriteString("  " + pad(p.Change, 8) + "  " + pad(Harmless(p.Path), wide) + "  " + counts + "\n")
	}
	return b.String()
}

// flagLines lists the gaming report, one flag a line.
func (s *Screen) flagLines(f *fix.Fix) string {
	if len(f.Flags) == 0 {
		return ""
	}
	var b strings.Builder
	for _, g := range f.Flags {
		place := ""
		if g.Path != nil {
			place = Harmless(*g.Path)
			if g.Line != nil {
				place += fmt.Sprintf(":%d", *g.Line)
			}
		}
		caps := ""
		if g.Caps {
			caps = " (by itself this keeps the fix from being verified)"
		}
		rule := Harmless(g.ID) + " " + Harmless(g.Rule)
		between := "  "
		if 2+columns(rule)+2+columns(place) > s.wide() {
			between = "\n     "
		}
		b.WriteString("  " + s.paint(yellow, rule) + between + place + "\n")
		if text := Harmless(g.Detail) + caps; strings.TrimSpace(text) != "" {
			b.WriteString(s.paragraph(text, "     "))
		}
	}
	return b.String()
}

// rescues names what attempts left behind although nothing is proposed.
func (s *Screen) rescues(f *fix.Fix, dir string) string {
	var b strings.Builder
	for _, a := range f.Attempts {
		if a.Rescue != nil && *a.Rescue != "" {
			b.WriteString(s.paragraph(fmt.Sprintf("what %s %d changed is kept in", rowWord(f.Attempts), a.Number), "  ") + "    " + s.Path(joined(dir, *a.Rescue)) + "\n")
		}
	}
	return b.String()
}

// kept names the rescue patches of a fix, those of earlier healings of the same failure too.
func (s *Screen) kept(paths []string, dir string) string {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString(s.paragraph("none is proposed; what an agent changed is kept in", "  ") + "    " + s.Path(joined(dir, p)) + "\n")
	}
	return b.String()
}

// rowWord is what the rows of a healing are called: attempts of the budget, unless some are further tries of one.
func rowWord(rows []fix.Attempt) string {
	if slices.ContainsFunc(rows, func(a fix.Attempt) bool { return a.Decision != nil && a.Decision.Next != "stop" }) {
		return "try"
	}
	return "attempt"
}
