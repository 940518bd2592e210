// What is shown while the hooks of a failed task run, and how they ended.
package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// HookStarted shows which agent starts, its sandbox and its budget.
func (s *Screen) HookStarted(task, agent, tier string, attempts int, wallClock time.Duration) {
	s.put("\n" + s.heading(fmt.Sprintf("%s works on %s", Harmless(agent), taskName(task)), "in a copy of the tree") +
		s.aside(fmt.Sprintf("sandbox %s; budget: %s, %s", Harmless(tier), english.Count(attempts, "attempt"),
			Duration(wallClock))) +
		s.aside("The run is already recorded as failed; Ctrl-C stops only the fix."))
}

// RunHookStarted shows that an on_fail "run" starts.
func (s *Screen) RunHookStarted(task string) {
	s.put("\n" + s.paint(bold, `on_fail "run" of `+taskName(task)) + "\n")
}

// HookStep shows one step of a hook. left is the rest of the wall clock; 0: it has not started.
func (s *Screen) HookStep(task, text string, left time.Duration) { s.put(s.step(task, text, left)) }

func (s *Screen) step(task, text string, left time.Duration) string {
	indent := columns(taskName(task)) + 3
	below := "\n" + strings.Repeat(" ", indent)
	parts := Wrap(Harmless(text), max(s.wide()-indent, 30))
	line := s.paint(dim, taskName(task)+" ·") + " " + strings.Join(parts, below)
	if left > 0 {
		tail, between := "("+Duration(left)+" left)", " "
		if indent+columns(parts[len(parts)-1])+1+len(tail) > s.wide() {
			between = below
		}
		line += between + s.paint(dim, tail)
	}
	return line + "\n"
}

// RunHookDone shows how an on_fail "run" ended.
func (s *Screen) RunHookDone(task string, exit int, problem string, took time.Duration, log string) {
	if problem == "" && exit == 0 {
		s.Line("%s on_fail \"run\" of %s done %s", s.paint(green, "✓"), taskName(task), Duration(took))
		return
	}
	if problem == "" {
		problem = fmt.Sprintf("exit %d", exit)
	}
	mark, why := s.paint(yellow, "!"), Harmless(problem)
	s.Line("%s on_fail \"run\" of %s failed: %s %s", mark, taskName(task), why, Duration(took))
	s.Line("  The verdict of the run does not change.")
	if log != "" {
		s.Line("  log      %s", s.Path(log))
	}
}

// Commands are what a person types about one fix, and what the screen knows besides its record.
type Commands struct {
	Apply string   // the one command that applies it
	Dirty []string // files of the patch with uncommitted changes
	Show  string
	Heal  string // has another fix proposed
	Open  string // shows the open proposal because of which nothing was started; empty: there is none
	Dir   string // folder of the run; the paths of its record are relative to it

	Failed  []string // tests that failed in the run
	Failing []string // tests that failed with the patch
	Tail    []byte   // end of the output of the check that failed with the patch

	// For fix show; the zero values say nothing.
	Imported *fix.Imported // where the run was made, when not here
	Unfit    bool          // files have changed since the fix was made: Apply merges with --3way, or is empty
	Changed  []string      // which
	Refused  string        // any other reason why Apply would be refused
	Nothing  bool          // the tree has all its changes already
	Partly   []fix.Part    // files of which only some hunks are applied
}

