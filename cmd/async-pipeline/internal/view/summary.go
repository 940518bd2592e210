// The end of a run: what failed and why, where its log is, and what to type next.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// TailLines is how many lines of a failed task's log the summary shows.
const TailLines = 20

// A Failure is a failed task as the summary shows it.
type Failure struct {
	Task    record.Task
	Command string
	Dir     string // relative to the root
	Log     string // path of the log
	Tail    []byte // the end of the log
}

// A Next is something to type, and what it does.
type Next struct{ Does, Type string }

// Summary shows how a run ended.
func (s *Screen) Summary(r record.Run, failures []Failure, next []Next) {
	var b strings.Builder
	for _, f := range failures {
		b.WriteString(s.failure(f))
	}
	b.WriteString("\n" + s.counts(r) + "\n")
	switch r.Status {
	case record.Failed:
		b.WriteString("This run is recorded as " + s.paint(red, "failed") + ".\n")
	case record.Interrupted:
		b.WriteString("This run is recorded as " + s.paint(yellow, "interrupted") + ".\n")
	}
	if len(next) > 0 {
		b.WriteString(s.next(next))
	}
	s.put(b.String())
}

func (s *Screen) failure(f Failure) string {
	var b strings.Builder
	took := ""
	if f.Task.DurationMS != nil {
		took = " after " + ms(f.Task.DurationMS)
	}
	b.WriteString("\n" + s.paint(red, "✗ "+Harmless(f.Task.Name)) + " " + ended(f.Task) + took + "\n")
	if f.Command != "" {
		b.WriteString("  command  " + f.Command + "\n")
	}
	if f.Dir != "" && f.Dir != "." {
		b.WriteString("  in       " + Harmless(f.Dir) + "\n")
	}
	if f.Log != "" {
		b.WriteString("  log      " + s.Path(f.Log))
		if f.Task.Log != nil && f.Task.Log.LeftOutBytes > 0 {
			fmt.Fprintf(&b, " (%d bytes before its end were left out)", f.Task.Log.LeftOutBytes)
		}
		b.WriteString("\n")
	}
	lines := tailLines(f.Tail, TailLines)
	for _, line := range lines {
		b.WriteString("  " + s.paint(dim, "│") + " " + clean(line, true, s.Colour) + "\n")
	}
	return b.String()
}

// tailLines gives the last n lines, without empty ones at the end.
func tailLines(text []byte, n int) []string {
	t := strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\r\t ")
	if t == "" {
		return nil
	}
	lines := strings.Split(t, "\n")
	return lines[max(0, len(lines)-n):]
}

// counts is the one line of numbers.
func (s *Screen) counts(r record.Run) string {
	by := map[string]int{}
	for _, t := range r.Tasks {
		by[t.Status]++
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
			parts = append(parts, s.paint(st.colour, fmt.Sprintf("%d %s", by[st.status], st.word)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to run"}
	}
	return strings.Join(parts, ", ") + " in " + Duration(time.Duration(r.DurationMS)*time.Millisecond) + " · run " + r.ID
}

// next lists what to type, the commands below each other.
func (s *Screen) next(next []Next) string {
	var b strings.Builder
	wide := 0
	for _, n := range next {
		wide = max(wide, columns(n.Does))
	}
	for _, n := range next {
		b.WriteString("  " + pad(n.Does, wide) + "  " + s.paint(cyan, n.Type) + "\n")
	}
	return b.String()
}
