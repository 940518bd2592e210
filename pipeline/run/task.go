package run

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// RunTask runs one task's command in dir (the root as the command sees it: for a copy, Box.At(root)) and writes its
// output, redacted and in the order it was written, to out (nil: nowhere). It is the one way a task is run: in the tree,
// in the reproduction gate, in a verification; a task that is retried is retried in all three. A task that lacks a secret,
// a folder, or may not have what it needs is
// Failed with Error set, and was not started. An error means that the box could not run it,
// or not to its end; the task given did not pass.
func (r *Runner) RunTask(ctx context.Context, dir string, t *pipeline.Task, box sandbox.Box, out io.Writer) (record.Task, error) {
	return r.runTask(ctx, dir, t, box, out, func(int, record.Task) {})
}

func (r *Runner) runTask(ctx context.Context, dir string, t *pipeline.Task, box sandbox.Box, out io.Writer, retried func(attempt int, before record.Task)) (record.Task, error) {
	select {
	case <-ctx.Done():
		return cancelled(notStarted(t, "", "")), nil
	default:
	}
	c, err := r.command(dir, t, box)
	if err != nil {
		return notStarted(t, record.Failed, r.Redact.String(err.Error())), nil
	}
	if out == nil {
		out = io.Discard
	}
	tries := trying{r: r, t: t, box: box, out: &lined{to: out}, retried: retried}
	return tries.all(ctx, c)
}

// attempt runs the command once.
func (r *Runner) attempt(ctx context.Context, t *pipeline.Task, c sandbox.Command, box sandbox.Box, out io.Writer) (record.Task, error) {
	w := r.Redact.Writer(out)
	c.Stdout, c.Stderr = w, w // one writer: one pipe, so the order of the two streams survives
	res, err := box.Run(ctx, c)
	closed := w.Close()
	if err == nil && closed != nil {
		err = fmt.Errorf("output: %w", closed)
	}
	got := ended(t, box, res)
	if err != nil && res.Started.IsZero() {
		if gone := there(c.Dir, t, box); gone != nil { // looked for only now: it costs, and is nearly always there
			return notStarted(t, record.Failed, r.Redact.String(gone.Error())), nil
		}
	}
	switch {
	case err != nil:
		err = fmt.Errorf("task %q: %w", t.Name, err)
		if got.Status == record.Passed {
			got.Status = record.Failed // it ended well, but not all of it is known
		}
		got.Error = ptr(r.Redact.String(err.Error()))
	case got.Status == record.Failed:
		if why := unrunnable(t, c, box, res); why != "" {
			got.Error = ptr(r.Redact.String(why))
		}
	}
	return got, err
}

// ended is what a result means for the record.
func ended(t *pipeline.Task, box sandbox.Box, res sandbox.Result) record.Task {
	if res.Started.IsZero() { // it never was: nothing is known of how it went
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
		DurationMS:    ptr(res.Duration.Milliseconds()),
		Sandbox:       ptr(string(box.Tier)),
		ProcessesLeft: &res.ProcessesLeft,
	}
	if res.Signal != "" {
		got.Signal = &res.Signal
	}
	switch {
	case res.Cancelled:
		got = cancelled(got)
	case res.TimedOut:
		got.Status, got.ExitCode = record.TimedOut, ptr(124)
	case res.ExitCode == 0 && res.Signal == "":
		got.Status = record.Passed
	default:
		got.Status = record.Failed
	}
	return got
}

// cancelled is a task that did not come to its end because of a signal.
func cancelled(got record.Task) record.Task {
	got.Status, got.Reason = record.Cancelled, ptr(string(pipeline.Signal))
	return got
}

// notStarted is a task that no process was started for.
func notStarted(t *pipeline.Task, status, why string) record.Task {
	got := record.Task{Name: t.Name, Status: status}
	if why != "" {
		got.Error = &why
	}
	return got
}

// command is what the box is asked to run. An error is a fault in words for a person.
func (r *Runner) command(dir string, t *pipeline.Task, box sandbox.Box) (sandbox.Command, error) {
	words := t.Run.Argv
	if words == nil {
		words = []pipeline.Text{t.Run.Shell}
	}
	if len(words) == 0 || words[0].Value == "" && len(words[0].Missing) == 0 {
		return sandbox.Command{}, fmt.Errorf("task %q has no command: write run = [\"program\", …]", t.Name)
	}
	var argv []string
	for _, w := range words {
		if name := r.named(w); name != "" && !box.Secrets {
			return sandbox.Command{}, fmt.Errorf("task %q has the secret %s in its command line, and secrets are withheld here: hand it over in env, "+
				"or set pass_secrets = true in on_fail \"agent\"", t.Name, name)
		}
		if name := first(w.Missing); name != "" {
			return sandbox.Command{}, missing(t, name)
		}
		if strings.ContainsRune(w.Value, 0) {
			return sandbox.Command{}, fmt.Errorf("the command line of task %q holds a NUL byte: no program can be given one", t.Name)
		}
		argv = append(argv, w.Value)
	}
	if t.Run.Argv == nil {
		argv = append([]string{"/bin/sh", "-eu", "-c"}, argv...)
	}
	env, _, err := r.environment(dir, t, box)
	if err != nil {
		return sandbox.Command{}, err
	}
	at, err := folder(dir, t, box)
	if err != nil {
		return sandbox.Command{}, err
	}
	return sandbox.Command{Argv: argv, Dir: at, Env: env, Timeout: t.Timeout}, nil
}

// named is the name of a secret that a word of the command line holds, or "".
func (r *Runner) named(w pipeline.Text) string {
	if name := first(w.Secrets); name != "" {
		return name
	}
	name, _ := r.Redact.Find([]byte(w.Value))
	return name
}