// Outcome shows how an agent hook ended. The command that applies a proposal has a line of its own.
func (s *Screen) Outcome(f *fix.Fix, c Commands) {
	var b strings.Builder
	b.WriteByte('\n')
	if f.State != fix.Proposed {
		b.WriteString(s.worded(yellow, "No fix is proposed for "+taskName(f.Task), "", stateWord(f)))
		b.WriteString(s.paragraphIf(stateText(f)) + s.said(f))
		b.WriteString(s.rescues(f, c.Dir))
		b.WriteString(s.next(append(instead(f, c), Next{"details", c.Show})))
		s.put(b.String())
		return
	}
	verdict, colour := verdictOf(f)
	b.WriteString(s.worded(bold, "Proposed fix for "+taskName(f.Task), colour, verdict))
	b.WriteString(s.paragraph(verdictText(f), "  "))
	b.WriteString(s.withPatch(f, c))
	b.WriteString(s.said(f))
	b.WriteString(s.patchFiles(f))
	if verdict == unverified && len(f.Omitted) > 0 { // what it lacks may be in one of these
		b.WriteString(s.paragraph("Left out of copies, or of the patch: "+english.List(omitted(f), mostNames), "  "))
	}
	b.WriteString(s.flagLines(f))
	fits := !c.Unfit || c.Apply != ""
	if c.Unfit {
		merge := "The patch can be merged into them."
		if !fits {
			merge = "The patch cannot be merged into them."
		}
		b.WriteString(s.paragraph("Changed since the fix began: "+english.List(c.Changed, mostNames)+". "+merge, "  "))
	} else {
		b.WriteString(s.dirty(c))
	}
	next := []Next{{"review it", c.Show}}
	if (verdict == unverified || !fits) && c.Heal != "" {
		next = append(next, Next{"propose another", c.Heal})
	}
	b.WriteString("\n" + s.next(next))
	if verdict != unverified && fits {
		b.WriteString("\n" + s.title(applyTitle(f, "it")) + s.paint(bold, c.Apply) + "\n")
	}
	s.put(b.String())
}

// applyTitle returns the heading above the command that applies a fix.
func applyTitle(f *fix.Fix, what string) string {
	if len(f.Flags) > 0 {
		return "Once you have checked each flag, apply " + what + ":"
	}
	if verdict, _ := verdictOf(f); verdict == unverified {
		return "To start from it although it is unverified:"
	}
	return "Apply " + what + ":"
}

// instead lists what a person can type where no agent was started because of an earlier proposal.
func instead(f *fix.Fix, c Commands) []Next {
	switch code, _ := reasonOf(f); code {
	case fix.OpenProposal:
		if c.Open != "" {
			return []Next{{"review the open proposal", c.Open}}
		}
	case "rejected_proposal", "applied_proposal", "open_limit":
		if c.Heal != "" {
			return []Next{{"propose one anyway", c.Heal}}
		}
	}
	if c.Heal != "" && f.NextStep() != nil {
		return []Next{{"try again", c.Heal}}
	}
	return nil
}

// withPatch shows which tests the patch fixed and which not, and the end of what the failed check printed.
func (s *Screen) withPatch(f *fix.Fix, c Commands) string {
	var b strings.Builder
	var tests *fix.TestResults
	if f.Verification != nil {
		tests = f.Verification.Tests
	}
	if tests != nil {
		b.WriteString(s.testNames("fixed", Failing{Names: tests.Fixed}, 1))
		b.WriteString(s.testNames("failing", Failing{Names: tests.Failing}, 1))
		b.WriteString(s.testNames("broken", Failing{Names: tests.Broken}, 1))
		b.WriteString(s.testNames("flaky", Failing{Names: tests.Flaky}, 1))
		b.WriteString(s.testNames("others", Failing{Names: tests.Unchanged}, 1))
	}
	bad := failedCheck(f)
	if bad == nil {
		return b.String()
	}
	if failed, failing := c.Failed, c.Failing; tests != nil { // the record is better than the logs
	} else if len(failed) == 0 {
		b.WriteString(s.testNames("failing", Failing{Names: failing}, 1))
	} else if len(failing) > 0 {
		among := func(names, of []string, yes bool) Failing {
			return Failing{Names: slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(of, n) != yes })}
		}
		b.WriteString(s.testNames("fixed", among(failed, failing, false), 1))
		b.WriteString(s.testNames("failing", among(failed, failing, true), 1))
		b.WriteString(s.testNames("broken", among(failing, failed, false), 1))
	}
	if bad.Log != nil {
		b.WriteString(s.named("  ", "log ", joined(c.Dir, *bad.Log)))
	}
	return b.String() + s.tail(c.Tail, 10)
}

