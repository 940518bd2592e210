package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// nth is a shell text that counts its attempts in n and then does what body says of it.
func nth(body string) pipeline.Command {
	return shell("n=$(cat count 2>/dev/null || echo 0); n=$((n+1)); echo $n >count\n" + body)
}

// A retry is in the record, in the journal, in one log, and told to the observer; the times are those of all attempts.
func TestRetryIsRecorded(t *testing.T) {
	t.Parallel()
	const delay = 150 * time.Millisecond
	r := runOf(t, &pipeline.Task{
		Name: "x", Run: nth("echo try $n; sleep 60 & exit 75"), Retry: pipeline.Retry{Attempts: 2, Delay: delay},
	})
	var told []string
	var ended time.Time // the first attempt
	r.Observer.Retried = func(t *pipeline.Task, attempt int, before record.Task) {
		ended = time.Now()
		told = append(told, fmt.Sprint(t.Name, attempt, *before.ExitCode, before.Attempts, before.Status))
	}
	start := time.Now()
	tasks, sealed := carry(t, t.Context(), r)
	got := tasks[0]
	if strings.Join(told, " ") != "x2 75 1failed" {
		t.Errorf("told %q", told)
	}
	if got.Attempts != 2 || *got.ExitCode != 75 || *got.DurationMS < delay.Milliseconds() || got.StartedAt.Before(start) || got.StartedAt.After(ended) || *got.ProcessesLeft != 2 {
		t.Errorf("%+v took %d ms from %v, %d processes left", got, *got.DurationMS, got.StartedAt, *got.ProcessesLeft)
	}
	log, err := sealed.Tail("x", 1000)
	if err != nil || string(log) != "try 1\n[async-pipeline: attempt 2 of 2, after exit code 75]\ntry 2\n" {
		t.Errorf("log %q, %v", log, err)
	}
	events, err := os.ReadFile(filepath.Join(sealed.Dir, "events.jsonl"))
	if err != nil || !strings.Contains(string(events), `"type":"task_retried","task":"x","attempt":2,"exit_code":75,"delay_ms":150,`) || !strings.Contains(string(events), `"attempts":2,`) {
		t.Errorf("events %s, %v", events, err)
	}
}

// A signal ends the waiting, and the task is cancelled.
func TestRetryIsCancelled(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "x", Run: nth("exit 75"), Retry: pipeline.Retry{Attempts: 5, Delay: time.Hour}}
	r := runOf(t, task)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.Observer.Retried = func(*pipeline.Task, int, record.Task) { time.AfterFunc(50*time.Millisecond, cancel) }
	start := time.Now()
	tasks, _ := carry(t, ctx, r)
	if got := tasks[0]; got.Status != record.Cancelled || str(got.Reason) != "signal" || got.Attempts != 1 || *got.ExitCode != 75 || time.Since(start) > 3*time.Minute {
		t.Errorf("%+v after %v", got, time.Since(start))
	}
}

// A hint is in the record and in the journal, for a task that failed, and looks at the end of a long output.
func TestHintIsRecorded(t *testing.T) {
	t.Parallel()
	text := "echo need GOPRIVATE; yes | head -c 200000; echo need NPM_CONFIG_X"
	r := runOf(t,
		&pipeline.Task{Name: "fails", Run: shell("n=NPM_CONFIG; g=GOPRIV; echo need ${g}ATE; yes | head -c 200000; echo need ${n}_X; exit 1")},
		&pipeline.Task{Name: "passes", Run: shell(text)},
	)
	r.Parallel, r.KeepGoing = 1, true
	r.Tasks.Environ = append(r.Tasks.Environ, "NPM_CONFIG_X=sesame-sesame", "GOPRIVATE=corp")
	tasks, sealed := carry(t, t.Context(), r)
	if want := `NPM_CONFIG_X is set in your shell but not passed: pass_env = ["NPM_CONFIG_X"]`; str(tasks[0].Hint) != want || str(sealed.Task("fails").Hint) != want || tasks[1].Hint != nil {
		t.Errorf("hints %s, %s", str(tasks[0].Hint), str(tasks[1].Hint))
	}
	events, err := os.ReadFile(filepath.Join(sealed.Dir, "events.jsonl"))
	if err != nil || !strings.Contains(string(events), `"hint":"NPM_CONFIG_X is set`) || strings.Contains(string(events), "sesame") {
		t.Errorf("events %s, %v", events, err)
	}
}
