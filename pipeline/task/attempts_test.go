package task

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// nth is a shell text that counts its attempts in n and then does what body says of it.
func nth(body string) pipeline.Command {
	return shell("n=$(cat count 2>/dev/null || echo 0); n=$((n+1)); echo $n >count\n" + body)
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		task     pipeline.Task
		status   string
		code     int // -1: null
		attempts int
		out      string
	}{
		{"no retry", pipeline.Task{Run: nth("echo no; exit 75")}, "failed", 75, 1, "no\n"},
		{"passes the second time", pipeline.Task{Run: nth("echo try $n; test $n = 2"), Retry: pipeline.Retry{Attempts: 3}}, "passed", 0, 2, "try 1\n[async-pipeline: attempt 2 of 3, after exit code 1]\ntry 2\n"},
		{"passes at once", pipeline.Task{Run: nth("true"), Retry: pipeline.Retry{Attempts: 3}}, "passed", 0, 1, ""},
		{
			"the last exit code counts, and a line of ours begins a line",
			pipeline.Task{Run: nth("printf try$n; exit $((70+n))"), Retry: pipeline.Retry{Attempts: 3}},
			"failed", 73, 3, "try1\n[async-pipeline: attempt 2 of 3, after exit code 71]\ntry2\n[async-pipeline: attempt 3 of 3, after exit code 72]\ntry3",
		},
		{"on_exit", pipeline.Task{Run: nth("exit $((74+n))"), Retry: pipeline.Retry{Attempts: 5, OnExit: []int{75, 77}}}, "failed", 76, 2, "[async-pipeline: attempt 2 of 5, after exit code 75]\n"},
		{"on_exit names another", pipeline.Task{Run: nth("exit 1"), Retry: pipeline.Retry{Attempts: 5, OnExit: []int{75}}}, "failed", 1, 1, ""},
		{"a signal", pipeline.Task{Run: nth("test $n = 2 || kill -KILL $$"), Retry: pipeline.Retry{Attempts: 2}}, "passed", 0, 2, "[async-pipeline: attempt 2 of 2, after exit code 137 (SIGKILL)]\n"},
		{"a timeout", pipeline.Task{Run: nth("exec sleep 60"), Timeout: 200 * time.Millisecond, Retry: pipeline.Retry{Attempts: 3}}, "timed_out", 124, 1, ""},
		{
			"the timeout leaves no time for the delay",
			pipeline.Task{Run: nth("echo no; exit 75"), Timeout: 10 * time.Second, Retry: pipeline.Retry{Attempts: 9, Delay: time.Minute}},
			"failed", 75, 1, "no\n[async-pipeline: not tried again after exit code 75: the timeout of 10s leaves no time for it]\n",
		},
		{"no such program", pipeline.Task{Run: argv("no-such-program"), Retry: pipeline.Retry{Attempts: 3}}, "failed", 127, 1, "no-such-program"},
		{"no such program, asked for", pipeline.Task{Run: argv("no-such-program"), Retry: pipeline.Retry{Attempts: 3, OnExit: []int{127}}}, "failed", 127, 3, "attempt 3 of 3, after exit code 127"},
		{"127 of its own", pipeline.Task{Run: nth("test $n = 2 || exit 127"), Retry: pipeline.Retry{Attempts: 3}}, "passed", 0, 2, "[async-pipeline: attempt 2 of 3, after exit code 127]\n"},
		{"could not be started", pipeline.Task{Dir: "none", Run: shell("true"), Retry: pipeline.Retry{Attempts: 3}}, "failed", -1, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.task.Name = "x"
			r := runner(t, &tt.task)
			var out strings.Builder
			got, err := r.RunTask(t.Context(), r.Config.Root, &tt.task, tree, &out)
			code := -1
			if got.ExitCode != nil {
				code = *got.ExitCode
			}
			if err != nil || got.Status != tt.status || code != tt.code || got.Attempts != tt.attempts {
				t.Errorf("%s, exit code %d, %d attempts, error %s, %v; want %s, %d, %d", got.Status, code, got.Attempts, str(got.Error), err, tt.status, tt.code, tt.attempts)
			}
			// Of a program that is not there a line is said besides.
			if got := out.String(); got != tt.out && (code != 127 || !strings.Contains(got, tt.out)) {
				t.Errorf("output %q, want %q", got, tt.out)
			}
		})
	}
}

// The timeout is of all attempts: each is far from it, and all together are beyond it.
func TestRetryHasOneTimeout(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "x", Run: nth("sleep 1; exit 1"), Timeout: 1800 * time.Millisecond, Retry: pipeline.Retry{Attempts: 9}}
	r := runner(t, task)
	var out strings.Builder
	got, err := r.RunTask(t.Context(), r.Config.Root, task, tree, &out)
	if err != nil || got.Status != "timed_out" || *got.ExitCode != 124 || got.Attempts > 2 {
		t.Errorf("%+v, %v", got, err)
	}
	// A machine so busy that the first attempt takes all the time has no second one.
	if want := "[async-pipeline: attempt 2 of 9, after exit code 1]\n"; out.String() != want && got.Attempts > 1 {
		t.Errorf("output %q, want %q", out.String(), want)
	}
}

// What could not be started a second time is failed, and says what is known of the first.
func TestRetryThatCannotStart(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "x", Run: shell("rmdir \"$TMPDIR\"; exit 75"), Retry: pipeline.Retry{Attempts: 3}}
	r := runner(t, task)
	tmp := filepath.Join(t.TempDir(), "tmp")
	check(t, os.Mkdir(tmp, 0o700))
	got, err := r.RunTask(t.Context(), r.Config.Root, task, sandbox.Box{Tier: sandbox.None, Tmp: tmp}, nil)
	if err == nil || got.Status != record.Failed || got.Attempts != 1 || *got.ExitCode != 75 || got.StartedAt == nil || got.Error == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// While a person has stopped the program the timeout of all attempts does not count. It is not parallel: it stops
// whatever runs.
func TestRetryAfterAPause(t *testing.T) {
	task := &pipeline.Task{Name: "x", Run: nth("test $n = 2 || exit 75"), Timeout: 4 * time.Second, Retry: pipeline.Retry{Attempts: 2}}
	r := runner(t, task)
	got, err := r.Watched(t.Context(), r.Config.Root, task, tree, nil, Watch{Retried: func(int, record.Task) {
		sandbox.Suspend()
		defer sandbox.Resume()
		time.Sleep(task.Timeout + 100*time.Millisecond)
	}})
	if err != nil || got.Status != record.Passed || got.Attempts != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}