// worded returns a subject and, behind a colon or below it, a word about it.
func (s *Screen) worded(sgr, subject, colour, word string) string {
	said := word
	if colour != "" {
		said = s.paint(colour, word)
	}
	if columns(subject)+2+columns(word) <= s.wide() {
		return s.paint(sgr, subject) + ": " + said + "\n"
	}
	if colour == "" {
		return s.headed(sgr, subject+":") + s.paragraph(word, "  ")
	}
	return s.headed(sgr, subject+":") + "  " + said + "\n"
}

// mostFiles is how many files of a patch are listed.
const mostFiles = 40

// dirty names the files of the patch that have uncommitted changes.
func (s *Screen) dirty(c Commands) string {
	if len(c.Dirty) == 0 {
		return ""
	}
	return s.paragraph("Uncommitted changes in: "+english.List(c.Dirty, mostNames)+
		". The patch is applied on top of them; commit them first to keep the two apart.", "  ")
}

// patchFiles lists the files of the patch with the number of added and removed lines.
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

// flagLines lists the flags of the review.
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
			caps = " (this alone keeps the fix from being verified)"
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

// rescues names the patches that attempts left although nothing is proposed.
func (s *Screen) rescues(f *fix.Fix, dir string) string {
	var b strings.Builder
	for _, a := range f.Attempts {
		if a.Rescue != nil && *a.Rescue != "" {
			b.WriteString(s.paragraph(fmt.Sprintf("the changes of %s %d are kept in", rowWord(f.Attempts), a.Number),
				"  ") + "    " + s.Path(joined(dir, *a.Rescue)) + "\n")
		}
	}
	return b.String()
}

// kept names the rescue patches of a fix, also those of earlier fixes of the same failure.
func (s *Screen) kept(paths []string, dir string) string {
	var b strings.Builder
	b.WriteString(s.paragraph("none is proposed; an agent's changes are kept in", "  "))
	for _, p := range paths {
		b.WriteString("    " + s.Path(joined(dir, p)) + "\n")
	}
	return b.String()
}

// rowWord returns the word for the recorded attempts: attempts of the budget, unless some are retries within one.
func rowWord(rows []fix.Attempt) string {
	if slices.ContainsFunc(rows, func(a fix.Attempt) bool { return a.Decision != nil && a.Decision.Next != "stop" }) {
		return "try"
	}
	return "attempt"
}

// The tasks of a run that were not started, shown at its end: one by one where few have the same cause, else in one
// line.

// fewLeftOut is how many tasks that were skipped for one cause are named.
const fewLeftOut = 3

// A leftOut collects the skipped tasks of a run. One failure skips many at once, and a line for each would hide the
// failure.
type leftOut struct {
	causes []string // in the order in which they came
	tasks  map[string][]record.Task
}

func (l *leftOut) add(t record.Task) {
	if l.tasks == nil {
		l.tasks = map[string][]record.Task{}
	}
	cause := why(t)
	if l.tasks[cause] == nil {
		l.causes = append(l.causes, cause)
	}
	l.tasks[cause] = append(l.tasks[cause], t)
}

// take returns the lines for what was collected, and forgets it.
func (l *leftOut) take(s *Screen) []string {
	var lines []string
	for _, cause := range l.causes {
		tasks := l.tasks[cause]
		if len(tasks) > fewLeftOut {
			lines = append(lines, s.told(s.paint(yellow, "–"), english.Count(len(tasks), "task"),
				"skipped ("+cause+")"))
			continue
		}
		for _, t := range tasks {
			lines = append(lines, s.end(t))
		}
	}
	*l = leftOut{}
	return lines
}
