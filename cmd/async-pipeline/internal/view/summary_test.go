package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func TestSummaryAtFortyColumns(t *testing.T) {
	t.Parallel()
	golden(t, "summary_40", func(s *Screen) {
		s.Columns = 40
		s.Summary(record.Run{
			ID: "20261121T024000Z-7f3a", Status: record.Failed, DurationMS: 31000,
			Tasks: []record.Task{{Status: record.Passed}, {Status: record.Failed}, {Status: record.Passed}},
		}, []Failure{{
			Task: record.Task{
				Name: "test", Status: record.Failed, ExitCode: ptr(1), DurationMS: ptr(int64(420)), Attempts: 3,
				Hint: ptr("NPM_CONFIG_X is set in your shell but not passed: pass_env = [\"NPM_CONFIG_X\"]"),
			},
			Command: "go test ./...", Log: "/home/me/shop/.async/runs/x/logs/test.log", Tail: []byte("one\ntwo\n"),
			Failing: Failing{Names: []string{"TestAdd", "cart > adds\x1b[2J a thing to the cart of somebody else", "TestSub", "TestMul", "TestDiv", "TestMod", "TestNeg", "TestAbs"}},
		}}, []Stretch{{"generate", 1200 * time.Millisecond}, {"build", 8400 * time.Millisecond}, {"test", 21 * time.Second}},
			[]Next{{"run it again", "async-pipeline run test"}, {"have a fix proposed", "async-pipeline heal 20261121T024000Z-7f3a test"}}, "… stands for the value of token (sensitive): put it in.")
	})
}

func TestCriticalPath(t *testing.T) {
	t.Parallel()
	long := make([]Stretch, 40)
	for i := range long {
		long[i] = Stretch{fmt.Sprintf("t%d", i), time.Duration(i%10) * time.Second}
	}
	equal := make([]Stretch, 20)
	for i := range equal {
		equal[i] = Stretch{fmt.Sprintf("t%d", i), time.Second}
	}
	three := []Stretch{{"generate", 1200 * time.Millisecond}, {"build", 8400 * time.Millisecond}, {"test", 21 * time.Second}}
	for _, tt := range []struct {
		name  string
		tasks int
		took  int64
		path  []Stretch
		want  string
	}{
		{"three", 5, 31000, three, "critical path: generate 1.2s → build 8.4s → test 21.0s (30.6s of 31.0s)\n"},
		{"quick", 5, 1000, three, ""},
		{"one task", 1, 31000, three[:1], ""},
		{"none", 5, 31000, nil, ""},
		{"the slowest of many", 40, 200000, long, "critical path: … → t8 8.0s → t9 9.0s → … → t18 8.0s → t19 9.0s → … →\n" +
			"  t28 8.0s → t29 9.0s → … → t38 8.0s → t39 9.0s (3m00s of 3m20s)\n"},
		{"many of the same", 20, 20000, equal, "critical path: t0 1.0s → t1 1.0s → t2 1.0s → t3 1.0s → t4 1.0s → t5 1.0s →\n" +
			"  t6 1.0s → t7 1.0s → … (20.0s of 20.0s)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := (&Screen{}).critical(record.Run{DurationMS: tt.took, Tasks: make([]record.Task, tt.tasks)}, tt.path)
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// Many failures are shown shortly, and those that are not are counted.
func TestSummaryOfManyFailures(t *testing.T) {
	t.Parallel()
	tail := []byte(strings.Repeat("x\n", 30))
	for n, lines := range map[int]int{1: 20, 3: 20, 4: 8, 10: 8, 11: 3, 30: 3} {
		var b strings.Builder
		var failures []Failure
		tasks := make([]record.Task, 50)
		for i := range tasks {
			tasks[i].Status = record.Failed
		}
		for range n {
			failures = append(failures, Failure{Task: record.Task{Name: "t", Status: record.Failed}, Tail: tail})
		}
		(&Screen{W: &b}).Summary(record.Run{Tasks: tasks}, failures, nil, nil, "")
		if got := strings.Count(b.String(), "│ x"); got != n*lines {
			t.Errorf("%d failures: %d lines, want %d", n, got, n*lines)
		}
		if want := fmt.Sprintf("✗ and %d more failed\n", 50-n); !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for have, want := range map[int]int{0: 80, 10: 30, 40: 40, 80: 80, 95: 95, 300: 100} {
		if got := (&Screen{Columns: have}).wide(); got != want {
			t.Errorf("%d columns: %d, want %d", have, got, want)
		}
	}
	for text, want := range map[string]int{"abc": 3, "日本": 4, "e\u0301": 1, "🚀": 2, "é": 1, "": 0} {
		if got := columns(text); got != want {
			t.Errorf("columns(%q) = %d, want %d", text, got, want)
		}
	}
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{{"日本語", 4, "日…"}, {"日本語", 5, "日本…"}, {"日本語", 6, "日本語"}, {"日本語", 2, "…"}, {"abc", 1, "…"}, {"abc", 0, ""}} {
		if got := cut(tt.text, tt.width); got != tt.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// printable finds the first byte that is not, wherever it stands.
func TestPrintable(t *testing.T) {
	t.Parallel()
	for length := range 40 {
		text := []byte(strings.Repeat("a", length))
		if got := printable(text); got != length {
			t.Fatalf("%d bytes: %d", length, got)
		}
		for at := range length {
			for c := range 256 {
				text[at] = byte(c)
				want := length
				if c < 0x20 || c >= 0x7f {
					want = at
				}
				if got := printable(text); got != want {
					t.Fatalf("%#x at %d of %d: %d", c, at, length, got)
				}
			}
			text[at] = '~'
		}
	}
}

// The end of a failed task's output is shown once: where the task fails, or in the summary where that is too far
// above.
func TestShown(t *testing.T) {
	t.Parallel()
	failed := record.Task{Name: "test", Status: record.Failed, ExitCode: ptr(1)}
	var b strings.Builder
	lines := (&Screen{W: &b}).Lines([]string{"test", "other"})
	if lines.Shown("test") {
		t.Error("shown before it printed")
	}
	lines.Output("test", []byte("got 1\nwant 2"))
	lines.Finished(failed)
	if !lines.Shown("test") || !strings.Contains(b.String(), "want 2\n") {
		t.Errorf("not shown:\n%s", b.String())
	}
	lines.Output("other", []byte(strings.Repeat("x\n", nearby)))
	if lines.Shown("test") {
		t.Error("shown far below")
	}

	live := (&Screen{}).Live([]string{"test"}, time.Now)
	live.Started(&pipeline.Task{Name: "test"})
	live.Output("test", []byte(strings.Repeat("x\n", tailBytes)+"got 1\nwant 2"))
	live.Finished(failed)
	frame := string(live.Frame(80, 24, false))
	if !live.Shown("test") || !strings.Contains(frame, "✗ test failed: exit 1\r\n  │ x\r\n") || !strings.Contains(frame, "  │ got 1\r\n  │ want 2\r\n") {
		t.Errorf("%q", frame)
	}
}
