// Words and numbers as they are shown: durations, counts, how a task ended.
package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Duration returns d for a person: 0.4s, 12.3s, 4m05s, 2h03m.
func Duration(d time.Duration) string { return english.Duration(d) }

func ms(n *int64) string {
	if n == nil {
		return "?"
	}
	return Duration(time.Duration(*n) * time.Millisecond)
}

// mostNames is how many of what may be many are named.
const mostNames = 8

// ended returns how a task ended, without its time.
func ended(t record.Task) string {
	if t.Attempts > 1 {
		return endedAtLast(t) + fmt.Sprintf(" (%d attempts)", t.Attempts)
	}
	return endedAtLast(t)
}

// endedAfter returns how a task ended, with the time it took. The time is put before the reason of a task that could
// not be run, which is a sentence.
func endedAfter(t record.Task) string {
	if t.DurationMS == nil {
		return ended(t)
	}
	took := " after " + ms(t.DurationMS)
	if why, ok := strings.CutPrefix(ended(t), "failed"); ok && t.Error != nil {
		return "failed" + took + why
	}
	return ended(t) + took
}

// endedAtLast returns how the last attempt at a task ended.
func endedAtLast(t record.Task) string {
	switch t.Status {
	case record.Passed:
		if goesOn(t) {
			return "left running"
		}
		if t.Reason != nil && *t.Reason == record.RunEnded {
			return "ended with the run"
		}
		if t.ProcessesLeft != nil && *t.ProcessesLeft > 0 {
			return fmt.Sprintf("passed, and left %d running (ended)", *t.ProcessesLeft)
		}
		return "passed"
	case record.Cached:
		return "cached"
	case record.TimedOut:
		return "timed out"
	case record.Skipped:
		return "skipped (" + why(t) + ")"
	case record.Cancelled:
		return "cancelled"
	case record.Failed:
		switch {
		case t.Error != nil:
			return "failed: " + Harmless(strings.TrimPrefix(*t.Error, fmt.Sprintf("task %q: ", pipeline.ShownName(t.Name))))
		case t.Signal != nil:
			return "failed: ended by " + Harmless(*t.Signal)
		case t.ExitCode != nil:
			return fmt.Sprintf("failed: exit %d", *t.ExitCode)
		}
		return "failed"
	}
	return Harmless(t.Status)
}

// why returns the reason of a task that was not started.
func why(t record.Task) string {
	reason, by := "not started", ""
	if t.BlockedBy != nil {
		by = taskName(*t.BlockedBy)
	}
	if t.Reason != nil {
		reason = *t.Reason
	}
	switch pipeline.Reason(reason) {
	case pipeline.FailFast:
		if by != "" {
			return "fail-fast: " + by + " failed"
		}
		return "fail-fast: another task failed"
	case pipeline.Dependency:
		if by != "" {
			return "dependency: " + by + " did not pass"
		}
		return "dependency: a task it waits for did not pass"
	case pipeline.Signal:
		return "the run was interrupted"
	case record.NotNeeded:
		return "service: no task needed it"
	case record.AgentsOff:
		return "agent: none starts in --watch without --heal"
	}
	return Harmless(reason)
}

// TaskName returns the name of a task as a person sees and types it: test:linux for test["linux"], and test:linux@2
// for its second proposal. A key with an @ keeps its quotes, because test:node@20 would be the twentieth proposal
// for test:node.
func TaskName(name string) string {
	at := strings.IndexByte(name, '@')
	switch {
	case at < 0:
		return pipeline.ShownName(name)
	case strings.HasSuffix(name[:at], `"]`):
		return pipeline.ShownName(name[:at]) + name[at:]
	}
	return name
}

// taskName returns TaskName, made harmless.
func taskName(name string) string { return Harmless(TaskName(name)) }

// TaskNames returns TaskName of each name.
func TaskNames(names []string) []string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = TaskName(name)
	}
	return shown
}

// Command returns a command as a person would type it, on one line.
func Command(c pipeline.Command) string {
	if c.Argv == nil {
		lines := strings.Split(strings.TrimSpace(c.Shell.Show()), "\n")
		text := Harmless(lines[0])
		if len(lines) > 1 {
			text += " …"
		}
		if len(c.Args) > 0 {
			text += ` # "$@" is`
		}
		for _, a := range c.Args {
			text += " " + Quote(a.Show())
		}
		return text
	}
	words := make([]string, len(c.Argv))
	for i, a := range c.Argv {
		words[i] = Quote(a.Show())
	}
	return strings.Join(words, " ")
}

// Quote returns a word as it is typed in a shell.
func Quote(word string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+"
	if word != "" && strings.Trim(word, bare) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(Harmless(word), "'", `'\''`) + "'"
}

// Sizes and moments as they are shown: 1.2 MiB, 3 min ago.

// moment returns a time for a person who reads it at now; in the same year without the year.
func moment(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	switch {
	case at.IsZero():
		return "?"
	case at.Year() == now.Year():
		return at.Format("Jan _2 15:04")
	}
	return at.Format("2006-01-02")
}

// ago returns roughly how long ago a time was.
func ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case at.IsZero():
		return "at an unknown time"
	case d < -time.Minute:
		return "in the future: " + at.Local().Format("2006-01-02 15:04:05")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return english.Count(int(d/(24*time.Hour)), "day") + " ago"
}

// A log on a terminal: whole lines, made harmless.

// A LogText writes what a task printed to a screen, harmless, line by line. It belongs to one goroutine; Flush
// shows the rest of a line that has no end.
type LogText struct {
	s    *Screen
	held []byte
	open bool // a part of a long line is on the screen without its end
}

// LogText returns a LogText for a screen on a terminal; elsewhere a log is written as it is.
func (s *Screen) LogText() *LogText { return &LogText{s: s} }

func (l *LogText) Write(p []byte) (int, error) {
	l.held = append(l.held, p...)
	var b bytes.Buffer
	rest := l.held
	for {
		end, skip := lineEnd(rest)
		if end < 0 {
			break
		}
		b.WriteString(taskText(string(rest[:end]), l.s.Colour) + "\n")
		l.open = false
		rest = rest[end+skip:]
	}
	if len(rest) > longLine {
		n := wholePart(rest)
		b.WriteString(taskText(string(rest[:n]), l.s.Colour))
		l.open = true
		rest = rest[n:]
	}
	l.held = append(l.held[:0], rest...)
	if b.Len() > 0 {
		if _, err := l.s.W.Write(b.Bytes()); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush shows what is held back, and ends its line.
func (l *LogText) Flush() error {
	if len(l.held) == 0 && !l.open {
		return nil
	}
	text := taskText(string(bytes.TrimRight(l.held, "\r")), l.s.Colour) + "\n"
	l.held, l.open = l.held[:0], false
	_, err := io.WriteString(l.s.W, text)
	return err
}
