package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func TestFailingOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, log string) *record.Task {
		if err := os.WriteFile(filepath.Join(dir, "logs", name+".log"), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
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
