// Words and numbers as they are shown: durations, counts, how a task ended.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Duration is d for a person: 0.4s, 12.3s, 4m05s, 2h03m.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0s"
	case d < time.Minute-50*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

func ms(n *int64) string {
	if n == nil {
		return "?"
	}
	return Duration(time.Duration(*n) * time.Millisecond)
}

// mostNames is how many of what may be many are named.
const mostNames = 8

// ended says how a task ended, without its time.
func ended(t record.Task) string {
	if t.Attempts > 1 {
		return endedAtLast(t) + fmt.Sprintf(" (%d attempts)", t.Attempts)
	}
	return endedAtLast(t)
}

// endedAfter is ended with the time it took. Why a task could not be carried out is a sentence: the time stands before it.
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

// endedAtLast is how the last attempt at a task ended.
func endedAtLast(t record.Task) string {
	switch t.Status {
	case record.Passed:
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
			return "failed: " + Harmless(strings.TrimPrefix(*t.Error, fmt.Sprintf("task %q: ", t.Name)))
		case t.Signal != nil:
			return "failed: ended by " + Harmless(*t.Signal)
		case t.ExitCode != nil:
			return fmt.Sprintf("failed: exit %d", *t.ExitCode)
		}
		return "failed"
	}
	return Harmless(t.Status)
}

// why is the reason of a task that was not started.
func why(t record.Task) string {
	reason, by := "not started", ""
	if t.BlockedBy != nil {
		by = Harmless(*t.BlockedBy)
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
	}
	return Harmless(reason)
}

// Command is a command as a person would type it, on one line.
func Command(c pipeline.Command) string {
	if c.Argv == nil {
		lines := strings.Split(strings.TrimSpace(c.Shell.Show()), "\n")
		if len(lines) > 1 {
			return Harmless(lines[0]) + " …"
		}
		return Harmless(lines[0])
	}
	words := make([]string, len(c.Argv))
	for i, a := range c.Argv {
		words[i] = Quote(a.Show())
	}
	return strings.Join(words, " ")
}

// Quote is one word for a shell.
func Quote(word string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+"
	if word != "" && strings.Trim(word, bare) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(Harmless(word), "'", `'\''`) + "'"
}
