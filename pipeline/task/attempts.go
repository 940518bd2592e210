package task

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// attempts is one task with all its attempts. Reproductions and verifications use it too, through RunTask: a flaky
// task reproduces its failure, or passes with a patch, by the same rule as in the run. It belongs to the goroutine
// that runs the task.
type attempts struct {
	r       *Runner
	t       *pipeline.Task
	box     sandbox.Box
	out     *lineWriter
	retried func(attempt int, before record.Task)
	awake   time.Duration // when the first attempt began, by sandbox.Awake
}

// run runs the command until an attempt passes or is not to be retried. The last attempt decides how the task
// ended; the times cover all attempts.
func (a *attempts) run(ctx context.Context, c sandbox.Command) (record.Task, error) {
	begun := time.Now()
	a.awake = sandbox.Awake()
	var sum record.Task
	for n := 1; ; n++ {
		c.Timeout = a.left()
		got, err := a.r.attempt(ctx, a.t, c, a.box, a.out)
		sum = add(sum, got, begun)
		if err != nil || n >= a.t.Retry.Attempts || !a.again(got) {
			return sum, err
		}
		delay := a.t.Retry.Delay
		if a.t.Timeout > 0 && a.left() <= delay {
			a.out.line("[async-pipeline: not tried again after %s: the timeout of %v leaves no time for it]",
				exit(got), a.t.Timeout)
			return sum, nil
		}
		if a.retried != nil {
			a.retried(n+1, sum)
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return cancelled(sum), nil //nolint:nilerr // the record says that it was cancelled
		}
		a.out.line("[async-pipeline: attempt %d of %d, after %s]", n+1, a.t.Retry.Attempts, exit(got))
	}
}

// left returns what remains of the task's timeout, or 0 where it has none. Time in which the program was stopped
// (^Z) does not count.
func (a *attempts) left() time.Duration {
	if a.t.Timeout == 0 {
		return 0
	}
	return max(a.t.Timeout-(sandbox.Awake()-a.awake), 1) // 0 would mean no timeout
}

// again reports whether a failed attempt is retried. A program that is missing or not executable (127, 126) will be
// so the next time too, because nothing of the task ran in between; on_exit may name these codes all the same.
func (a *attempts) again(got record.Task) bool {
	switch {
	case got.Status != record.Failed || got.ExitCode == nil:
		return false
	case len(a.t.Retry.OnExit) > 0:
		return slices.Contains(a.t.Retry.OnExit, *got.ExitCode)
	}
	return got.Error == nil
}

// add returns the record of a task after one more attempt.
func add(sum, got record.Task, begun time.Time) record.Task {
	if sum.Attempts == 0 {
		return got
	}
	if got.StartedAt == nil { // it could not be started again: the other fields are those of the attempts before
		sum.Status, sum.Reason, sum.Error = got.Status, got.Reason, got.Error
		return sum
	}
	got.Attempts += sum.Attempts
	got.StartedAt = sum.StartedAt
	got.DurationMS = new(time.Since(begun).Milliseconds())
	got.ProcessesLeft = new(*got.ProcessesLeft + *sum.ProcessesLeft)
	got.Processor += sum.Processor
	return got
}

// exit returns an exit code in words.
func exit(got record.Task) string {
	if got.Signal != nil {
		return fmt.Sprintf("exit code %d (%s)", *got.ExitCode, *got.Signal)
	}
	return fmt.Sprintf("exit code %d", *got.ExitCode)
}

// lineWriter writes the output of all attempts, with our own lines between them.
type lineWriter struct {
	to     io.Writer
	inside bool // the last byte written was not a line end
}

func (l *lineWriter) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.inside = p[len(p)-1] != '\n'
	}
	return l.to.Write(p)
}

// line writes text on a line of its own. A failure is ignored: the next write of output reports it.
func (l *lineWriter) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...) + "\n"
	if l.inside {
		text = "\n" + text
	}
	_, _ = io.Copy(l, strings.NewReader(text))
}
