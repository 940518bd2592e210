package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// How a check ends in these tests: nil lets it pass.
var (
	errFails  = errors.New("fails")
	errHangs  = errors.New("hangs") // until it is cancelled
	errBroken = errors.New("cannot be run")
)

// checks run no process. Two at the same time wait until both have begun.
type checks struct {
	ends map[string]error // by name: "proposed", "original", and "proposed beside", "original beside"
	meet chan struct{}

	mu  sync.Mutex
	now string   // which part the person was told of last, or both
	got bool     // a check began since
	ran []string // how they ended
}

// told is told the steps.
func (c *checks) told(text string, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case strings.Contains(text, "verifying the patch:"):
		c.now, c.got = "proposed", false
	case !strings.Contains(text, "verifying with the original checks:"):
	case c.now == "proposed" && !c.got:
		c.now = "beside"
	default:
		c.now = "original"
	}
}

func (c *checks) run(
	ctx context.Context, _ string, t *pipeline.Task, box sandbox.Box, _ io.Writer,
) (record.Task, error) {
	c.mu.Lock()
	name := c.now
	c.got = true
	c.mu.Unlock()
	if name == "beside" {
		name = "proposed beside"
		if strings.Contains(box.Copy, "check-beside") {
			name = "original beside"
			c.meet <- struct{}{}
		} else {
			<-c.meet
		}
	}
	end := c.ends[name]
	if errors.Is(end, errHangs) {
		<-ctx.Done()
		name += ": " + ctx.Err().Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if text, err := os.ReadFile(filepath.Join(box.Copy, "a")); string(text) != "good" {
		name += fmt.Sprintf(": a is %q, %v", text, err)
	}
	c.ran = append(c.ran, name)
	if errors.Is(end, errBroken) {
		return record.Task{}, end
	}
	r := record.Task{Name: t.Name, Status: record.Passed, ExitCode: new(0), DurationMS: new(int64(1))}
	if end != nil {
		r.Status, r.ExitCode = record.Failed, new(1)
	}
	return r, nil
}

// request asks for the verification of a patch that makes a good, in a tree where Failing's one task failed.
func (c *checks) request(t *testing.T, tier sandbox.Tier) Request {
	t.Helper()
	config, store, run := fixtest.Failing(t, &pipeline.AgentHook{})
	f := failedtask.Read(failedtask.Failure{
		Config: config, Task: config.Task("check"), Run: run, Ended: run.Task("check"), RunTask: c.run,
		Clean: func(s string) string { return s },
	})
	fixtest.Put(t, config.Root, "PIPELINE.hcl", "f:# mine\n")
	work := t.TempDir()
	h := &homes.Homes{
		Places: homes.Places{Store: store.Dir, Work: filepath.Join(work, "work"), Kept: filepath.Join(work, "kept")},
		Task:   f.Task, Box: sandbox.Box{Tier: tier},
	}
	fixtest.Check(t, h.Open(config.Root))
	base, err := scratch.Make(t.Context(), h.Work, scratch.Source{Root: config.Root})
	fixtest.Check(t, err)
	t.Cleanup(func() {
		fixtest.Check(t, errors.Join(base.Close(), h.Close()))
		if left, err := os.ReadDir(h.Work); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return Request{
		Failure: f, Homes: h, Base: base, Progress: &progress.Log{Watch: c.told}, Number: 1, Took: time.Minute,
		Processors: new(0.0),
		Changes:    []patch.Change{change("a", "bad", "good")},
	}
}

func change(path, before, after string) patch.Change {
	file := func(text string) *patch.File {
		if text == "" {
			return nil
		}
		return &patch.File{Mode: 0o644, Data: []byte(text)}
	}
	return patch.Change{Path: path, Before: file(before), After: file(after)}
}

// Side by side a check that passes counts, and nothing else does.
func TestBeside(t *testing.T) {
	t.Parallel()
	if !slices.Contains(sandbox.Tiers(), sandbox.View) {
		t.Skip("no view on this machine")
	}
	cancelled := ": " + context.Canceled.Error()
	for _, c := range []struct {
		name    string
		ends    map[string]error
		ran     string // in the order in which they ended; those at the same time sorted
		verdict string
		beside  bool
	}{
		{"both pass", nil, "original beside, proposed beside", Verified, true},
		{
			"the patch fails: the other is cancelled, and the patch judged alone",
			map[string]error{"proposed beside": errFails, "original beside": errHangs, "proposed": errFails},
			"original beside" + cancelled + ", proposed beside, proposed", "unverified (check_failed)", false,
		},
		{
			"the patch was disturbed",
			map[string]error{"proposed beside": errFails, "original beside": errHangs},
			"original beside" + cancelled + ", proposed beside, proposed, original", Verified, false,
		},
		{
			"the original checks were disturbed",
			map[string]error{"original beside": errFails},
			"original beside, proposed beside, original", Verified, false,
		},
		{
			"the original checks fail alone too",
			map[string]error{"original beside": errFails, "original": errFails},
			"original beside, proposed beside, original", "suspect (check_changed)", false,
		},
		{
			"a fault beside counts no more than a failure",
			map[string]error{"proposed beside": errBroken, "original beside": errHangs},
			"original beside" + cancelled + ", proposed beside, proposed, original", Verified, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := &checks{ends: c.ends, meet: make(chan struct{})}
			q := k.request(t, sandbox.View)
			r := Run(t.Context(), q)
			slices.Sort(k.ran[:2])
			if got := strings.Join(k.ran, ", "); got != c.ran || r.String() != c.verdict ||
				r.Checks.SideBySide != c.beside {
				t.Errorf("%s: %s, side by side %v; want %s: %s", got, &r, r.Checks.SideBySide, c.ran, c.verdict)
			}
			if n := len(r.Checks.Proposed); n != 1 {
				t.Errorf("%d checks with the patch", n)
			}
		})
	}
}

// A person who interrupts, or the wall clock, ends both. Nothing of them counts as a failure.
func TestBesideEnds(t *testing.T) {
	t.Parallel()
	if !slices.Contains(sandbox.Tiers(), sandbox.View) {
		t.Skip("no view on this machine")
	}
	k := &checks{ends: map[string]error{"original beside": errHangs}, meet: make(chan struct{})}
	q := k.request(t, sandbox.View)
	ctx, cancel := context.WithCancel(t.Context())
	run := q.Failure.RunTask
	q.Failure.RunTask = func(
		c context.Context, dir string, task *pipeline.Task, box sandbox.Box, out io.Writer,
	) (record.Task, error) {
		r, err := run(c, dir, task, box, out)
		cancel()
		return r, err
	}
	r := Run(ctx, q)
	if r.String() != "unverified (no_time)" || len(r.Checks.Proposed) != 1 || !r.Checks.Proposed[0].Passed {
		t.Errorf("%s, %+v", &r, r.Checks)
	}
}

// Where side by side could be slower, or could change a verdict, one comes after the other.
func TestNotBeside(t *testing.T) {
	t.Parallel()
	tier := sandbox.None
	if slices.Contains(sandbox.Tiers(), sandbox.View) {
		tier = sandbox.View
	}
	k := &checks{}
	one := k.request(t, tier)
	for name, set := range map[string]func(*Request){
		"":                                     func(*Request) {},
		"the task claims everything":           func(q *Request) { q.Parallel = 1 },
		"it is not known what the check needs": func(q *Request) { q.Processors = nil },
		"the check needs all processors":       func(q *Request) { q.Processors = new(1e6) },
		"other copies":                         func(q *Request) { q.Homes = &homes.Homes{Box: sandbox.Box{Tier: sandbox.Fence}} },
		"other files":                          func(q *Request) { q.Changes = append(q.Changes, change("a_test.go", "", "new")) },
		"other tasks":                          func(q *Request) { q.Also = []string{"more"} },
		"the wall clock": func(q *Request) {
			none := func() time.Duration { return 0 }
			q.Budget = budget.Start(pipeline.Budget{WallClock: 4 * time.Minute}, 0, none)
		},
	} {
		q := one
		f := *q.Failure
		config := *f.Config
		config.Tasks = append(slices.Clone(config.Tasks), &pipeline.Task{Name: "more"})
		f.Config, q.Failure = &config, &f
		set(&q)
		p := part{changes: q.Changes, tasks: q.tasks(true)}
		o := part{changes: q.checkFiles(q.scope()).Restore(q.Changes), tasks: q.tasks(false)}
		if got := q.sideBySide(p, o); got != (name == "" && tier == sandbox.View) {
			t.Errorf("%q: %v", name, got)
		}
	}
	for busy, fits := range map[float64]bool{0: true, 1: true, 1.01: false} {
		if q := (&Request{Processors: &busy}); q.fits(2) != fits {
			t.Errorf("%.2f of 2 processors: %v", busy, !fits)
		}
	}
}
