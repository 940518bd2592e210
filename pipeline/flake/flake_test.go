package flake

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// key returns a key by its first digit.
func key(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// ran is a task with a key that ended with an exit code, and whose inputs stayed the same.
func ran(key string, code int) record.Task {
	t := record.Task{
		Name: "test", Status: record.Passed, ExitCode: &code,
		Cache: &record.Cache{Result: "miss", Key: &key, Unchanged: new(true)},
	}
	if code != 0 {
		t.Status = record.Failed
	}
	return t
}

// but changes a task.
func but(t record.Task, change func(*record.Task)) record.Task {
	change(&t)
	return t
}

// sealed records a run that began a number of minutes after midnight.
func sealed(t *testing.T, s *record.Store, minute int, status string, tasks ...record.Task) string {
	t.Helper()
	d, err := s.Begin(time.Date(2026, 1, 2, 0, minute, 0, 0, time.UTC), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Seal(record.Run{Status: status, Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	return d.ID
}

func TestProves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task         record.Task
		passed, none bool
	}{
		"passed":                  {ran(key("a"), 0), true, false},
		"failed":                  {ran(key("a"), 1), false, false},
		"crashed":                 {but(ran(key("a"), 139), func(t *record.Task) { t.Signal = new("SIGSEGV") }), false, false},
		"killed":                  {but(ran(key("a"), 137), func(t *record.Task) { t.Signal = new("SIGKILL") }), false, true},
		"killed in a shell":       {ran(key("a"), 137), false, true},
		"timeout of coreutils":    {ran(key("a"), 124), false, true},
		"timed out":               {but(ran(key("a"), 124), func(t *record.Task) { t.Status = record.TimedOut }), false, true},
		"cancelled":               {but(ran(key("a"), 1), func(t *record.Task) { t.Status = record.Cancelled }), false, true},
		"not started":             {but(ran(key("a"), 1), func(t *record.Task) { t.Error = new("no such program") }), false, true},
		"inputs changed":          {but(ran(key("a"), 1), func(t *record.Task) { t.Cache.Unchanged = new(false) }), false, true},
		"inputs not looked at":    {but(ran(key("a"), 0), func(t *record.Task) { t.Cache.Unchanged = nil }), false, true},
		"without a key":           {but(ran(key("a"), 0), func(t *record.Task) { t.Cache.Key = nil }), false, true},
		"without inputs":          {but(ran(key("a"), 0), func(t *record.Task) { t.Cache = nil }), false, true},
		"taken from the cache":    {but(ran(key("a"), 0), func(t *record.Task) { t.Status = record.Cached }), false, true},
		"not started, skipped by": {record.Task{Name: "test", Status: record.Skipped}, false, true},
	} {
		got, passed, ok := Proves(&c.task)
		if ok == c.none || ok && (passed != c.passed || got != key("a")) {
			t.Errorf("%s: %s, %v, %v", name, got, passed, ok)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := record.At(t.TempDir())
	first := sealed(t, s, 1, record.Failed, ran(key("a"), 1), ran(key("b"), 1))
	sealed(t, s, 2, record.Interrupted, ran(key("c"), 1))
	second := sealed(t, s, 3, record.Passed, ran(key("a"), 0), ran(key("c"), 0))
	hit := but(ran(key("a"), 0), func(t *record.Task) { t.Status, t.Cache.Run = record.Cached, &second })
	sealed(t, s, 4, record.Passed, hit)
	third := sealed(t, s, 5, record.Failed, ran(key("a"), 2))
	elsewhere := "20260102T000600Z-0001" // a run of another work tree with the same cache
	hit = but(ran(key("b"), 0), func(t *record.Task) { t.Status, t.Cache.Run = record.Cached, &elsewhere })
	sealed(t, s, 7, record.Passed, hit)

	got, errs := List(s)
	want := []Flake{
		{"test", key("b"), 1, 1, 0.5, first, elsewhere},
		{"test", key("a"), 2, 1, 2.0 / 3, third, second},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(errs) != 0 {
		t.Errorf("%v\n%v\nwant %v", got, errs, want)
	}
}

// What the memory says is never taken without the record of the run, and without a memory the answers are the same.
func TestHistory(t *testing.T) {
	t.Parallel()
	s, dir := record.At(t.TempDir()), t.TempDir()
	failed := sealed(t, s, 1, record.Failed, ran(key("a"), 1))
	passed := sealed(t, s, 2, record.Passed, ran(key("a"), 0), ran(key("b"), 0))
	ask := func(dir, what string) {
		t.Helper()
		h := &History{Store: s, Dir: dir}
		got := []string{h.Failed(key("a")), h.Passed(key("a")), h.Failed(key("b")), h.Passed(key("b")), h.Passed(key("c"))}
		if want := []string{failed, passed, "", passed, ""}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	ask(dir, "without a memory")
	file := (&History{Store: s, Dir: dir}).path()
	memory, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ask(dir, "with a memory")
	ask(filepath.Join(dir, "none"), "without a folder")
	for what, text := range map[string]string{
		"cut":              string(memory[:len(memory)/2]),
		"of another root":  strings.Replace(string(memory), s.Root, "/other", 1),
		"of no known time": strings.Replace(string(memory), passed, "zzz", 1),
		"null":             "null",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ask(dir, "with a memory that is "+what)
	}
	lie := strings.ReplaceAll(string(memory), `"passed":{`, `"passed":{"`+key("c")+`":"`+failed+`",`)
	if err := os.WriteFile(file, []byte(lie), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(dir, "with a memory that lies")

	// What is removed is not named any more, and what is new is found.
	if err := os.RemoveAll(filepath.Join(s.Dir, "runs", failed)); err != nil {
		t.Fatal(err)
	}
	failed = ""
	ask(dir, "after the run was removed")
	failed = sealed(t, s, 3, record.Failed, ran(key("a"), 1))
	ask(dir, "after one more run")
}

func TestForget(t *testing.T) {
	t.Parallel()
	keys := map[string]string{"a": "3", "b": "1", "c": "2"}
	if forget(keys, 2); len(keys) != 2 || keys["b"] != "" {
		t.Errorf("%v", keys)
	}
}
