// Package task runs one task: its environment, its process, and what the record says of how it ended. It is the one
// way in which a task's command is run: in the tree, in the copy of a reproduction, and in a verification.
package task

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/access"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A Runner runs tasks of one configuration. It is safe for concurrent use.
type Runner struct {
	Config  *pipeline.Config
	Environ []string // the person's environment, KEY=VALUE; read at the first call
	Redact  *redact.Set

	once   sync.Once
	person *person // Environ, parsed
	found  lookups
}

// RunTask runs one task's command in dir and writes its output, redacted and in order, to out; a nil out discards
// it. dir is the root as the command sees it: for a copy, Box.At(root). A retried task is retried here too. A task
// that lacks a secret or its folder, or that may not have what it needs, is Failed with Error set, and no process
// was started. An error means that the box could not run the command, or not to its end; the returned task did not
// pass.
func (r *Runner) RunTask(ctx context.Context, dir string, t *pipeline.Task, box sandbox.Box, out io.Writer) (record.Task, error) {
	return r.Watched(ctx, dir, t, box, out, Watch{})
}

// A Watch has functions that are called while a task runs. They may be nil.
type Watch struct {
	// before each further attempt, and before its delay, with the number of that attempt (from 2) and how those before
	// it ended
	Retried func(attempt int, before record.Task)
	// for each path that its processes name to the kernel; see sandbox.Command
	Seen func(access.Path)
	// when the command itself has ended and processes of it are left; see sandbox.Command
	Exited func()
}

// Watched is RunTask that calls the functions of a Watch.
func (r *Runner) Watched(ctx context.Context, dir string, t *pipeline.Task, box sandbox.Box, out io.Writer, w Watch) (record.Task, error) {
	if ctx.Err() != nil {
		return cancelled(notStarted(t, "", "")), nil //nolint:nilerr // the record says that it was cancelled
	}
	c, err := r.command(dir, t, box)
	if err != nil {
		return notStarted(t, record.Failed, r.Redact.String(err.Error())), nil
	}
	if out == nil {
		out = io.Discard
	}
	c.Seen, c.Exited = w.Seen, w.Exited
	a := attempts{r: r, t: t, box: box, out: &lineWriter{to: out}, retried: w.Retried}
	return a.run(ctx, c)
}

// attempt runs the command once.
func (r *Runner) attempt(ctx context.Context, t *pipeline.Task, c sandbox.Command, box sandbox.Box, out io.Writer) (record.Task, error) {
	w := r.Redact.Writer(out)
	c.Stdout, c.Stderr = w, w // one writer: one pipe, so the order of the two streams survives
	over := r.found.begin()
	res, err := box.Run(ctx, c)
	over()
	closed := w.Close()
	if err == nil && closed != nil {
		err = fmt.Errorf("output: %w", closed)
	}
	got := ended(t, box, res)
	if err != nil && res.Started.IsZero() {
		if gone := checkFolder(c.Dir, t, box); gone != nil { // checked only now: it costs a system call and the folder is nearly always there
			return notStarted(t, record.Failed, r.Redact.String(gone.Error())), nil
		}
	}
	switch {
	case err != nil:
		err = fmt.Errorf("task %q: %w", t.Shown(), err)
		if got.Status == record.Passed {
			got.Status = record.Failed // the command succeeded, but its output was lost
		}
		got.Error = new(r.Redact.String(err.Error()))
	case got.Status == record.Failed:
		if why := unrunnable(t, c, box, res); why != "" {
			got.Error = new(r.Redact.String(why))
		}
	}
	return got, err
}

// ended converts a result of the sandbox into a record.
func ended(t *pipeline.Task, box sandbox.Box, res sandbox.Result) record.Task {
	if res.Started.IsZero() { // no process was started
		got := record.Task{Name: t.Name, Status: record.Failed}
		if res.Cancelled {
			got = cancelled(got)
		}
		return got
	}
	got := record.Task{
		Name:          t.Name,
		Attempts:      1,
		ExitCode:      &res.ExitCode,
		StartedAt:     &record.Time{Time: res.Started},
		DurationMS:    new(res.Duration.Milliseconds()),
		Sandbox:       new(string(box.Tier)),
		ProcessesLeft: &res.ProcessesLeft,
		Processor:     res.Processor,
	}
	if res.Signal != "" {
		got.Signal = &res.Signal
	}
	switch {
	case res.Cancelled:
		got = cancelled(got)
	case res.TimedOut:
		got.Status, got.ExitCode = record.TimedOut, new(124)
	case res.ExitCode == 0 && res.Signal == "":
		got.Status = record.Passed
	default:
		got.Status = record.Failed
	}
	return got
}

// cancelled marks a task that a signal ended.
func cancelled(got record.Task) record.Task {
	got.Status, got.Reason = record.Cancelled, new(string(pipeline.Signal))
	return got
}

// notStarted returns the record of a task for which no process was started.
func notStarted(t *pipeline.Task, status, why string) record.Task {
	got := record.Task{Name: t.Name, Status: status}
	if why != "" {
		got.Error = &why
	}
	return got
}

// shellPath runs the commands that are text.
const shellPath = "/bin/sh"

// command returns what the box runs. An error is a fault of the task, in words for a person.
func (r *Runner) command(dir string, t *pipeline.Task, box sandbox.Box) (sandbox.Command, error) {
	if t.Agent != nil {
		return sandbox.Command{}, fmt.Errorf("task %q is done by an agent, which starts in its own run only", t.Shown())
	}
	words := t.Run.Argv
	if words == nil {
		words = []pipeline.Text{t.Run.Shell}
	}
	if len(words) == 0 || words[0].Value == "" && len(words[0].Missing) == 0 {
		return sandbox.Command{}, fmt.Errorf("task %q has no command: write run = [\"program\", …]", t.Shown())
	}
	if t.Run.Argv == nil {
		words = append(words, t.Run.Args...)
	}
	var argv []string
	for _, w := range words {
		if name := r.secretIn(w); name != "" && !box.Secrets {
			return sandbox.Command{}, fmt.Errorf("task %q has the secret %s in its command line, and secrets are withheld here: pass it in env, "+
				"or set pass_secrets = true in on_fail \"agent\"", t.Shown(), name)
		}
		if name := first(w.Missing); name != "" {
			return sandbox.Command{}, missing(t, name)
		}
		if strings.ContainsRune(w.Value, 0) {
			return sandbox.Command{}, fmt.Errorf("the command line of task %q contains a NUL byte, which no program can be given", t.Shown())
		}
		argv = append(argv, w.Value)
	}
	if t.Run.Argv == nil {
		if len(argv) > 1 { // then the first of them is "$0", which is the shell's path without them
			argv = slices.Insert(argv, 1, shellPath)
		}
		argv = append([]string{shellPath, "-eu", "-c"}, argv...)
	}
	env, _, err := r.environment(dir, t, box)
	if err != nil {
		return sandbox.Command{}, err
	}
	at, err := workDir(dir, t, box)
	if err != nil {
		return sandbox.Command{}, err
	}
	return sandbox.Command{Argv: argv, Dir: at, Env: env, Timeout: t.Timeout}, nil
}

// secretIn returns the name of a secret that a word of the command line contains, or "".
func (r *Runner) secretIn(w pipeline.Text) string {
	if name := first(w.Secrets); name != "" {
		return name
	}
	name, _ := r.Redact.Find([]byte(w.Value))
	return name
}
