package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// Where the folder of runs cannot be synced there is no verdict, and Seal may be tried again.
func TestSealNotSynced(t *testing.T) {
	t.Parallel()
	s, d := begin(t)
	d.store = At(filepath.Join(t.TempDir(), "gone"))
	if _, err := d.Seal(Run{Status: Passed}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := s.Find(d.ID); !errors.Is(err, ErrNoRun) {
		t.Errorf("there is a verdict: %v", err)
	}
	d.store = s
	must[*Sealed](t)(d.Seal(Run{Status: Passed}))
	must[*Sealed](t)(s.Find(d.ID))
}

func TestSeal(t *testing.T) {
	t.Parallel()
	s, d := begin(t)
	if _, err := s.Find(d.ID); !errors.Is(err, ErrNoRun) {
		t.Errorf("a draft is found: %v", err)
	}
	check(t, d.Event(Event{Type: "run_started"}))
	if _, err := d.Seal(Run{Status: "fine"}); err == nil {
		t.Error("an unknown status was sealed")
	}
	code, at := 1, Time{noon}
	sealed := must[*Sealed](t)(d.Seal(Run{Status: Failed, ExitCode: 1, Root: s.Root, Tasks: []Task{{Name: "a", Status: Failed, ExitCode: &code, StartedAt: &at}}}))
	if _, err := d.Seal(Run{Status: Passed}); err == nil {
		t.Error("sealed twice")
	}
	if err := d.Event(Event{Type: "late"}); err == nil {
		t.Error("an event after the seal")
	}
	read := must[*Sealed](t)(s.Find("latest"))
	a, b := must[[]byte](t)(json.Marshal(sealed)), must[[]byte](t)(json.Marshal(read))
	if string(a) != string(b) || sealed.Digest != read.Digest || sealed.Dir != read.Dir {
		t.Errorf("sealed %s\nread   %s", a, b)
	}
	file := must[[]byte](t)(os.ReadFile(filepath.Join(d.Dir, "run.json")))
	if sealed.Digest != recordfile.Digest(file) {
		t.Error("the digest is not that of the file")
	}
	for _, want := range []string{
		`"schema_version": 1`, `"id": "` + d.ID + `"`, `"started_at": "2026-11-21T01:40:00.500Z"`, `"finished_at": null`, `"job": null`,
		`"git": null`, `"reason": null`, `"blocked_by": null`, `"signal": null`, `"exit_code": 1`, `"log": null`, `"cache": null`, `"processes_left": null`, `"lines": 1`,
	} {
		if !strings.Contains(string(file), want) {
			t.Errorf("run.json lacks %s:\n%s", want, file)
		}
	}
	if lines, head := journalEnd(t, d.Dir); lines != 1 || head != *read.Journal.Head {
		t.Error("the journal is not the one that was sealed")
	}
	if read.Task("a") == nil || read.Task("b") != nil {
		t.Error("Task finds the wrong ones")
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	if _, err := s.Find("latest"); !errors.Is(err, ErrNoRun) || !strings.Contains(err.Error(), "no run is recorded") {
		t.Errorf("before the first run: %v", err)
	}
	one, two := seal(t, s, noon), seal(t, s, noon)
	other := seal(t, s, noon.Add(24*time.Hour))
	draft := must[*Draft](t)(s.Begin(noon.Add(48*time.Hour), nil, nil))
	tests := []struct {
		id, want string
		err      error
		says     string
	}{
		{"latest", other.ID, nil, ""},
		{one.ID, one.ID, nil, ""},
		{"20261122", other.ID, nil, ""},
		{"20261121T014000Z-8001", two.ID, nil, ""},
		{"20261121", "", ErrAmbiguous, one.ID + ", " + two.ID},
		{"2027", "", ErrNoRun, "the newest are " + other.ID},
		{"", "", ErrNoRun, ""},
		{"../runs/" + one.ID, "", ErrNoRun, ""},
		{draft.ID, "", ErrNoRun, "no verdict"},
	}
	for _, tt := range tests {
		got, err := s.Find(tt.id)
		if !errors.Is(err, tt.err) || err == nil && got.ID != tt.want || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Find(%q) = %v, %v; want %q, %v with %q", tt.id, got, err, tt.want, tt.err, tt.says)
		}
	}
}

func TestListToleratesWhatOthersLeft(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir())
	good := seal(t, s, noon)
	plant := func(name, verdict string) string {
		dir := filepath.Join(s.runs(), name)
		check(t, os.MkdirAll(dir, 0o700))
		if verdict != "" {
			check(t, os.WriteFile(filepath.Join(dir, "run.json"), []byte(verdict), 0o600))
		}
		return dir
	}
	id := func(n int) string { return fmt.Sprintf("20261121T020000Z-%04x", n) }
	plant("notes", "not ours")
	plant(id(0), "")
	plant(id(1), "{")
	plant(id(2), `{"schema_version":1,"id":"other"}`)
	plant(id(3), `{"schema_version":1,"id":"`+id(3)+`","tasks":"text"}`)
	plant(id(4), `{}`)
	check(t, os.WriteFile(filepath.Join(s.runs(), id(5)), nil, 0o600))
	// Links to a real run and to a real verdict elsewhere, and a pipe that nobody writes to.
	elsewhere := filepath.Join(t.TempDir(), "run.json")
	check(t,
		os.Symlink(good.Dir, filepath.Join(s.runs(), id(6))),
		os.WriteFile(elsewhere, []byte(`{"schema_version":1,"id":"`+id(7)+`"}`), 0o600),
		os.Symlink(elsewhere, filepath.Join(plant(id(7), ""), "run.json")),
		syscall.Mkfifo(filepath.Join(plant(id(8), ""), "run.json"), 0o600),
	)
	runs, errs := s.List()
	if len(runs) != 1 || runs[0].ID != good.ID {
		t.Errorf("runs %v", runs)
	}
	if len(errs) != 8 {
		t.Errorf("%d errors: %v", len(errs), errs)
	}
	for _, err := range errs {
		if !strings.Contains(err.Error(), s.runs()) {
			t.Errorf("%v does not say where", err)
		}
	}
	if got := must[*Sealed](t)(s.Find("latest")); got.ID != good.ID {
		t.Errorf("latest is %s", got.ID)
	}
	// A newer version's run is newer, and we cannot tell what it says: no older one may pass for the latest.
	plant(id(9), `{"schema_version":2,"id":"`+id(9)+`","tasks":{"now":"an object"}}`)
	for _, name := range []string{"latest", id(9)} {
		if _, err := s.Find(name); err == nil || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("Find(%s) of a newer version's run: %v", name, err)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	_, d := begin(t)
	l := d.Log("a")
	_, _ = l.Write([]byte("0123456789"))
	_ = must[Log](t)(l.Finish())
	secret := filepath.Join(t.TempDir(), "secret")
	check(t,
		os.WriteFile(secret, []byte("private"), 0o600),
		os.Symlink(secret, filepath.Join(d.Dir, "logs", "evil.log")),
	)
	run := must[*Sealed](t)(d.Seal(Run{Status: Passed}))
	for max, want := range map[int]string{4: "6789", 10: "0123456789", 99: "0123456789", 0: ""} {
		if got := string(must[[]byte](t)(run.Tail("a", max))); got != want {
			t.Errorf("the last %d: %q", max, got)
		}
	}
	if got, err := run.Tail("none", 4); got != nil || err != nil {
		t.Errorf("of a task without a log: %q, %v", got, err)
	}
	if got, err := run.Tail("evil", 4); len(got) > 0 || err == nil {
		t.Errorf("a link was followed: %q, %v", got, err)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	var got struct{ A, B, C Time }
	check(t, json.Unmarshal([]byte(`{"A":"2026-11-21T03:40:00.1234+01:00","B":null,"C":"2026-11-21T02:40:00Z"}`), &got))
	b := must[[]byte](t)(json.Marshal(got))
	if want := `{"A":"2026-11-21T02:40:00.123Z","B":null,"C":"2026-11-21T02:40:00.000Z"}`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
	if err := json.Unmarshal([]byte(`{"A":"yesterday"}`), &got); err == nil {
		t.Error("yesterday is a time")
	}
}

// A context pack is written into the run's own folder and nowhere else, and read from there.
func TestContext(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (*Store, *Sealed) {
		s, d := begin(t)
		return s, must[*Sealed](t)(d.Seal(Run{Status: Failed}))
	}
	_, run := setup(t)
	if _, err := run.Context("a b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("before it is written: %v", err)
	}
	for _, text := range []string{"one", "two"} {
		check(t, run.WriteContext("a b", []byte(text)))
		if got := string(must[[]byte](t)(run.Context("a b"))); got != text {
			t.Errorf("%q", got)
		}
	}
	check(t, os.RemoveAll(filepath.Join(run.Dir, "context")))
	if err := run.WriteContext("a", nil); err != nil {
		t.Errorf("the folder is gone: %v", err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	check(t, os.WriteFile(secret, []byte("private"), 0o600), os.Symlink(secret, filepath.Join(run.Dir, "context", "evil.json")))
	if got, err := run.Context("evil"); err == nil {
		t.Errorf("a link was read: %q", got)
	}
	for name, folder := range map[string]func(*Store, *Sealed) string{
		".async":  func(s *Store, _ *Sealed) string { return s.Dir },
		"runs":    func(s *Store, _ *Sealed) string { return s.runs() },
		"run":     func(_ *Store, run *Sealed) string { return run.Dir },
		"context": func(_ *Store, run *Sealed) string { return filepath.Join(run.Dir, "context") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, run := setup(t)
			link, elsewhere := folder(s, run), filepath.Join(t.TempDir(), "elsewhere")
			check(t, os.Rename(link, elsewhere), os.Symlink(elsewhere, link))
			if err := run.WriteContext("a", []byte("x")); err == nil || !strings.Contains(err.Error(), link+" is a link") {
				t.Errorf("written through it: %v", err)
			}
			if _, err := os.Stat(filepath.Join(run.Dir, "context", "a.json")); err == nil {
				t.Error("it was written elsewhere")
			}
			if _, err := run.Context("a"); err == nil || name == "context" && !strings.Contains(err.Error(), "is a link") {
				t.Errorf("read through it: %v", err)
			}
		})
	}
}

// A verdict of ten thousand tasks costs memory in proportion, and is read again.
func TestSealOfManyTasks(t *testing.T) {
	s := At(t.TempDir())
	d := must[*Draft](t)(s.Begin(noon, func(p []byte) []byte { return p }, nil))
	code, took, tier := 0, int64(2), "none"
	tasks := make([]Task, 10_000)
	for i := range tasks {
		name := fmt.Sprintf("task-%d", i)
		tasks[i] = Task{
			Name: name, Status: Passed, ExitCode: &code, Attempts: 1, StartedAt: &Time{noon}, DurationMS: &took,
			Log: &Log{Path: "logs/" + name + ".log", Bytes: 10}, Sandbox: &tier, ProcessesLeft: &code,
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = must[*Sealed](t)(d.Seal(Run{Status: Passed, Tasks: tasks}))
	runtime.ReadMemStats(&after)
	// TotalAlloc counts all that was ever allocated: no garbage collection can hide anything.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("the verdict of %d tasks allocated %d bytes", len(tasks), grown)
	}
	if got := must[*Sealed](t)(s.Find("latest")); len(got.Tasks) != len(tasks) || got.Tasks[9_999].Log.Path != "logs/task-9999.log" {
		t.Errorf("%d tasks are read", len(got.Tasks))
	}
}

// What is in testdata/v1 was written once and is never made again: today's code must read it for ever.
func TestReadsVersion1(t *testing.T) {
	t.Parallel()
	s := &Store{Root: "testdata/v1", Dir: "testdata/v1/async"}
	runs, errs := s.List()
	if len(runs) != 1 || len(errs) != 0 {
		t.Fatalf("runs %v, errors %v", runs, errs)
	}
	r := must[*Sealed](t)(s.Find("20261121T024000Z-8000"))
	if r.Digest != "sha256:4d010fd0aa80092fc2dbd7dfaf6a1763def698bd5fc69e064d87a757b0f81531" {
		t.Errorf("digest %s", r.Digest)
	}
	if r.SchemaVersion != 1 || r.Root != "/home/me/shop" || *r.Job != "verify" || r.Status != Failed || r.ExitCode != 1 || !r.CI ||
		!r.StartedAt.Equal(time.Date(2026, 11, 21, 2, 40, 0, 500e6, time.UTC)) || r.FinishedAt.Sub(r.StartedAt.Time) != 3250*time.Millisecond || r.DurationMS != 3250 {
		t.Errorf("run %+v", r.Run)
	}
	if *r.Git.Commit != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" || *r.Git.Branch != "main" || !*r.Git.Dirty || r.Healing.Mode != "ci" || *r.Healing.Reason == "" {
		t.Errorf("git %+v, healing %+v", r.Git, r.Healing)
	}
	build, test, deploy := r.Task("build"), r.Task(`test["linux"]`), r.Task("deploy")
	if build.Status != Passed || *build.ExitCode != 0 || build.Attempts != 1 || *build.DurationMS != 900 || build.Log.Bytes != 20 || build.Cache.Result != "miss" || *build.Sandbox != "none" {
		t.Errorf("build %+v", build)
	}
	if test.Status != TimedOut || *test.ExitCode != 124 || *test.Signal != "SIGTERM" || test.Log.LeftOutBytes != 9000000 || test.Cache != nil || *test.ProcessesLeft != 2 {
		t.Errorf("test %+v", test)
	}
	if deploy.Status != Skipped || *deploy.Reason != "dependency" || *deploy.BlockedBy != test.Name || deploy.ExitCode != nil || deploy.StartedAt != nil || deploy.Log != nil {
		t.Errorf("deploy %+v", deploy)
	}
	if got := string(must[[]byte](t)(r.Tail(test.Name, 5))); got != "FAIL\n" {
		t.Errorf("tail %q", got)
	}
	if lines, head := journalEnd(t, r.Dir); lines != r.Journal.Lines || head != *r.Journal.Head {
		t.Errorf("journal ends at %d, %s, sealed %+v", lines, head, r.Journal)
	}
	var g graph
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(filepath.Join(r.Dir, "graph.json"))), &g); err != nil || len(g.Tasks) != 3 || g.Tasks[2].DependsOn[0] != test.Name {
		t.Errorf("graph %+v, %v", g, err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "context", filename.Of(test.Name)+".json")); err != nil {
		t.Error(err)
	}

	if got := must[[]string](t)(s.Interrupted()); strings.Join(got, " ") != "20261121T034000Z-8000" {
		t.Errorf("interrupted %v", got)
	}
	// Its journal ends in half a line: a copy of it can be gone on with.
	half := filepath.Join(t.TempDir(), "events.jsonl")
	check(t, os.WriteFile(half, must[[]byte](t)(os.ReadFile("testdata/v1/async/runs/20261121T034000Z-8000/events.jsonl")), 0o600))
	j := must[*journal.Journal](t)(journal.Open(half, nil, nil, nil))
	defer func() { _ = j.Close() }()
	if err := j.Event(Event{Type: "more"}); err != nil {
		t.Error(err)
	}
	if lines, _ := j.End(); lines != 2 {
		t.Errorf("%d lines", lines)
	}
}

// journalEnd reads the journal of a run and gives what its Anchor holds.
func journalEnd(t *testing.T, dir string) (int64, string) {
	t.Helper()
	f := must[*os.File](t)(os.Open(filepath.Join(dir, "events.jsonl")))
	defer func() { _ = f.Close() }()
	lines, torn, err := journal.Read(f, nil)
	if err != nil || torn || len(lines) == 0 {
		t.Fatalf("%d lines, torn %v, %v", len(lines), torn, err)
	}
	return int64(len(lines)), recordfile.Digest(lines[len(lines)-1])
}

// Secrets are taken out of strings, and never make a record unreadable.
func TestClean(t *testing.T) {
	t.Parallel()
	secrets := []string{`","at":"`, "123456", "failed", "duration_ms", "hunter22"}
	clean := func(b []byte) []byte {
		s := string(b)
		for _, v := range secrets {
			s = strings.ReplaceAll(s, v, "[redacted]")
		}
		return []byte(s)
	}
	s := At(t.TempDir())
	var line []byte
	d := must[*Draft](t)(s.Begin(noon, clean, func(l []byte) { line = bytes.Clone(l) }))
	err := d.Event(Event{Type: "task_finished", Data: map[string]any{
		"status": "failed", "duration_ms": 123456, "deep": map[string]any{"list": []string{"is hunter22", `x","at":"y`}},
	}})
	check(t, err)
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	deep := got["deep"].(map[string]any)["list"].([]any)
	if got["status"] != "failed" || got["duration_ms"] != 123456.0 || deep[0] != "is [redacted]" || deep[1] != "x[redacted]y" {
		t.Errorf("line %s", line)
	}
	text := "no hunter22 here"
	given := Run{
		Status: Failed, DurationMS: 123456, Git: &Git{Branch: &text}, Healing: Healing{Mode: "on", Reason: &text},
		Tasks: []Task{{Name: "t", Status: Failed, Error: &text, Hint: &text, Cache: &Cache{Result: "miss", Reason: &text}}},
	}
	sealed := must[*Sealed](t)(d.Seal(given))
	b := must[[]byte](t)(os.ReadFile(filepath.Join(d.Dir, "run.json")))
	if bytes.Contains(b, []byte("hunter22")) || bytes.Count(b, []byte("no [redacted] here")) != 5 {
		t.Errorf("run.json: %s", b)
	}
	if sealed.Status != Failed || sealed.DurationMS != 123456 || *given.Tasks[0].Error != text || *given.Git.Branch != text {
		t.Error("more was cleaned than should be")
	}
}
