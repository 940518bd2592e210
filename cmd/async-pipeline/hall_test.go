package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	of := func(statuses ...string) []record.Task {
		var tasks []record.Task
		for _, s := range statuses {
			tasks = append(tasks, record.Task{Status: s})
		}
		return tasks
	}
	for _, tt := range []struct {
		name        string
		tasks       []record.Task
		interrupted int
		status      string
		code        int
	}{
		{"nothing to do", nil, 0, record.Passed, 0},
		{"all passed", of(record.Passed, record.Cached), 0, record.Passed, 0},
		{"a signal after the last task changes nothing", of(record.Passed), 130, record.Passed, 0},
		{"failed", of(record.Passed, record.Failed, record.Skipped), 0, record.Failed, 1},
		{"timed out", of(record.TimedOut), 0, record.Failed, 1},
		{"SIGINT", of(record.Passed, record.Cancelled, record.Skipped), 130, record.Interrupted, 130},
		{"a task that the signal itself ended", of(record.Failed), 143, record.Interrupted, 143},
		{"nobody reads", of(record.Cancelled), exitPipe, record.Interrupted, 141},
		{"left out without a reason is no pass", of(record.Passed, record.Skipped), 0, record.Interrupted, 2},
		{"cancelled without a signal is no pass", of(record.Passed, record.Cancelled), 0, record.Interrupted, 2},
		{"an unknown status is no pass", of("odd"), 0, record.Interrupted, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if s, c := status(tt.tasks, tt.interrupted); s != tt.status || c != tt.code {
				t.Errorf("got %s %d, want %s %d", s, c, tt.status, tt.code)
			}
		})
	}
}

func TestCIMode(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "1": true, "true": true, "yes": true, "no": true} {
		if got := (&hall{environ: []string{"CI=" + value}}).ciMode(); got != want {
			t.Errorf("CI=%q: %v", value, got)
		}
	}
	if (&hall{}).ciMode() {
		t.Error("CI mode without CI")
	}
}

func TestTyped(t *testing.T) {
	t.Parallel()
	if got, want := (&hall{}).typed("fix", "apply", "r", "t"), "async-pipeline fix apply r t"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := (&hall{into: "my dir"}).typed("run", "it's"), `async-pipeline -C 'my dir' run 'it'\''s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPerson(t *testing.T) {
	t.Parallel()
	if got := (&hall{environ: []string{"USER=me"}}).person(); got != "me" {
		t.Errorf("got %q", got)
	}
	for _, environ := range [][]string{nil, {"USER="}} {
		if got := (&hall{environ: environ}).person(); got == "" {
			t.Error("nobody")
		}
	}
}

func TestCacheDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open", "async-pipeline")
	if err := os.MkdirAll(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, xdg, home, want string
	}{
		{"XDG_CACHE_HOME", filepath.Join(dir, "xdg"), filepath.Join(dir, "home"), filepath.Join(dir, "xdg", "async-pipeline")},
		{"HOME", "", filepath.Join(dir, "home"), filepath.Join(dir, "home", ".cache", "async-pipeline")},
		{"a relative one does not count", "relative", filepath.Join(dir, "home"), filepath.Join(dir, "home", ".cache", "async-pipeline")},
		{"HOME cannot be written", "", file, filepath.Join(dir, "tmp", "async-pipeline-")},
		{"others could write it", filepath.Join(dir, "open"), filepath.Join(dir, "home"), filepath.Join(dir, "home", ".cache", "async-pipeline")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := (&hall{environ: []string{"XDG_CACHE_HOME=" + tt.xdg, "HOME=" + tt.home, "TMPDIR=" + filepath.Join(dir, "tmp")}}).cacheDir()
			if err != nil || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	set := &redact.Set{}
	set.Add("TOKEN", "hunter2-hunter2")
	set.Add("OTHER", "other-secret")
	task := func(change func(*pipeline.Task)) string {
		x := &pipeline.Task{
			Name: "t", Pos: pipeline.Pos{Line: 3}, Run: pipeline.Command{Argv: []pipeline.Text{{Value: "echo"}, {Value: "hunter2-hunter2"}}},
			OnFail: []pipeline.Hook{{Pos: pipeline.Pos{Line: 5}, Run: &pipeline.RunHook{}}},
		}
		change(x)
		print, err := fingerprint(x, set)
		if err != nil {
			t.Fatal(err)
		}
		return print
	}
	base := task(func(*pipeline.Task) {})
	if task(func(x *pipeline.Task) { x.Pos.Line, x.OnFail[0].Pos.Line = 9, 9 }) != base {
		t.Error("the place in the file counts")
	}
	if task(func(x *pipeline.Task) { x.Run.Argv[1].Value = "other-secret" }) != base {
		t.Error("the secret's value counts")
	}
	if task(func(x *pipeline.Task) { x.Run.Argv[0].Value = "printf" }) == base || !strings.HasPrefix(base, "sha256:") {
		t.Error("the command does not count")
	}
}

func TestDiagnosticsJSON(t *testing.T) {
	t.Parallel()
	got := diagnostics(pipeline.Errors{
		{Pos: pipeline.Pos{File: "f", Line: 2, Column: 3}, Summary: "s", Detail: "d", Suggestion: "x"},
		{Warning: true, Summary: "w"},
	})
	want := []diagnostic{
		{"error", "s", orNull("d"), orNull("f"), orNull(2), orNull(3), orNull("x")},
		{"warning", "w", nil, nil, nil, nil, nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if diagnostics(nil) == nil {
		t.Error("no faults are null and not []")
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, mode := range map[string]os.FileMode{"yes": 0o755, "no": 0o644} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	h := &hall{environ: []string{"PATH=relative:" + root}}
	for program, want := range map[string]bool{
		"./yes": true, "yes": true, filepath.Join(root, "yes"): true, "./no": false, "no": false, "./absent": false, "absent": false,
	} {
		if err := h.look(root, program); (err == nil) != want {
			t.Errorf("look(%s) = %v", program, err)
		}
	}
}

// Help is read in a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		text := c.Long + "\n" + c.UsageString()
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
			if strings.Contains(line, "(default )") {
				t.Errorf("%s: a default that is none: %s", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&hall{}).command())
}
