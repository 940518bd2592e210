// A run: why each task ended as it did, what the hooks did about it, and where the time went.
package view

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// RunStory has what `explain --run` shows.
type RunStory struct {
	Run     record.Run
	Sealed  bool // false: there is no verdict
	Live    bool // still running
	Dir     string
	Path    []Stretch           // the critical path
	Waited  map[string][]string // what each task waits for
	Failing map[string]Failing  // by task
	Hooks   []HookStory
	Type    []Next
}

// HookStory has what one hook did about one failure.
type HookStory struct {
	Task string
	Fix  *fix.Proposal // of an on_fail "agent"
	Run  *fix.HookRun  // of an on_fail "run"
}

// ExplainRun shows how a run ended.
func (s *Screen) ExplainRun(r RunStory, now time.Time) {
	var b strings.Builder
	b.WriteString(s.runHead(r, now))
	for _, t := range r.Run.Tasks {
		switch t.Status {
		case record.Passed, record.Cached, record.Skipped:
		default:
			b.WriteString("\n" + s.whyEnded(t, r))
		}
	}
	b.WriteString(s.skipped(r.Run.Tasks))
	b.WriteString(s.passed(r.Run.Tasks))
	if len(r.Path) > 1 {
		b.WriteString(s.wherePath(r))
	}
	for _, h := range r.Hooks {
		b.WriteString("\n" + s.hookStory(h))
	}
	if r.Sealed && r.Run.Status == record.Failed && len(r.Hooks) == 0 {
		b.WriteString("\n" + s.words("No hook ran: "+noHook(r.Run.Healing)+".", ""))
	}
	if len(r.Type) > 0 {
		b.WriteString("\n" + s.next(r.Type))
	}
	s.put(b.String())
}

// words returns a paragraph of our text with names that others chose: their line ends are made visible.
func (s *Screen) words(text, indent string) string { return s.paragraph(Harmless(text), indent) }

func noHook(h record.Healing) string {
	switch {
	case h.Mode != "on" && h.Reason != nil:
		return "fixes were off: " + *h.Reason
	case h.Mode != "on":
		return "fixes were off"
	}
	return "the failed tasks have no on_fail, or the run was ended before it started"
}

func (s *Screen) runHead(r RunStory, now time.Time) string {
	var b strings.Builder
	head := "Run " + s.paint(bold, Harmless(r.Run.ID))
	took := " after " + Duration(time.Duration(r.Run.DurationMS)*time.Millisecond)
	switch {
	case r.Live:
		head += " " + s.paint(cyan, "is running") + "; started " + ago(r.Run.StartedAt.Time, now)
	case !r.Sealed:
		head += " was " + s.paint(yellow, "ended before its verdict") + "; started " + ago(r.Run.StartedAt.Time, now)
	default:
		head += " " + s.paint(runColour(r.Run.Status), verdictWord(r.Run.Status)) + took + fmt.Sprintf(" (exit %d), ",
			r.Run.ExitCode) + ago(r.Run.StartedAt.Time, now)
	}
	b.WriteString(head + "\n")
	f := facts{s: s, b: &b}
	if r.Run.Job != nil {
		f.add("job", *r.Run.Job)
	}
	if g := r.Run.Git; g != nil {
		f.add("commit", gitText(g))
	}
	if r.Run.CI {
		f.add("CI", "yes")
	}
	f.add("recorded", s.Path(r.Dir))
	if !r.Sealed && !r.Live {
		f.add("", "Only what is shown here is known: a task that was running then may not have passed.")
	}
	return b.String()
}

func verdictWord(status string) string {
	if status == record.Interrupted {
		return "was interrupted"
	}
	return Harmless(status)
}

func gitText(g *record.Git) string {
	text := "none"
	if g.Commit != nil {
		text = upToRunes(*g.Commit, 12)
	}
	if g.Branch != nil {
		text += " on " + *g.Branch
	}
	if g.Dirty != nil && *g.Dirty {
		text += ", with uncommitted changes"
	}
	return text
}

func upToRunes(text string, n int) string {
	r := []rune(text)
	return string(r[:min(len(r), n)])
}

