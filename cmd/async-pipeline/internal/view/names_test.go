package view

import (
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// No line of list and explain is wider than the screen for a name that is nearly as wide.
func TestLongNames(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("n", 77), strings.Repeat("m", 78)
	argv := []pipeline.Text{{Value: "true"}}
	c := &pipeline.Config{
		Tasks: []*pipeline.Task{
			{Name: long, Run: pipeline.Command{Argv: argv}, Description: "What it is for"},
			{Name: longer, DependsOn: []string{long, longer, "a"}, Run: pipeline.Command{Argv: argv}},
		},
		Jobs: []*pipeline.Job{{Name: long, Tasks: []string{longer, long}}},
	}
	got := golden(t, "long_names", func(s *Screen) {
		s.Tasks(c)
		s.Explain(Explained{Task: c.Tasks[0], Before: []string{longer, long, "a", "b"}, Jobs: []string{"a", longer}}, time.Time{})
	})
	for _, name := range []string{long, longer} {
		if n := strings.Count(got, name); n < 4 {
			t.Errorf("%s… stands there whole %d times only", name[:3], n)
		}
	}
}

// Why a task could not be carried out stands in full once: in the summary. The line that is told when it ends is one line.
func TestWhyItCouldNotBeCarriedOut(t *testing.T) {
	t.Parallel()
	why := `task "a": the program no-such-program was not found in PATH: install it, or correct run or PATH`
	for columns, want := range map[int]string{
		0: "✗ a failed: the program no-such-program was not found in PATH: install it, or c…\n" +
			"\n✗ a failed\n  the program no-such-program was not found in PATH: install it, or correct run or PATH\n",
		80: "✗ a failed: the program no-such-program was not found in PATH: install it, or c…\n" +
			"\n✗ a failed\n  the program no-such-program was not found in PATH: install it, or correct run\n  or PATH\n",
		32: "✗ a\n  failed: the program no-such-p…\n" +
			"\n✗ a failed\n  the program no-such-program\n  was not found in PATH: install\n  it, or correct run or PATH\n",
		50: "✗ a failed: the program no-such-program was not f…\n" +
			"\n✗ a failed\n  the program no-such-program was not found in\n  PATH: install it, or correct run or PATH\n",
	} {
		task := record.Task{Name: "a", Status: record.Failed, Error: &why}
		var b strings.Builder
		s := &Screen{W: &b, Columns: columns}
		l := s.Lines([]string{"a"})
		l.Finished(task)
		s.Summary(record.Run{Tasks: []record.Task{task}}, []Failure{{Task: task}}, nil, nil, "")
		if !strings.HasPrefix(b.String(), want+"\n1 failed") {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, b.String(), want)
		}
	}
	code, took := 3, int64(1000)
	for columns, want := range map[int]string{40: "\n✗ flaky\n  failed: exit 3 (2 attempts) after 1.0s\n", 80: "\n✗ flaky failed: exit 3 (2 attempts) after 1.0s\n"} {
		task := record.Task{Name: "flaky", Status: record.Failed, ExitCode: &code, Attempts: 2, DurationMS: &took}
		if got := (&Screen{Columns: columns}).failure(Failure{Task: task}, 3); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}
