package run

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

// A trying is one task with all its attempts. It stands behind RunTask, and so in the gate and in a verification too: a
// task that may fail once has reproduced its failure, or has passed with a patch, only by the measure that the run used.
// It belongs to the goroutine that runs the task.
type trying struct {
	r       *Runner
	t       *pipeline.Task
	box     sandbox.Box
	out     *lined
	retried func(attempt int, before record.Task) // told which attempt comes next, and how the one before ended; before the delay
	awake   time.Duration                         // when the first attempt began, by sandbox.Awake
}

// all runs the command until an attempt passes, or is not to be tried again. The last attempt says how the task ended; the
// times are those of all together.
func (a *trying) all(ctx context.Context, c sandbox.Command) (record.Task, error) {
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
			a.out.line("[async-pipeline: not tried again after %s: the timeout of %v leaves no time for it]", exit(got), a.t.Timeout)
			return sum, nil
		}
		a.retried(n+1, sum)
		if !wait(ctx, delay) {
			return cancelled(sum), nil
		}
		a.out.line("[async-pipeline: attempt %d of %d, after %s]", n+1, a.t.Retry.Attempts, exit(got))
	}
}

// left is the time that is left of the task's timeout, which does not count while a person has stopped the program; 0 where it
// has none.
func (a *trying) left() time.Duration {
	if a.t.Timeout == 0 {
		return 0
	}
	return max(a.t.Timeout-(sandbox.Awake()-a.awake), 1) // 0 would be none
}

// again says whether an attempt that has ended so deserves another. A program that is not there, or is none, will not be
// there next time either: nothing of the task has run in between. Who knows better names 127 or 126 in on_exit.
func (a *trying) again(got record.Task) bool {
	switch {
	case got.Status != record.Failed || got.ExitCode == nil:
		return false
	case len(a.t.Retry.OnExit) > 0:
		return slices.Contains(a.t.Retry.OnExit, *got.ExitCode)
	}
	return got.Error == nil
}

// add is a task after one more attempt.
func add(sum, got record.Task, begun time.Time) record.Task {
	if sum.Attempts == 0 {
		return got
	}
	if got.StartedAt == nil { // it could not be started again: what is known is of the attempts before
		sum.Status, sum.Reason, sum.Error = got.Status, got.Reason, got.Error
		return sum
	}
	got.Attempts += sum.Attempts
	got.StartedAt = sum.StartedAt
	got.DurationMS = ptr(time.Since(begun).Milliseconds())
	got.ProcessesLeft = ptr(*got.ProcessesLeft + *sum.ProcessesLeft)
	return got
}

// exit is an exit code in words.
func exit(got record.Task) string {
	if got.Signal != nil {
		return fmt.Sprintf("exit code %d (%s)", *got.ExitCode, *got.Signal)
	}
	return fmt.Sprintf("exit code %d", *got.ExitCode)
}

// wait lets d pass, and says false when ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// lined is where the output of all attempts goes, with lines of ours between them.
type lined struct {
	to     io.Writer
	inside bool // the last byte written does not end a line
}

func (l *lined) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.inside = p[len(p)-1] != '\n'
	}
	return l.to.Write(p)
}

// line writes a line of its own. That it could not be written is of no importance: the output's own error is told.
func (l *lined) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...) + "\n"
	if l.inside {
		text = "\n" + text
	}
	_, _ = io.Copy(l, strings.NewReader(text))
}
