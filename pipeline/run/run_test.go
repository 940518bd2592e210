package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

func argv(words ...string) pipeline.Command {
	c := pipeline.Command{Argv: []pipeline.Text{}}
	for _, w := range words {
		c.Argv = append(c.Argv, pipeline.Text{Value: w})
	}
	return c
}

func shell(text string) pipeline.Command {
	return pipeline.Command{Shell: pipeline.Text{Value: text}}
}

// check ends the test where there is an error.
func check(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// runOf is a Run of these tasks in a new folder.
func runOf(t testing.TB, tasks ...*pipeline.Task) *Run {
	t.Helper()
	c := &pipeline.Config{Root: t.TempDir(), Tasks: tasks}
	g, err := pipeline.Select(c, nil, false)
	check(t, err)
	return &Run{
		Config: c, Graph: g, Store: record.At(c.Root),
		Tasks: &task.Runner{
			Config:  c,
			Environ: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/me", "USER=me"},
			Redact:  new(redact.Set),
		},
	}
}

// begin makes a draft for r.
func begin(t testing.TB, r *Run) *record.Draft {
	t.Helper()
	d, err := r.Store.Begin(time.Now(), r.Tasks.Redact.Bytes, nil)
	check(t, err)
	return d
}

// carry runs all of r's tasks and returns the sealed record.
func carry(t testing.TB, ctx context.Context, r *Run) ([]record.Task, *record.Sealed) {
	t.Helper()
	sealed, err := r.Do(ctx)
	check(t, err)
	return sealed.Tasks, sealed
}

func str(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func TestRunRecordsEveryTask(t *testing.T) {
	t.Parallel()
	r := runOf(t,
		&pipeline.Task{Name: "build", Run: shell("echo built; echo to stderr >&2; echo again")},
		&pipeline.Task{Name: "test", DependsOn: []string{"build"}, Run: shell("echo wrong; exit 3")},
		&pipeline.Task{Name: "deploy", DependsOn: []string{"test"}, Run: shell("touch deployed")},
		&pipeline.Task{Name: "docs", DependsOn: []string{"build"}, Run: shell("touch docs")},
	)
	r.Parallel = 1
	var seen []string
	var output strings.Builder
	r.Observer = Observer{
		Started: func(t *pipeline.Task) { seen = append(seen, "started "+t.Name) },
		Output: func(t *pipeline.Task, chunk []byte) {
			if t.Name == "build" {
				output.Write(chunk)
			}
		},
		Finished: func(t *pipeline.Task, r record.Task) { seen = append(seen, r.Status+" "+t.Name) },
	}
	tasks, sealed := carry(t, t.Context(), r)
	var got []string
	for _, task := range tasks {
		code := "null"
		if task.ExitCode != nil {
			code = fmt.Sprint(*task.ExitCode)
		}
		got = append(got, fmt.Sprintf("%s %s %s reason=%s by=%s attempts=%d", task.Name, task.Status, code, str(task.Reason), str(task.BlockedBy), task.Attempts))
	}
	want := []string{
		"build passed 0 reason=null by=null attempts=1",
		"test failed 3 reason=null by=null attempts=1",
		"deploy skipped null reason=dependency by=test attempts=0",
		"docs skipped null reason=fail_fast by=test attempts=0",
	}
	slices.Sort(got) // which of test's two successors comes first is the graph's affair
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("tasks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, name := range []string{"started build", "passed build", "started test", "failed test"} {
		if seen[i] != name {
			t.Errorf("seen %v", seen)
		}
	}
	if rest := seen[4:]; len(rest) != 2 || !slices.Contains(rest, "skipped deploy") || !slices.Contains(rest, "skipped docs") {
		t.Errorf("skipped ones: %v", rest)
	}
	log, err := sealed.Tail("build", 1000)
	if want := "built\nto stderr\nagain\n"; err != nil || string(log) != want || output.String() != want {
		t.Errorf("log %q, observer %q, %v", log, output.String(), err)
	}
	build := sealed.Task("build")
	if build.Log.Path != "logs/build.log" || build.Log.Bytes != int64(len(log)) || str(build.Sandbox) != "none" || *build.ProcessesLeft != 0 || build.Cache != nil || build.StartedAt.IsZero() {
		t.Errorf("build %+v", build)
	}
	events, err := os.ReadFile(filepath.Join(sealed.Dir, "events.jsonl"))
	check(t, err)
	var types []string
	for line := range bytes.Lines(events) {
		var e struct {
			Type, Task, Status string
			ExitCode           *int `json:"exit_code"`
		}
		check(t, json.Unmarshal(line, &e))
		types = append(types, e.Type)
		if e.Type == "task_finished" && e.Task == "test" && (e.Status != "failed" || *e.ExitCode != 3) {
			t.Errorf("event %s", line)
		}
	}
	if got := strings.Join(types, " "); got != "run_started task_started task_finished task_started task_finished task_skipped task_skipped run_finished" {
		t.Errorf("events %s", got)
	}
	for _, name := range []string{"deployed", "docs"} {
		if _, err := os.Stat(filepath.Join(r.Config.Root, name)); err == nil {
			t.Errorf("%s was run", name)
		}
	}
}

func TestRunDrainsAndIsBounded(t *testing.T) {
	t.Parallel()
	r := runOf(t,
		&pipeline.Task{Name: "fails", Run: shell("exit 1")},
		&pipeline.Task{Name: "slow", Run: shell("sleep 0.5; touch finished")},
		&pipeline.Task{Name: "third", Run: shell("true")},
	)
	r.Config.Concurrency = 2
	tasks, _ := carry(t, t.Context(), r)
	if tasks[1].Status != record.Passed {
		t.Errorf("what ran was not let finish: %+v", tasks[1])
	}
	if tasks[2].Status != record.Skipped {
		t.Errorf("something started after the failure: %+v", tasks[2])
	}
	if got := Parallel(&pipeline.Config{}, 0); got != runtime.NumCPU() {
		t.Errorf("by default %d at a time", got)
	}
	if Parallel(r.Config, 7) != 7 {
		t.Error("what was asked does not win over the file")
	}
}

// With KeepGoing only what waits for a failure is skipped, and is blocked by the task that failed.
func TestRunKeepsGoing(t *testing.T) {
	t.Parallel()
	r := runOf(t,
		&pipeline.Task{Name: "bad", Run: shell("exit 1")},
		&pipeline.Task{Name: "below", DependsOn: []string{"bad"}, Run: shell("touch below")},
		&pipeline.Task{Name: "deep", DependsOn: []string{"below", "good"}, Run: shell("touch deep")},
		&pipeline.Task{Name: "good", Run: shell("true")},
		&pipeline.Task{Name: "after", DependsOn: []string{"good"}, Run: shell("touch after")},
	)
	r.Parallel, r.KeepGoing = 1, true
	tasks, _ := carry(t, t.Context(), r)
	var got []string
	for _, task := range tasks {
		got = append(got, fmt.Sprintf("%s %s %s %s", task.Name, task.Status, str(task.Reason), str(task.BlockedBy)))
	}
	want := "after passed null null, bad failed null null, below skipped dependency bad, deep skipped dependency bad, good passed null null"
	slices.Sort(got)
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	for name, want := range map[string]bool{"after": true, "below": false, "deep": false} {
		if _, err := os.Stat(filepath.Join(r.Config.Root, name)); (err == nil) != want {
			t.Errorf("%s was run: %v", name, !want)
		}
	}
}

func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	r := runOf(t,
		&pipeline.Task{Name: "long", Run: shell("echo here; exec sleep 600")},
		&pipeline.Task{Name: "after", DependsOn: []string{"long"}, Run: shell("true")},
	)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.Observer.Output = func(*pipeline.Task, []byte) { cancel() }
	start := time.Now()
	tasks, _ := carry(t, ctx, r)
	if tasks[0].Status != record.Cancelled || str(tasks[0].Reason) != "signal" || tasks[0].Attempts != 1 {
		t.Errorf("long %+v", tasks[0])
	}
	if tasks[1].Status != record.Skipped || str(tasks[1].Reason) != "signal" || tasks[1].BlockedBy != nil {
		t.Errorf("after %+v", tasks[1])
	}
	if took := time.Since(start); took > 3*time.Minute {
		t.Errorf("it took %v", took)
	}
}

// What cannot be recorded is an error, and nothing new starts.
func TestRunWithoutARecord(t *testing.T) {
	t.Parallel()
	r := runOf(t,
		&pipeline.Task{Name: "first", Run: shell("rm -r .async/runs/*/logs")},
		&pipeline.Task{Name: "second", DependsOn: []string{"first"}, Run: shell("touch second")},
	)
	d := begin(t, r)
	tasks, err := r.walker(d).walk(t.Context())
	if err == nil || !strings.Contains(err.Error(), "logs") {
		t.Errorf("error %v", err)
	}
	if tasks[1].Status != record.Failed || tasks[1].Attempts != 0 || !strings.Contains(str(tasks[1].Error), "cannot be recorded") {
		t.Errorf("second %+v", tasks[1])
	}
	if _, err := os.Stat(filepath.Join(r.Config.Root, "second")); err == nil {
		t.Error("a task ran that could not be recorded")
	}
}

// After the first line that could not be written the journal has no more: no gap, and one error.
func TestRunWithoutAJournal(t *testing.T) {
	t.Parallel()
	r := runOf(t,
		&pipeline.Task{Name: "first", Run: shell("true")},
		&pipeline.Task{Name: "second", DependsOn: []string{"first"}, Run: shell("touch second")},
		&pipeline.Task{Name: "third", DependsOn: []string{"second"}, Run: shell("true")},
	)
	d := begin(t, r)
	r.Observer.Started = func(*pipeline.Task) {
		if _, err := d.Seal(record.Run{Status: record.Interrupted}); err != nil { // it closes the journal
			t.Error(err)
		}
	}
	tasks, err := r.walker(d).walk(t.Context())
	if err == nil || strings.Count(err.Error(), "events.jsonl") != 1 {
		t.Errorf("error %v", err)
	}
	if tasks[0].Status != record.Passed || tasks[1].Status != record.Failed || tasks[2].Status != record.Skipped {
		t.Errorf("tasks %+v", tasks)
	}
	if _, err := os.Stat(filepath.Join(r.Config.Root, "second")); err == nil {
		t.Error("a task ran that could not be recorded")
	}
}

// Of a task whose start could not be written, the end is not written either.
func TestStartThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	first := func() (*walker, *pipeline.Task) {
		x := &pipeline.Task{Name: "x", Run: shell("touch ran")}
		r := runOf(t, x)
		d := begin(t, r)
		t.Cleanup(func() { _, _ = d.Seal(record.Run{Status: record.Interrupted}) })
		return r.walker(d), x
	}
	t.Run("it is the first", func(t *testing.T) {
		w, x := first()
		if _, err := w.d.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := w.do(t.Context(), x); err == nil || len(w.broken) != 1 || !errors.Is(w.broken[0], record.ErrStopped) || !w.unwritten {
			t.Errorf("%v, errors %v", err, w.broken)
		}
		if got := w.done["x"]; got.Status != record.Failed || got.Attempts != 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("another was", func(t *testing.T) {
		w, x := first()
		lost := errors.New("lost")
		w.broken, w.unwritten = []error{lost}, true
		w.r.Observer.Started = func(*pipeline.Task) { t.Error("it was started") }
		if _, err := w.start(x, ""); !errors.Is(err, lost) || len(w.broken) != 1 {
			t.Errorf("%v, errors %v", err, w.broken)
		}
		_ = w.end(x, record.Task{Name: "x", Status: record.Failed})
		if b, err := os.ReadFile(filepath.Join(w.d.Dir, "events.jsonl")); err != nil || len(b) != 0 {
			t.Errorf("the journal goes on behind what it lacks: %s, %v", b, err)
		}
	})
}

// What is taken at once while tasks still end (a second signal) is what the journal says.
func TestStopWhileTasksEnd(t *testing.T) {
	t.Parallel()
	var all []*pipeline.Task
	for i := range 60 {
		text := "echo; exit 0"
		if i >= 30 {
			text = "echo; until [ -e go ]; do sleep 0.02; done" // however late the stop is, they end after it
		}
		all = append(all, &pipeline.Task{Name: fmt.Sprintf("t%02d", i), Run: shell(text)})
	}
	r := runOf(t, all...)
	r.Parallel = 4
	d := begin(t, r)
	some := make(chan struct{})
	n := 0
	r.Observer.Finished = func(*pipeline.Task, record.Task) {
		if n++; n == 10 {
			close(some)
		}
	}
	ends := make(chan error, 1)
	go func() {
		_, err := r.walker(d).walk(t.Context())
		ends <- err
	}()
	<-some
	ended, err := d.Stop()
	if err != nil || len(ended) < 10 || len(ended) == len(all) {
		t.Errorf("%d tasks had ended, %v", len(ended), err)
	}
	check(t, os.WriteFile(filepath.Join(r.Config.Root, "go"), nil, 0o600))
	if err := <-ends; !errors.Is(err, record.ErrStopped) {
		t.Errorf("the runner: %v", err)
	}
	var tasks []record.Task
	for _, task := range all {
		got, ok := ended[task.Name]
		if !ok {
			got = record.Task{Name: task.Name, Status: record.Cancelled}
		} else if got.Name != task.Name || got.Status != record.Passed || got.Log == nil || got.Log.Bytes != 1 || got.StartedAt == nil || *got.ExitCode != 0 || got.Attempts != 1 {
			t.Errorf("%+v", got)
		}
		tasks = append(tasks, got)
	}
	sealed, err := d.Seal(record.Run{Status: record.Interrupted, ExitCode: 130, Tasks: tasks})
	check(t, err)
	if err := sealed.Check(); err != nil {
		t.Error(err)
	}
}

// A secret that a task prints in two pieces reaches neither the log, nor the observer, nor the journal.
func TestSecretsNeverLeave(t *testing.T) {
	t.Parallel()
	const value = "hunter-2-hunter-2"
	r := runOf(t, &pipeline.Task{
		Name: "leak",
		Env:  []pipeline.EnvVar{{Name: "TOKEN", Text: pipeline.Text{Value: value, Secrets: []string{"TOKEN"}}}},
		Run:  shell(`printf 'it is hunter-2'; sleep 0.2; printf -- '-hunter-2.\n'; echo "$TOKEN" >&2; exit 1`),
	})
	r.Tasks.Redact.Add("TOKEN", value)
	var chunks bytes.Buffer
	r.Observer.Output = func(_ *pipeline.Task, chunk []byte) { chunks.Write(chunk) }
	_, sealed := carry(t, t.Context(), r)
	log, err := sealed.Tail("leak", 1000)
	if want := "it is [redacted].\n[redacted]\n"; err != nil || string(log) != want || chunks.String() != want {
		t.Errorf("log %q, observer %q, %v", log, chunks.String(), err)
	}
	err = filepath.WalkDir(r.Config.Root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(value)) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestManyTasksAtOnce(t *testing.T) {
	t.Parallel()
	var tasks []*pipeline.Task
	for i := range 40 {
		tasks = append(tasks, &pipeline.Task{Name: fmt.Sprintf("t%02d", i), Run: shell(fmt.Sprintf("echo %d", i))})
	}
	r := runOf(t, tasks...)
	r.Parallel = 4
	var mu sync.Mutex // TryLock fails where two calls overlap
	alone := func() {
		if !mu.TryLock() {
			t.Error("two calls of the observer at once")
			return
		}
		mu.Unlock()
	}
	r.Observer = Observer{
		Started:  func(*pipeline.Task) { alone() },
		Output:   func(*pipeline.Task, []byte) { alone() },
		Finished: func(*pipeline.Task, record.Task) { alone() },
	}
	ended, sealed := carry(t, t.Context(), r)
	for i, task := range ended {
		log, err := sealed.Tail(task.Name, 100)
		if task.Name != tasks[i].Name || task.Status != record.Passed || err != nil || string(log) != fmt.Sprintln(i) {
			t.Errorf("%+v: %q, %v", task, log, err)
		}
	}
}

// After a second signal the verdict has the ends that the journal has, and the journal takes no other. Of a service it
// has when that was ready.
func TestAbandon(t *testing.T) {
	t.Parallel()
	r := runOf(t,
		&pipeline.Task{Name: "a", Run: shell("true")},
		&pipeline.Task{Name: "s", Run: shell("exec sleep 600"), Service: &pipeline.Service{}},
		&pipeline.Task{Name: "b", DependsOn: []string{"a", "s"}, Run: shell("exec sleep 600")},
		&pipeline.Task{Name: "c", DependsOn: []string{"b"}, Run: shell("true")},
	)
	abandon := make(chan struct{})
	r.Abandon, r.Interrupted = abandon, func() int { return 130 }
	r.Observer.Started = func(t *pipeline.Task) {
		if t.Name == "b" {
			close(abandon)
		}
	}
	r.Observer.Ended = func([]record.Task) { t.Error("it was told the end of an abandoned run") }
	tasks, sealed := carry(t, t.Context(), r)
	if tasks[0].Status != record.Passed || tasks[2].Status != record.Cancelled || tasks[3].Status != record.Cancelled {
		t.Errorf("%+v", tasks)
	}
	if s := tasks[1]; s.Status != record.Cancelled || s.Service == nil || s.Service.ReadyMS == nil || tasks[2].Service != nil {
		t.Errorf("%+v", s)
	}
	if sealed.Status != record.Interrupted || sealed.ExitCode != 130 {
		t.Errorf("%s, exit code %d", sealed.Status, sealed.ExitCode)
	}
	if err := sealed.Check(); err != nil {
		t.Error(err)
	}
}

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
		{"nobody reads", of(record.Cancelled), 141, record.Interrupted, 141},
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

// Output of 200 MB takes no memory that grows with it, and little disk.
func TestRunMemory(t *testing.T) {
	r := runOf(t, &pipeline.Task{Name: "loud", Run: shell("head -c 200000000 /dev/zero | tr '\\0' x | fold -w 99")})
	r.Tasks.Redact.Add("TOKEN", "hunter-2-hunter-2")
	var n int
	r.Observer.Output = func(_ *pipeline.Task, chunk []byte) { n += len(chunk) }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tasks, _ := carry(t, t.Context(), r)
	runtime.ReadMemStats(&after)
	// TotalAlloc counts all that was ever allocated: no garbage collection can hide anything.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("200 MB of output allocated %d bytes", grown)
	}
	log := tasks[0].Log
	if tasks[0].Status != record.Passed || n < 200e6 || log.Bytes > 4<<20 || log.Bytes+log.LeftOutBytes != int64(n) {
		t.Errorf("%+v, log %+v, %d bytes observed", tasks[0], log, n)
	}
}

// Once a task has failed no service starts, and what needs one is told that it has none: it must not run without it.
func TestNoServiceAfterFailure(t *testing.T) {
	t.Parallel()
	user := &pipeline.Task{Name: "user", DependsOn: []string{"db"}, Run: shell("true")}
	r := runOf(t, &pipeline.Task{Name: "db", Service: &pipeline.Service{}, Run: shell("sleep 60")}, user)
	w := r.walker(begin(t, r))
	w.ctx = t.Context()
	w.first = "other"
	close(w.stopped)
	s := w.startServices(t.Context(), user)
	if s == nil || s.t.Name != "db" || s.hasFailed() || str(w.firstFailure()) != "other" {
		t.Fatalf("%+v", s)
	}
	<-s.ended
	if got := w.done["db"]; got.Status != record.Skipped {
		t.Errorf("%+v", got)
	}
}
