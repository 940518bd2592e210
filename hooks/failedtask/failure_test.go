package failedtask

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// How long a task may take in a copy: caches may be cold there, a failure by timeout must not pass by waiting longer,
// and a task without a timeout has none in a verification.
func TestCheckTimeout(t *testing.T) {
	t.Parallel()
	minute := int64(60_000)
	for _, c := range []struct {
		name      string
		status    string
		task      pipeline.Task
		unbounded time.Duration
		want      time.Duration
	}{
		{"no timeout, in the reproduction", record.Failed, pipeline.Task{Name: "test"}, 3 * time.Minute, 3 * time.Minute},
		{"no timeout, in a verification", record.Failed, pipeline.Task{Name: "test"}, 0, 0},
		{"a dependency is given its own time", record.Failed, pipeline.Task{Name: "build", Timeout: time.Second}, 0, 3 * time.Minute},
		{"a long timeout stays", record.Failed, pipeline.Task{Name: "build", Timeout: time.Hour}, 0, time.Hour},
		{"never less than two minutes", record.Failed, pipeline.Task{Name: "other", Timeout: time.Second}, 0, 2 * time.Minute},
		{"a failure by timeout", record.TimedOut, pipeline.Task{Name: "test", Timeout: time.Second}, 3 * time.Minute, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got time.Duration
			f := &Failure{
				Config: &pipeline.Config{Root: "/root-of-nothing"}, Task: &pipeline.Task{Name: "test"}, Ended: &record.Task{Status: c.status},
				Run: &record.Sealed{Run: record.Run{Tasks: []record.Task{{Name: "build", DurationMS: &minute}}}},
				RunTask: func(_ context.Context, _ string, t *pipeline.Task, _ sandbox.Box, _ io.Writer) (record.Task, error) {
					got = t.Timeout
					return record.Task{}, nil
				},
			}
			if _, err := f.Check(t.Context(), &c.task, sandbox.Box{Tier: sandbox.None}, io.Discard, c.unbounded); err != nil || got != c.want {
				t.Errorf("%s, want %s (%v)", got, c.want, err)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status        string
		took, timeout time.Duration
		other         bool // another task than the failed one
		want          time.Duration
	}{
		{record.Failed, time.Second, 0, false, 2 * time.Minute},
		{record.Failed, time.Minute, 0, false, 3 * time.Minute},
		{record.Failed, time.Second, 5 * time.Minute, false, 5 * time.Minute},
		{record.Failed, time.Minute, time.Second, false, 3 * time.Minute},
		{record.TimedOut, time.Second, time.Second, false, time.Second},
		{record.TimedOut, time.Second, 0, false, 0},
		{record.TimedOut, time.Second, time.Second, true, 2 * time.Minute},
	} {
		task := &pipeline.Task{Name: "test", Timeout: c.timeout}
		ms := c.took.Milliseconds()
		ended := record.Task{Name: "test", Status: c.status, DurationMS: &ms}
		f := &Failure{Task: task, Ended: &ended, Run: &record.Sealed{Run: record.Run{Tasks: []record.Task{ended}}}}
		if c.other {
			f.Task = &pipeline.Task{Name: "lint"}
		}
		if got := f.Limit(task, f.Patience(task)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var w Tail
	for _, s := range []string{"abc", strings.Repeat("x", 3*LogLimit), "0123456789ab", "c"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := string(w.Bytes()); len(got) != LogLimit || !strings.HasSuffix(got, "xx0123456789abc") {
		t.Errorf("%d bytes that end in %q", len(got), got[len(got)-20:])
	}
}

// A root whose path is not UTF-8 is found like any other: in text as a program prints it, and in what is left of
// that.
func TestCleanTailOfAnyRoot(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/srv/b\xffd/a.go:1":     "./a.go:1",
		"/srv/b\uFFFDd/a.go:1":   "./a.go:1",
		"in /srv/b\xffd":         "in .",
		"/srv/b\xffd-old/a.go:1": "/srv/bd-old/a.go:1",
		"/srv/b/a.go":            "/srv/b/a.go",
	} {
		if got := CleanTail(in, "/srv/b\xffd", 100); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestCleanTail(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/srv/shop/a.go:1":          "./a.go:1",
		"in /srv/shop":              "in .",
		"in /srv/shop, or\n":        "in ., or\n",
		"/srv/shop-api/a.go":        "/srv/shop-api/a.go",
		"/srv/shop.old/a.go":        "/srv/shop.old/a.go",
		"see /srv/shop. Next":       "see .. Next",
		"/srv/shop/x and /srv/shop": "./x and .",
	} {
		if got := CleanTail(in, "/srv/shop", 100); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := CleanTail("first\nsecond\nthird", "/r", 8); got != "third" {
		t.Errorf("%q", got)
	}
}
