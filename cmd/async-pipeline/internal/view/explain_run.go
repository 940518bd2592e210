// A run in words: why each task ended as it did, what the hooks did about it, and where the time went.
package view

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A RunStory is what `explain --run` tells.
type RunStory struct {
	Run     record.Run
	Sealed  bool // false: there is no verdict
	Live    bool // it goes on
	Dir     string
	Path    []Stretch           // the critical path
	Waited  map[string][]string // what each task waits for
	Failing map[string]Failing  // by task
	Hooks   []HookStory
	Type    []Next
}

// A HookStory is what one hook did about one failure.
type HookStory struct {
	Task string
	Fix  *fix.Proposal // of an on_fail "agent"
	Run  *fix.HookRun  // of an on_fail "run"
}

// ExplainRun tells it.
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
		b.WriteString("\n" + s.words("No hook answered: "+noHook(r.Run.Healing)+".", ""))
	}
	if len(r.Type) > 0 {
		b.WriteString("\n" + s.next(r.Type))
	}
	s.put(b.String())
}

// words is text of ours with names in it that somebody else chose: no line end of theirs begins a line.
func (s *Screen) words(text, indent string) string { return s.paragraph(Harmless(text), indent) }

func noHook(h record.Healing) string {
	switch {
	case h.Mode != "on" && h.Reason != nil:
		return "healing was " + h.Mode + " (" + *h.Reason + ")"
	case h.Mode != "on":
		return "healing was " + h.Mode
	}
	return "the failed tasks have no on_fail that could, or it was ended before it could begin"
}

func (s *Screen) runHead(r RunStory, now time.Time) string {
	var b strings.Builder
	head := "Run " + s.paint(bold, Harmless(r.Run.ID))
	took := " after " + Duration(time.Duration(r.Run.DurationMS)*time.Millisecond)
	switch {
	case r.Live:
		head += " " + s.paint(cyan, "goes on") + "; begun " + ago(r.Run.StartedAt.Time, now)
	case !r.Sealed:
		head += " was " + s.paint(yellow, "ended before its verdict") + "; begun " + ago(r.Run.StartedAt.Time, now)
	default:
		head += " " + s.paint(runColour(r.Run.Status), verdictWord(r.Run.Status)) + took + fmt.Sprintf(" (exit %d), ", r.Run.ExitCode) + ago(r.Run.StartedAt.Time, now)
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
		f.add("", "Nothing may be concluded from it but what stands here: what ran when it was ended is not known to have passed.")
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
		text += ", with changes that were not committed"
	}
	return text
}

func upToRunes(text string, n int) string {
	r := []rune(text)
	return string(r[:min(len(r), n)])
}

// whyEnded tells of a task that did not pass, or of one that runs.
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
	name := Harmless(t.Name)
	lines := Wrap(name+" "+standing, s.wide()-2)
	if rest, ok := strings.CutPrefix(lines[0], name); ok {
		lines[0] = s.paint(bold, name) + rest
	}
	b.WriteString(s.paint(colour, mark) + " " + strings.Join(lines, "\n  ") + "\n")
	for _, why := range whyWords(t) {
		b.WriteString(s.words(why, "  "))
	}
	if w := r.Waited[t.Name]; len(w) > 0 {
		b.WriteString(s.words("It waited for "+list(w)+".", "  "))
	}
	b.WriteString(s.logOf(r.Dir, t))
	b.WriteString(s.failingTests(r.Failing[t.Name], mostFailing))
	return b.String()
}

// logOf is where the log of a task is; a record may name a place outside of its folder, and is not believed then.
func (s *Screen) logOf(dir string, t record.Task) string {
	if t.Log == nil || !filepath.IsLocal(filepath.FromSlash(t.Log.Path)) {
		return ""
	}
	return "  log  " + s.Path(joined(dir, t.Log.Path)) + "\n"
}

// standingOf is ended, for a run without verdict too.
func standingOf(t record.Task) string {
	switch t.Status {
	case "":
		return "had not started"
	case Lost:
		return "was running when the run was ended"
	}
	return ended(t)
}

// whyWords says what an end means.
func whyWords(t record.Task) []string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch t.Status {
	case record.TimedOut:
		add("It took longer than its timeout and was ended.")
	case record.Cancelled:
		add("It was running when the run was interrupted, and was ended with it: whether it would have passed is not known.")
	case record.Failed:
		switch {
		case t.Error != nil && t.ExitCode != nil:
			add("It is recorded with exit code %d.", *t.ExitCode)
		case t.Error != nil && t.StartedAt == nil:
			add("No process of it was started.")
		case t.Error != nil:
			add("It could not be carried out to its end.")
		case t.Signal != nil:
			add("Its command was ended by %s: from outside, or by a limit of the machine (SIGKILL is often memory).", *t.Signal)
		case t.ExitCode != nil && *t.ExitCode == 127:
			add("127 is what a shell says of a command that it cannot find.")
		case t.ExitCode != nil && *t.ExitCode == 126:
			add("126 is what a shell says of a command that may not be executed.")
		case t.ExitCode != nil && *t.ExitCode > 128 && *t.ExitCode < 128+65:
			add("An exit code of 128 and more is what a shell says of a program that was ended by a signal: %d.", *t.ExitCode-128)
		case t.ExitCode != nil:
			add("Its command ended with exit code %d; 0 is what passes.", *t.ExitCode)
		}
	}
	if t.ProcessesLeft != nil && *t.ProcessesLeft > 0 {
		add("It left %s running: ended with it.", processes(*t.ProcessesLeft))
	}
	if t.Hint != nil && *t.Hint != "" {
		add("Hint: %s", *t.Hint)
	}
	return words
}

