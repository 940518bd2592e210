// The end of a run: what failed and why, where its log is, and what to type next.
package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// MostFailures is how many failed tasks the summary shows with the ends of their logs; the others are counted.
const MostFailures = 30

// tailOf returns how many lines of each log are shown when so many tasks failed.
func tailOf(failures int) int {
	switch {
	case failures <= 3:
		return 20
	case failures <= 10:
		return 8
	}
	return 3
}

// A Failure is a failed task as the summary shows it.
type Failure struct {
	Task    record.Task
	Command string
	Dir     string // relative to the root
	Log     string // path of the log
	Tail    []byte // the end of the log
	Failing Failing
}

// A Stretch is a task of the critical path.
type Stretch struct {
	Task string
	Took time.Duration
}

// A Next is something to type, and what it does.
type Next struct{ Does, Type string }

// Summary shows how a run ended: its failures in reading order, which may be the first of more, and what to type
// next. The note says what to fill in before; it may be empty.
func (s *Screen) Summary(r record.Run, failures []Failure, path []Stretch, next []Next, note string) {
	var b strings.Builder
	for _, f := range failures {
		b.WriteString(s.failure(f, tailOf(len(failures))))
	}
	failed := 0
	for _, t := range r.Tasks {
		if t.Status == record.Failed || t.Status == record.TimedOut {
			failed++
		}
	}
	if more := failed - len(failures); more > 0 && len(failures) > 0 {
		fmt.Fprintf(&b, "\n%s\n", s.paint(red, fmt.Sprintf("✗ and %d more failed", more)))
	}
	b.WriteString("\n" + s.counts(r) + "\n")
	b.WriteString(s.critical(r, path))
	b.WriteString(s.flaky(r.Tasks))
	switch r.Status {
	case record.Failed:
		b.WriteString("This run is recorded as " + s.paint(red, "failed") + ".\n")
	case record.Interrupted:
		b.WriteString("This run is recorded as " + s.paint(yellow, "interrupted") + ".\n")
	}
	if len(next) > 0 {
		b.WriteString(s.next(next) + s.paragraphIf(note))
	}
	s.put(b.String())
}

// critical returns the chain of tasks that took the run's time, for runs long enough that somebody waited.
func (s *Screen) critical(r record.Run, path []Stretch) string {
	const most = 8 // tasks that are named; the quickest of more are not
	whole := time.Duration(r.DurationMS) * time.Millisecond
	if len(path) == 0 || len(r.Tasks) < 2 || whole <= time.Second || r.Status == record.Interrupted {
		return ""
	}
	sum, least := time.Duration(0), time.Duration(0)
	var times []time.Duration
	for _, p := range path {
		sum += p.Took
		times = append(times, p.Took)
	}
	if len(path) > most {
		slices.Sort(times)
		least = times[len(times)-most]
	}
	var words []string
	for i, shown := 0, 0; i < len(path); i++ {
		switch {
		case path[i].Took >= least && shown < most:
			shown++
			words = append(words, taskName(path[i].Task)+" "+Duration(path[i].Took))
		case len(words) == 0 || words[len(words)-1] != "…":
			words = append(words, "…")
		}
	}
	for i := range len(words) - 1 {
		words[i] += " →"
	}
	words = append(append([]string{"critical path:"}, words...), "("+Duration(sum)+" of "+Duration(whole)+")")
	return strings.Join(wrapWords(words, s.wide()-2), "\n  ") + "\n"
}

func (s *Screen) failure(f Failure, tail int) string {
	var b strings.Builder
	took := ""
	if f.Task.DurationMS != nil && f.Task.Error == nil {
		took = " after " + ms(f.Task.DurationMS)
	}
	name, how, between := "✗ "+taskName(f.Task.Name), s.howFailed(f.Task)+took, " "
	if f.Task.Error == nil && columns(name)+1+columns(how) > s.headRoom() {
		between = "\n  "
	}
	b.WriteString("\n" + s.paint(red, name) + between + how + "\n")
	if f.Command != "" {
		word := "command  "
		if f.Task.Agent != nil {
			word = "asked    "
		}
		b.WriteString("  " + word + f.Command + "\n")
	}
	if f.Dir != "" && f.Dir != "." && f.Task.Agent == nil { // an agent works at the top of a copy
		b.WriteString("  in       " + Harmless(f.Dir) + "\n")
	}
	if f.Log != "" {
		b.WriteString("  log      " + s.Path(f.Log))
		if f.Task.Log != nil && f.Task.Log.LeftOutBytes > 0 {
			fmt.Fprintf(&b, " (%d bytes before its end were left out)", f.Task.Log.LeftOutBytes)
		}
		b.WriteString("\n")
	}
	b.WriteString(s.failingTests(f.Failing))
	b.WriteString(s.tail(f.Tail, tail))
	if f.Task.Hint != nil && *f.Task.Hint != "" {
		b.WriteString(s.paragraph("hint: "+*f.Task.Hint, "  "))
	}
	return b.String()
}