// whyEnded shows a task that did not pass, or one that is running.
func (s *Screen) whyEnded(t record.Task, r RunStory) string {
	var b strings.Builder
	mark, colour := "✗", red
	switch t.Status {
	case record.Cancelled, Lost, "":
		mark, colour = "–", yellow
	case Running:
		mark, colour = "…", cyan
	}
	standing := standingOf(t)
	if t.DurationMS != nil {
		standing = endedAfter(t)
	}
	name := taskName(t.Name)
	lines := Wrap(name+" "+standing, s.wide()-2)
	if rest, ok := strings.CutPrefix(lines[0], name); ok {
		lines[0] = s.paint(bold, name) + rest
	}
	b.WriteString(s.paint(colour, mark) + " " + strings.Join(lines, "\n  ") + "\n")
	for _, why := range whyWords(t) {
		b.WriteString(s.words(why, "  "))
	}
	b.WriteString(s.wasFlaky(t))
	b.WriteString(s.waited(r, t))
	b.WriteString(s.logOf(r.Dir, t))
	b.WriteString(s.failingTests(r.Failing[t.Name]))
	return b.String()
}

// wasFlaky shows what another run proves about a task.
func (s *Screen) wasFlaky(t record.Task) string {
	if text := flakyText(t); text != "" {
		return s.words("Flaky: it "+strings.Replace(text, " now", " here", 1)+".", "  ")
	}
	return ""
}

// waited shows what a task waited for.
func (s *Screen) waited(r RunStory, t record.Task) string {
	if len(r.Waited[t.Name]) == 0 {
		return ""
	}
	return s.words("It waited for "+english.List(TaskNames(r.Waited[t.Name]), mostNames)+".", "  ")
}

// logOf shows where the log of a task is. A path that leads out of the folder of the run is ignored.
func (s *Screen) logOf(dir string, t record.Task) string {
	if t.Log == nil || !filepath.IsLocal(filepath.FromSlash(t.Log.Path)) {
		return ""
	}
	return "  log  " + s.Path(joined(dir, t.Log.Path)) + "\n"
}

// standingOf returns how a task ended, also in a run without a verdict.
func standingOf(t record.Task) string {
	switch t.Status {
	case "":
		return "had not started"
	case Lost:
		return "was running when the run was ended"
	}
	return ended(t)
}

// whyWords explains how a task ended.
func whyWords(t record.Task) []string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch t.Status {
	case record.TimedOut:
		add("It took longer than its timeout and was ended.")
	case record.Cancelled:
		add("It was running when the run was interrupted. Whether it would have passed is not known.")
	case record.Failed:
		switch {
		case t.Error != nil && t.ExitCode != nil:
			add("Its recorded exit code is %d.", *t.ExitCode)
		case t.Error != nil && t.StartedAt == nil:
			add("No process of it was started.")
		case t.Error != nil:
			add("It could not be completed.")
		case t.Signal != nil:
			add("Its command was ended by %s, from outside or by a limit of the machine (SIGKILL is often memory).", *t.Signal)
		case t.ExitCode != nil && *t.ExitCode == 127:
			add("Exit code 127 usually means that a command was not found.")
		case t.ExitCode != nil && *t.ExitCode == 126:
			add("Exit code 126 usually means that a command may not be executed.")
		case t.ExitCode != nil && *t.ExitCode > 128 && *t.ExitCode < 128+65:
			add("An exit code above 128 usually means that a program was ended by a signal, here %d.", *t.ExitCode-128)
		case t.ExitCode != nil:
			add("Its command ended with exit code %d.", *t.ExitCode)
		}
	}
	if t.ProcessesLeft != nil && *t.ProcessesLeft > 0 {
		add("It left %s running, which were ended.", english.Count(*t.ProcessesLeft, "process"))
	}
	if t.Hint != nil && *t.Hint != "" {
		add("Hint: %s", *t.Hint)
	}
	return words
}

// skipped names the tasks that were not started, by reason.
func (s *Screen) skipped(tasks []record.Task) string {
	var reasons []string
	names := map[string][]string{}
	for _, t := range tasks {
		if t.Status != record.Skipped {
			continue
		}
		reason := skipReason(t)
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], TaskName(t.Name))
	}
	var b strings.Builder
	for _, reason := range reasons {
		tasks := english.Count(len(names[reason]), "task")
		b.WriteString("\n" + s.hanging(s.paint(yellow, "–")+" ", tasks+" not started: "+reason))
		b.WriteString(s.words(english.List(names[reason], mostNames), "  "))
	}
	return b.String()
}

