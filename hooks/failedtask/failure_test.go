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
	for _, c := range []struct {
		name          string
		status, task  string        // how the task test failed; which task is checked
		took, timeout time.Duration // of the checked task, in the run; 0: it did not run, it has none
		reproduction  bool          // or a verification
		want          time.Duration
	}{
		{"no timeout, in a reproduction", record.Failed, "test", time.Minute, 0, true, 3 * time.Minute},
		{"no timeout, and a short run", record.Failed, "test", time.Second, 0, true, 2 * time.Minute},
		{"no timeout, in a verification", record.Failed, "test", time.Minute, 0, false, 0},
		{"a short timeout", record.Failed, "test", time.Minute, time.Second, true, 3 * time.Minute},
		{"a dependency is given its own time", record.Failed, "build", time.Minute, time.Second, false, 3 * time.Minute},
		{"a long timeout stays", record.Failed, "build", time.Minute, time.Hour, false, time.Hour},
		{"never less than two minutes", record.Failed, "build", 0, time.Second, false, 2 * time.Minute},
		{"a failure by timeout", record.TimedOut, "test", time.Second, time.Second, true, time.Second},
		{"a failure by a timeout that is gone", record.TimedOut, "test", time.Second, 0, true, 0},
		{"another task than that one", record.TimedOut, "build", time.Second, time.Second, true, 2 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got time.Duration
			run := record.Run{}
			if c.took > 0 {
				run.Tasks = []record.Task{{Name: c.task, DurationMS: new(c.took.Milliseconds())}}
			}
			f := &Failure{
				Config: &pipeline.Config{Root: "/root-of-nothing"}, Task: &pipeline.Task{Name: "test"},
				Ended: &record.Task{Status: c.status}, Run: &record.Sealed{Run: run},
				RunTask: func(_ context.Context, _ string, t *pipeline.Task, _ sandbox.Box, _ io.Writer) (record.Task, error) {
					got = t.Timeout
					return record.Task{}, nil
				},
			}
			task, most := &pipeline.Task{Name: c.task, Timeout: c.timeout}, time.Duration(0)
			if c.reproduction {
				most = f.Patience(task)
			}
			_, err := f.Check(t.Context(), task, sandbox.Box{Tier: sandbox.None}, io.Discard, most)
			if err != nil || got != c.want {
				t.Errorf("%s, want %s (%v)", got, c.want, err)
			}
		})
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
func TestCleanTail(t *testing.T) {
	t.Parallel()
	for root, cases := range map[string]map[string]string{
		"/srv/shop": {
			"/srv/shop/a.go:1":          "./a.go:1",
			"in /srv/shop":              "in .",
			"in /srv/shop, or\n":        "in ., or\n",
			"/srv/shop-api/a.go":        "/srv/shop-api/a.go",
			"/srv/shop.old/a.go":        "/srv/shop.old/a.go",
			"see /srv/shop. Next":       "see .. Next",
			"/srv/shop/x and /srv/shop": "./x and .",
		},
		"/srv/b\xffd": {
			"/srv/b\xffd/a.go:1":     "./a.go:1",
			"/srv/b\uFFFDd/a.go:1":   "./a.go:1",
			"in /srv/b\xffd":         "in .",
			"/srv/b\xffd-old/a.go:1": "/srv/bd-old/a.go:1",
			"/srv/b/a.go":            "/srv/b/a.go",
		},
	} {
		for in, want := range cases {
			if got := CleanTail(in, root, 100); got != want {
				t.Errorf("%q gives %q, want %q", in, got, want)
			}
		}
	}
	if got := CleanTail("first\nsecond\nthird", "/r", 8); got != "third" {
		t.Errorf("%q", got)
	}
}