// howFailed returns how a task ended. The reason of one that could not be run is a sentence, which is put below.
func (s *Screen) howFailed(t record.Task) string {
	why, ok := strings.CutPrefix(ended(t), "failed: ")
	if t.Error == nil || !ok {
		return ended(t)
	}
	if s.Columns <= 0 {
		return "failed\n  " + why // one line, which can be searched for
	}
	return "failed\n  " + strings.Join(Wrap(why, s.wide()-2), "\n  ")
}

// tail returns the last n lines of what a task printed.
func (s *Screen) tail(text []byte, n int) string {
	var b strings.Builder
	for _, line := range tailLines(text, n) {
		b.WriteString(strings.TrimRight("  "+s.paint(dim, "│")+" "+taskText(line, s.Colour), " ") + "\n")
	}
	return b.String()
}

// tailLines returns the last n lines, without empty ones at the end. Of a line that was drawn over, as by a
// progress bar, it returns what was there last.
func tailLines(text []byte, n int) []string {
	t := strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\r\t ")
	if t == "" {
		return nil
	}
	lines := strings.Split(t, "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return lines
}

// counts returns the line with the numbers of tasks.
func (s *Screen) counts(r record.Run) string {
	by := map[string]int{}
	saved := time.Duration(0)
	for _, t := range r.Tasks {
		by[t.Status]++
		if c := t.Cache; c != nil && c.SavedMS != nil {
			saved += time.Duration(*c.SavedMS) * time.Millisecond
		}
	}
	var parts []string
	for _, st := range []struct{ status, word, colour string }{
		{record.Passed, "passed", green},
		{record.Cached, "cached", green},
		{record.Failed, "failed", red},
		{record.TimedOut, "timed out", red},
		{record.Cancelled, "cancelled", yellow},
		{record.Skipped, "skipped", yellow},
	} {
		if by[st.status] > 0 {
			part := s.paint(st.colour, fmt.Sprintf("%d %s", by[st.status], st.word))
			if st.status == record.Cached && saved >= 100*time.Millisecond {
				part += " (saved " + Duration(saved) + ")"
			}
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to run"}
	}
	text, run := strings.Join(parts, ", ")+" in "+Duration(time.Duration(r.DurationMS)*time.Millisecond), "run "+r.ID
	if columns(bare(text))+3+columns(run) > s.wide() {
		return text + "\n" + run
	}
	return text + " · " + run
}

// next lists what to type, with the commands in a column where they fit. A command is never broken, so that it can
// be copied.
func (s *Screen) next(next []Next) string {
	var b strings.Builder
	does, types := 0, 0
	for _, n := range next {
		does, types = max(does, columns(n.Does)), max(types, columns(n.Type))
	}
	for _, n := range next {
		if 2+does+2+types > s.wide() && s.Columns > 0 {
			b.WriteString("  " + n.Does + "\n    " + s.paint(cyan, n.Type) + "\n")
			continue
		}
		b.WriteString("  " + pad(n.Does, does) + "  " + s.paint(cyan, n.Type) + "\n")
	}
	return b.String()
}

// The names of failing tests.

// mostFailing is how many lines the names of a task's failing tests take at most.
const mostFailing = 3

// Failing is the tests that the log of a task names as failing.
type Failing struct {
	Names     []string
	MayBeMore bool // only the end of the log was searched
}

// failingTests names the failing tests of a task.
func (s *Screen) failingTests(f Failing) string { return s.testNames("failing", f, mostFailing) }

// testNames names the first tests behind a label, in at most so many lines, and how many more there are.
func (s *Screen) testNames(label string, f Failing, lines int) string {
	const most = 3
	lead := "  " + pad(label, 9)
	if len(f.Names) == 0 {
		return ""
	}
	names := testreport.Innermost(f.Names)
	room := s.wide() - len(lead)
	var shown []string
	for named := min(len(names), most); named > 0; named-- {
		words := make([]string, 0, named+1)
		for _, name := range names[:named] {
			words = append(words, cut(Harmless(name), room-1)+",")
		}
		words[named-1] = strings.TrimSuffix(words[named-1], ",")
		if more := andMore(len(names)-named, f.MayBeMore); more != "" {
			if named == 1 && lines == 1 {
				words[0] = cut(words[0], max(room-1-columns(more), 1))
			}
			words = append(words, more)
		}
		if shown = wrapWords(words, room); len(shown) <= lines {
			break
		}
	}
	return lead + strings.Join(shown, "\n"+strings.Repeat(" ", len(lead))) + "\n"
}

// andMore returns how many names are left out; empty: none.
func andMore(n int, perhaps bool) string {
	switch {
	case n > 0 && perhaps:
		return fmt.Sprintf("… and at least %d more", n)
	case n > 0:
		return fmt.Sprintf("… and %d more", n)
	case perhaps:
		return "… and perhaps more"
	}
	return ""
}