func skipReason(t record.Task) string {
	by := "another task"
	if t.BlockedBy != nil {
		by = taskName(*t.BlockedBy)
	}
	reason := ""
	if t.Reason != nil {
		reason = *t.Reason
	}
	switch pipeline.Reason(reason) {
	case pipeline.FailFast:
		return by + " failed, and nothing starts after the first failure"
	case pipeline.Dependency:
		return by + ", which it depends on, did not pass"
	case pipeline.Signal:
		return "the run was interrupted"
	}
	return why(t)
}

// passed names the tasks that passed.
func (s *Screen) passed(tasks []record.Task) string {
	var names []string
	left := 0
	for _, t := range tasks {
		if t.Status == record.Passed || t.Status == record.Cached {
			names = append(names, TaskName(t.Name))
			if t.ProcessesLeft != nil {
				left += *t.ProcessesLeft
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := "\n" + s.paint(green, "✓") + " " + english.Count(len(names),
		"task") + " passed\n" + s.words(english.List(names, mostNames), "  ")
	if left > 0 {
		text += s.words("They left "+english.Count(left, "process")+" running, which were ended.", "  ")
	}
	return text
}

// wherePath shows the critical path.
func (s *Screen) wherePath(r RunStory) string {
	sum := time.Duration(0)
	words := make([]string, len(r.Path))
	for i, p := range r.Path {
		sum += p.Took
		words[i] = TaskName(p.Task) + " " + Duration(p.Took)
	}
	if len(words) > 12 {
		words = append(append(words[:6:6], "…"), words[len(words)-5:]...)
	}
	return "\n" + s.words("Critical path: "+strings.Join(words, " → ")+" ("+Duration(sum)+" of "+
		Duration(time.Duration(r.Run.DurationMS)*time.Millisecond)+
		"). To make the run faster, make one of these faster or shorten the chain.", "")
}

// hookStory shows what a hook did.
func (s *Screen) hookStory(h HookStory) string {
	if r := h.Run; r != nil {
		took := " after " + Duration(time.Duration(r.DurationMS)*time.Millisecond)
		end := s.paint(green, "done")
		switch {
		case r.Error != "" && (r.ExitCode == nil || r.Error != record.Failed):
			return s.words("on_fail \"run\" of "+TaskName(h.Task)+": failed"+took+": "+r.Error, "")
		case r.ExitCode != nil && *r.ExitCode != 0:
			end = s.paint(yellow, fmt.Sprintf("failed: exit %d", *r.ExitCode))
		}
		return "on_fail \"run\" of " + taskName(h.Task) + ": " + end + took + "\n"
	}
	f := h.Fix
	var b strings.Builder
	head := "on_fail \"agent\" of " + taskName(h.Task) + ":"
	between := func(text string) string {
		if columns(head)+1+columns(text) > s.headRoom() {
			return "\n  "
		}
		return " "
	}
	if f.State != fix.Proposed {
		text := stateWord(&f.Fix)
		b.WriteString(head + between(text) + s.paint(yellow, text) + "\n")
		b.WriteString(s.paragraphIf(stateText(&f.Fix)))
	} else {
		word, colour := verdictOf(&f.Fix)
		before, after := "a fix is proposed, ", ", "+Harmless(f.Disposition)
		b.WriteString(head + between(before+word+after) + before + s.paint(colour, word) + after + "\n")
		b.WriteString(s.paragraph(verdictText(&f.Fix), "  "))
	}
	b.WriteString(s.attemptsOf(&f.Fix))
	b.WriteString(s.said(&f.Fix))
	return b.String()
}

// attemptsOf shows each attempt in a line.
func (s *Screen) attemptsOf(f *fix.Fix) string {
	var b strings.Builder
	for _, a := range f.Attempts {
		line := fmt.Sprintf("%s %d by %s", rowWord(f.Attempts), a.Number, a.Agent)
		if a.DurationMS > 0 {
			line += ", " + took(a.DurationMS)
		}
		if a.Kind != nil && *a.Kind != "" {
			line += ", ended with " + *a.Kind
		}
		b.WriteString(s.words(line, "  "))
	}
	return b.String()
}
