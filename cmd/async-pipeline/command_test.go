package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func TestCIMode(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "1": true, "true": true, "yes": true, "no": true} {
		if got := (process{environ: []string{"CI=" + value}}).open().ciMode(); got != want {
			t.Errorf("CI=%q: %v", value, got)
		}
	}
	if (process{}).open().ciMode() {
		t.Error("CI mode without CI")
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

// Help is read in a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for _, c := range everyVerb() {
		text := c.Long + "\n" + c.UsageString()
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
			if strings.Contains(line, "(default )") {
				t.Errorf("%s: a default that is none: %s", c.CommandPath(), line)
			}
		}
	}
}

func TestGiven(t *testing.T) {
	t.Parallel()
	c := &pipeline.Config{Secrets: []pipeline.Secret{{Name: "var.token", Value: "abc"}, {Name: "KEY", Value: "hunter2hunter2"}, {Name: "EMPTY"}}}
	for _, tt := range []struct {
		name        string
		files, vars []string
		want, note  string
	}{
		{name: "nothing", want: "async-pipeline run test"},
		{name: "plain", vars: []string{"go=go1.26", "a=b=c", "empty="}, want: "async-pipeline run --var go=go1.26 --var a=b=c --var empty= test"},
		{name: "quoted", files: []string{"my vars"}, vars: []string{"x=a b;$(c)'d"}, want: `async-pipeline run --var-file 'my vars' --var 'x=a b;$(c)'\''d' test`},
		{
			name: "sensitive", vars: []string{"token=x y", "x=1"}, want: "async-pipeline run --var token=… --var x=1 test",
			note: "… stands for the value of token (sensitive): put it in.",
		},
		{
			name: "holds a secret", vars: []string{"url=https://hunter2hunter2@x"}, want: "async-pipeline run --var url=… test",
			note: "… stands for the value of url (sensitive): put it in.",
		},
		{
			name: "cannot be copied", vars: []string{"a=1\n2", "b=\x1b[2J", "c=" + strings.Repeat("x", 1001)},
			want: "async-pipeline run --var a=… --var b=… --var c=… test",
			note: "… stands for the values of a (not all of it can be shown), b (not all of it can be shown), c (long): put it in.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			prog := process{}.open()
			prog.VarFiles, prog.Vars = tt.files, tt.vars
			g := repeatedVars(prog, c)
			args := append(append([]string{"run"}, g.words...), "test")
			if got := g.typed(prog, args...); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := g.note(); got != tt.note {
				t.Errorf("got  %s\nwant %s", got, tt.note)
			}
		})
	}
}

func TestRewrapped(t *testing.T) {
	t.Parallel()
	text := "One line of text that was wrapped\nat another width.\n\nA list:\n\n  first   in its own columns, which may be wide\n  second\n"
	want := "One line of text that was\nwrapped at another width.\n\nA list:\n\n  first   in its own columns, which may be wide\n  second"
	if got := rewrapped(text, 26); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFailingOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "logs"), 0o700))
	write := func(name, log string) *record.Task {
		must(t, os.WriteFile(filepath.Join(dir, "logs", name+".log"), []byte(log), 0o600))
		return &record.Task{Name: name, Log: &record.Log{Path: "logs/" + name + ".log"}}
	}
	noise := strings.Repeat("--- noise\n", 400<<10) // 4 MB
	s := &record.Sealed{Dir: dir}
	left := write("left", "FAILED test_a.py::test_one\n")
	left.Log.LeftOutBytes = 1
	for _, tt := range []struct {
		task *record.Task
		of   int
		want []string
		open bool
	}{
		{write("go", "--- FAIL: TestA (0.00s)\nFAIL\n"), 1, []string{"TestA"}, false},
		{write("node", "✖ totals (1.5ms)\n"), 1, []string{"totals"}, false},
		{write("none", "oops\n"), 1, nil, false},
		{left, 1, []string{"test_a.py::test_one"}, true},
		{write("big", "--- FAIL: TestFirst (0.00s)\n"+noise+"--- FAIL: TestLast (0.00s)\n"), 1, []string{"TestLast"}, true},
		{write("many", "--- FAIL: TestFirst (0.00s)\n"+noise[:300<<10]+"\n--- FAIL: TestLast (0.00s)\n"), 30, []string{"TestLast"}, true},
		{&record.Task{Name: "gone", Log: &record.Log{Path: "logs/gone.log"}}, 1, nil, false},
	} {
		if got := failingOf(s, tt.task, tt.of); !slices.Equal(got.Names, tt.want) || got.MayBeMore != tt.open {
			t.Errorf("%s: %+v, want %q %v", tt.task.Name, got, tt.want, tt.open)
		}
	}
}

// A folder that cannot be written in is said before anything runs.
func TestTraceInALockedFolder(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root writes everywhere")
	}
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o500))
	prog := process{dir: dir}.open()
	if _, err := traceFile(prog, filepath.Join(dir, "trace.json")); err == nil || !strings.Contains(err.Error(), "nothing can be written in the folder") {
		t.Errorf("%v", err)
	}
}
