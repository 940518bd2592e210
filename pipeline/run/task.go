package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// RunTask runs one task's command in dir (the root as the command sees it: for a copy, Box.At(root)) and writes its
// output, redacted and in the order it was written, to out (nil: nowhere). It is the one way a task is run: in the tree,
// in the reproduction gate, in a verification. A task that lacks a secret, a folder, or may not have what it needs is
// Failed with Error set, and was not started. An error means that the box could not run it,
// or not to its end; the task given did not pass.
func (r *Runner) RunTask(ctx context.Context, dir string, t *pipeline.Task, box sandbox.Box, out io.Writer) (record.Task, error) {
	select {
	case <-ctx.Done():
		cancelled := notStarted(t, record.Cancelled, "")
		cancelled.Reason = ptr(string(pipeline.Signal))
		return cancelled, nil
	default:
	}
	c, err := r.command(dir, t, box)
	if err != nil {
		return notStarted(t, record.Failed, r.Redact.String(err.Error())), nil
	}
	if out == nil {
		out = io.Discard
	}
	w := r.Redact.Writer(out)
	c.Stdout, c.Stderr = w, w // one writer: one pipe, so the order of the two streams survives
	res, err := box.Run(ctx, c)
	closed := w.Close()
	if err == nil && closed != nil {
		err = fmt.Errorf("output: %w", closed)
	}
	got := ended(t, box, res)
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
	got := record.Task{
		Name:          t.Name,
		Attempts:      1,
		ExitCode:      &res.ExitCode,
		StartedAt:     &record.Time{Time: res.Started},
		DurationMS:    ptr(res.Duration.Milliseconds()),
		Sandbox:       ptr(string(box.Tier)),
		ProcessesLeft: &res.ProcessesLeft,
	}
	if res.Started.IsZero() { // it never was: nothing is known of how it went
		got = record.Task{Name: t.Name}
	}
	if res.Signal != "" {
		got.Signal = &res.Signal
	}
	switch {
	case res.Cancelled:
		got.Status, got.Reason = record.Cancelled, ptr(string(pipeline.Signal))
	case res.TimedOut:
		got.Status, got.ExitCode = record.TimedOut, ptr(124)
	case res.Started.IsZero():
		got.Status = record.Failed
	case res.ExitCode == 0 && res.Signal == "":
		got.Status = record.Passed
	default:
		got.Status = record.Failed
	}
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
	env, _, err := r.Environment(t, box)
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

// folder is where the task works, as the command sees it. It is looked for on the real disk.
func folder(dir string, t *pipeline.Task, box sandbox.Box) (string, error) {
	rel := filepath.FromSlash(t.Dir)
	if rel == "" {
		rel = "."
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("task %q has dir = %q, which is not inside the root: write a path relative to the folder of PIPELINE.hcl", t.Name, t.Dir)
	}
	at := filepath.Join(dir, rel)
	switch info, err := os.Stat(onDisk(at, box)); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", fmt.Errorf("task %q works in %s, which does not exist: make that folder, or mend dir in PIPELINE.hcl", t.Name, at)
	case err != nil:
		return "", fmt.Errorf("task %q works in %s: %w", t.Name, at, err)
	case !info.IsDir():
		return "", fmt.Errorf("task %q works in %s, which is not a folder: mend dir in PIPELINE.hcl", t.Name, at)
	}
	if to, inside := leads(dir, at, box); !inside {
		return "", fmt.Errorf("task %q has dir = %q, which leads outside the root through a link (to %s): write a path inside the folder of PIPELINE.hcl", t.Name, t.Dir, to)
	}
	return at, nil
}

// leads says where a path really lies, links resolved as a command in the box sees them, and whether that is below dir.
func leads(dir, at string, box sandbox.Box) (to string, inside bool) {
	root, err := real(dir, box)
	if err != nil {
		return err.Error(), false
	}
	if to, err = real(at, box); err != nil {
		return err.Error(), false
	}
	rel, err := filepath.Rel(root, to)
	return to, err == nil && filepath.IsLocal(rel)
}

// real is a path on the disk with no link in it. A link to the tree's own place is one to the copy in View.
func real(path string, box sandbox.Box) (string, error) {
	for range 40 {
		to, err := filepath.EvalSymlinks(onDisk(path, box))
		if err != nil {
			return "", err
		}
		if path = onDisk(to, box); path == to {
			return to, nil
		}
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// onDisk is where a path that a command in the box sees really lies: in View the copy stands at the tree's place.
func onDisk(path string, box sandbox.Box) string {
	if box.Tier != sandbox.View || box.Copy == "" || box.Tree == "" {
		return path
	}
	rel, err := filepath.Rel(box.Tree, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(box.Copy, rel)
}

// unrunnable says why the program of a task could not be run, or "" when it was run and failed by itself.
func unrunnable(t *pipeline.Task, c sandbox.Command, box sandbox.Box, res sandbox.Result) string {
	if t.Run.Argv == nil || res.ExitCode != 127 && res.ExitCode != 126 {
		return "" // a shell has said it in the output
	}
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		switch executable(onDisk(path, box)) {
		case found:
			return ""
		case refused:
			return fmt.Sprintf("task %q: %s cannot be executed: make it executable (chmod +x), or name its interpreter in run", t.Name, path)
		}
		return fmt.Sprintf("task %q: there is no program %s: mend run, or make it in a task that this one depends on", t.Name, path)
	}
	list := parse(c.Env)["PATH"]
	best := absent
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Dir, dir)
		}
		best = max(best, executable(onDisk(filepath.Join(dir, name), box)))
	}
	switch best {
	case found:
		return ""
	case refused:
		return fmt.Sprintf("task %q: %s in PATH cannot be executed: make it executable (chmod +x)", t.Name, name)
	}
	return fmt.Sprintf("task %q: the program %s was not found in PATH: install it, or mend run or PATH", t.Name, name)
}

// What a file is as a program.
const (
	absent = iota
	refused
	found
)

func executable(path string) int {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return absent
	case err != nil, info.IsDir(), info.Mode()&0o111 == 0:
		return refused
	}
	return found
}
