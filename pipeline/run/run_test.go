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
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// tree is the box of a task in the tree.
var tree = sandbox.Box{Tier: sandbox.None, Secrets: true}

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

// runner is a Runner of these tasks in a new folder.
func runner(t testing.TB, tasks ...*pipeline.Task) *Runner {
	t.Helper()
	return &Runner{
		Config:  &pipeline.Config{Root: t.TempDir(), Tasks: tasks},
		Environ: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/me", "USER=me"},
		Redact:  new(redact.Set),
	}
}

// carry runs all of r's tasks and gives how they ended, and the sealed record.
func carry(t testing.TB, ctx context.Context, r *Runner) ([]record.Task, *record.Sealed) {
	t.Helper()
	g, err := pipeline.Select(r.Config, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	d, err := record.At(r.Config.Root).Begin(time.Now(), r.Redact.Bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := r.Run(ctx, g, d)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := d.Seal(record.Run{Status: record.Passed, Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	return tasks, sealed
}

func str(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func TestRunRecordsEveryTask(t *testing.T) {
	t.Parallel()
	r := runner(t,
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
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for line := range bytes.Lines(events) {
		var e struct {
			Type, Task, Status string
			ExitCode           *int `json:"exit_code"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Type)
		if e.Type == "task_finished" && e.Task == "test" && (e.Status != "failed" || *e.ExitCode != 3) {
			t.Errorf("event %s", line)
		}
	}
	if got := strings.Join(types, " "); got != "task_started task_finished task_started task_finished task_skipped task_skipped" {
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
	r := runner(t,
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
	if got := (&Runner{Config: &pipeline.Config{}}).parallel(); got != runtime.NumCPU() {
		t.Errorf("by default %d at a time", got)
	}
	r.Parallel = 7
	if r.parallel() != 7 {
		t.Error("Parallel does not win over the file")
	}
}

// With KeepGoing only what waits for a failure is skipped, and is blocked by the task that failed.
func TestRunKeepsGoing(t *testing.T) {
	t.Parallel()
	r := runner(t,
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
	r := runner(t,
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
	got, err := r.RunTask(ctx, r.Config.Root, r.Config.Tasks[1], tree, nil)
	if err != nil || got.Status != record.Cancelled || got.Attempts != 0 {
		t.Errorf("after the end: %+v, %v", got, err)
	}
}

// What cannot be recorded is an error, and nothing new starts.
func TestRunWithoutARecord(t *testing.T) {
	t.Parallel()
	r := runner(t,
		&pipeline.Task{Name: "first", Run: shell("rm -r .async/runs/*/logs")},
		&pipeline.Task{Name: "second", DependsOn: []string{"first"}, Run: shell("touch second")},
	)
	g, err := pipeline.Select(r.Config, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	d, err := record.At(r.Config.Root).Begin(time.Now(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := r.Run(t.Context(), g, d)
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
	r := runner(t,
		&pipeline.Task{Name: "first", Run: shell("true")},
		&pipeline.Task{Name: "second", DependsOn: []string{"first"}, Run: shell("touch second")},
		&pipeline.Task{Name: "third", DependsOn: []string{"second"}, Run: shell("true")},
	)
	g, err := pipeline.Select(r.Config, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	d, err := record.At(r.Config.Root).Begin(time.Now(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Observer.Started = func(*pipeline.Task) {
		if _, err := d.Seal(record.Run{Status: record.Interrupted}); err != nil { // it closes the journal
			t.Error(err)
		}
	}
	tasks, err := r.Run(t.Context(), g, d)
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
	begin := func() (*carrying, *pipeline.Task) {
		task := &pipeline.Task{Name: "x", Run: shell("touch ran")}
		r := runner(t, task)
		d, err := record.At(r.Config.Root).Begin(time.Now(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = d.Seal(record.Run{Status: record.Interrupted}) })
		return &carrying{r: r, d: d, done: map[string]record.Task{}}, task
	}
	t.Run("it is the first", func(t *testing.T) {
		c, task := begin()
		if _, err := c.d.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := c.do(t.Context(), task); err == nil || len(c.broken) != 1 || !errors.Is(c.broken[0], record.ErrStopped) || !c.unwritten {
			t.Errorf("%v, errors %v", err, c.broken)
		}
		if got := c.done["x"]; got.Status != record.Failed || got.Attempts != 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("another was, while its log was made", func(t *testing.T) {
		c, task := begin()
		lost := errors.New("lost")
		c.broken, c.unwritten = []error{lost}, true
		c.r.Observer.Started = func(*pipeline.Task) { t.Error("it was started") }
		if err := c.started(task, nil); !errors.Is(err, lost) || len(c.broken) != 1 {
			t.Errorf("%v, errors %v", err, c.broken)
		}
		_ = c.end(task, notStarted(task, record.Failed, "lost"))
		if b, err := os.ReadFile(filepath.Join(c.d.Dir, "events.jsonl")); err != nil || len(b) != 0 {
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
	r := runner(t, all...)
	r.Parallel = 4
	g, err := pipeline.Select(r.Config, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	d, err := record.At(r.Config.Root).Begin(time.Now(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	some := make(chan struct{})
	n := 0
	r.Observer.Finished = func(*pipeline.Task, record.Task) {
		if n++; n == 10 {
			close(some)
		}
	}
	ends := make(chan error, 1)
	go func() {
		_, err := r.Run(t.Context(), g, d)
		ends <- err
	}()
	<-some
	ended, err := d.Stop()
	if err != nil || len(ended) < 10 || len(ended) == len(all) {
		t.Errorf("%d tasks had ended, %v", len(ended), err)
	}
	if err := os.WriteFile(filepath.Join(r.Config.Root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ends; !errors.Is(err, record.ErrStopped) {
		t.Errorf("the runner: %v", err)
	}
	var tasks []record.Task
	for _, task := range all {
		got, ok := ended[task.Name]
		if !ok {
			got = cancelled(record.Task{Name: task.Name})
		} else if got.Name != task.Name || got.Status != record.Passed || got.Log == nil || got.Log.Bytes != 1 || got.StartedAt == nil || *got.ExitCode != 0 || got.Attempts != 1 {
			t.Errorf("%+v", got)
		}
		tasks = append(tasks, got)
	}
	sealed, err := d.Seal(record.Run{Status: record.Interrupted, ExitCode: 130, Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	if err := sealed.Check(); err != nil {
		t.Error(err)
	}
}

// A secret that a task prints in two pieces reaches neither the log, nor the observer, nor the journal.
func TestSecretsNeverLeave(t *testing.T) {
	t.Parallel()
	const value = "hunter-2-hunter-2"
	r := runner(t, &pipeline.Task{
		Name: "leak",
		Env:  []pipeline.EnvVar{{Name: "TOKEN", Text: pipeline.Text{Value: value, Secrets: []string{"TOKEN"}}}},
		Run:  shell(`printf 'it is hunter-2'; sleep 0.2; printf -- '-hunter-2.\n'; echo "$TOKEN" >&2; exit 1`),
	})
	r.Redact.Add("TOKEN", value)
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
	r := runner(t, tasks...)
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

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "loud", Run: shell("echo hello")}
	r := runner(t, task)
	got, err := r.RunTask(t.Context(), r.Config.Root, task, tree, broken{})
	if err == nil || got.Status != record.Failed || !strings.Contains(str(got.Error), "nobody listens") {
		t.Errorf("%+v, %v", got, err)
	}
}
