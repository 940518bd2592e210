package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

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
	l := must[*LogWriter](t)(d.Log("a"))
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