// skipped names the tasks that were not started, those with one reason together.
func (s *Screen) skipped(tasks []record.Task) string {
	type group struct {
		reason string
		names  []string
	}
	var groups []*group
	at := map[string]*group{}
	for _, t := range tasks {
		if t.Status != record.Skipped {
			continue
		}
		reason := skipReason(t)
		if at[reason] == nil {
			at[reason] = &group{reason: reason}
			groups = append(groups, at[reason])
		}
		at[reason].names = append(at[reason].names, t.Name)
	}
	var b strings.Builder
	for _, g := range groups {
		head := Wrap(count(len(g.names), "task")+" not started: "+g.reason, s.wide()-2)
		b.WriteString("\n" + s.paint(yellow, "–") + " " + strings.Join(head, "\n  ") + "\n")
		b.WriteString(s.words(list(g.names), "  "))
	}
	return b.String()
}

func skipReason(t record.Task) string {
	by := "another task"
	if t.BlockedBy != nil {
		by = Harmless(*t.BlockedBy)
	}
	reason := ""
	if t.Reason != nil {
		reason = *t.Reason
	}
	switch pipeline.Reason(reason) {
	case pipeline.FailFast:
		return by + " failed, and after the first failure nothing new starts"
	case pipeline.Dependency:
		return by + ", which must pass before, did not"
	case pipeline.Signal:
		return "the run was interrupted"
	}
	return why(t)
}

// passed counts what went well.
func (s *Screen) passed(tasks []record.Task) string {
	var names []string
	left := 0
	for _, t := range tasks {
		if t.Status == record.Passed || t.Status == record.Cached {
			names = append(names, t.Name)
			if t.ProcessesLeft != nil {
				left += *t.ProcessesLeft
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := "\n" + s.paint(green, "✓") + " " + count(len(names), "task") + " passed\n" + s.words(list(names), "  ")
	if left > 0 {
		text += s.words("They left "+processes(left)+" running: ended with them.", "  ")
	}
	return text
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// wherePath says where the time of the run went.
func (s *Screen) wherePath(r RunStory) string {
	sum := time.Duration(0)
	words := make([]string, len(r.Path))
	for i, p := range r.Path {
		sum += p.Took
		words[i] = p.Task + " " + Duration(p.Took)
	}
	if len(words) > 12 {
		words = append(append(words[:6:6], "…"), words[len(words)-5:]...)
	}
	return "\n" + s.words("The time went into "+strings.Join(words, " → ")+": "+Duration(sum)+" of "+
		Duration(time.Duration(r.Run.DurationMS)*time.Millisecond)+". Only a shorter chain, or one of these made faster, makes the run faster.", "")
}

// hookStory tells what a hook did.
func (s *Screen) hookStory(h HookStory) string {
	if r := h.Run; r != nil {
		took := " after " + Duration(time.Duration(r.DurationMS)*time.Millisecond)
		end := s.paint(green, "done")
		switch {
		case r.Error != "" && (r.ExitCode == nil || r.Error != record.Failed):
			return s.words("on_fail \"run\" of "+h.Task+": failed"+took+": "+r.Error, "")
		case r.ExitCode != nil && *r.ExitCode != 0:
			end = s.paint(yellow, fmt.Sprintf("failed: exit %d", *r.ExitCode))
		}
		return "on_fail \"run\" of " + Harmless(h.Task) + ": " + end + took + "\n"
	}
	f := h.Fix
	var b strings.Builder
	head := "on_fail \"agent\" of " + Harmless(h.Task) + ":"
	between := func(text string) string {
		if s.Columns > 0 && columns(head)+1+columns(text) > s.wide() {
			return "\n  "
		}
		return " "
	}
	if f.State != fix.Proposed {
		text := stateWord(f.State)
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

// attemptsOf tells of each attempt in one line.
func (s *Screen) attemptsOf(f *fix.Fix) string {
	var b strings.Builder
	for _, a := range f.Attempts {
		line := fmt.Sprintf("%s %d by %s, %s", rowWord(f.Attempts), a.Number, a.Agent, Duration(time.Duration(a.DurationMS)*time.Millisecond))
		if a.Kind != nil && *a.Kind != "" {
			line += ", ended with " + *a.Kind
		}
		b.WriteString(s.words(line, "  "))
	}
	return b.String()
}
