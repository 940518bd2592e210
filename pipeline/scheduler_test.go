package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

func graph(t interface{ Fatal(...any) }, c *pipeline.Config) *pipeline.Graph {
	g, err := pipeline.Select(c, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func tell(ends []pipeline.End) string {
	var s []string
	for _, e := range ends {
		switch {
		case e.Started && e.Err == nil:
			s = append(s, e.Task.Name+" passed")
		case e.Started:
			s = append(s, e.Task.Name+" failed")
		default:
			s = append(s, strings.TrimSpace(fmt.Sprint(e.Task.Name, " ", e.Reason, " ", e.BlockedBy)))
		}
	}
	return strings.Join(s, ", ")
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		lines    []string
		parallel int
		took     map[string]time.Duration // zero: at once
		fails    []string
		cancel   time.Duration // zero: never
		on       bool          // KeepGoing
		want     string
	}{
		{name: "all pass", lines: []string{"b: a", "a:", "c:"}, parallel: 2, want: "a passed, b passed, c passed"},
		{name: "no task", want: ""},
		{
			name: "dependency and fail-fast", lines: []string{"a:", "b: a", "c: b", "d:"}, parallel: 1, fails: []string{"a"},
			want: "a failed, b dependency a, c dependency a, d fail_fast a",
		},
		{
			name: "what runs is drained", lines: []string{"slow:", "bad:", "after: slow", "other:"}, parallel: 2,
			took: map[string]time.Duration{"slow": 5 * time.Second, "bad": time.Second}, fails: []string{"bad"},
			want: "slow passed, bad failed, after fail_fast bad, other fail_fast bad",
		},
		{
			name: "a second failure while draining changes nothing", lines: []string{"slow:", "bad:", "after: slow", "below: bad"}, parallel: 2,
			took: map[string]time.Duration{"slow": 5 * time.Second, "bad": time.Second}, fails: []string{"bad", "slow"},
			want: "slow failed, bad failed, after fail_fast bad, below dependency bad",
		},
		{
			name: "cancelled", lines: []string{"a:", "b: a", "c:"}, parallel: 1,
			took: map[string]time.Duration{"a": 5 * time.Second}, cancel: time.Second,
			want: "a failed, b signal, c signal",
		},
		{
			name: "cancelled after a failure", lines: []string{"slow:", "bad:", "c:"}, parallel: 2,
			took: map[string]time.Duration{"slow": 5 * time.Second}, fails: []string{"bad"}, cancel: time.Second,
			want: "slow failed, bad failed, c fail_fast bad",
		},
		{
			name: "keep going", lines: []string{"a:", "b: a", "c: b", "d:", "e: d"}, parallel: 1, fails: []string{"a"}, on: true,
			want: "a failed, b dependency a, c dependency a, d passed, e passed",
		},
		{
			name: "keep going, two causes: the first to fail is to blame", lines: []string{"a:", "b:", "c: a b", "d: c", "e: a"}, parallel: 2,
			took: map[string]time.Duration{"a": 2 * time.Second, "b": time.Second}, fails: []string{"a", "b"}, on: true,
			want: "a failed, b failed, c dependency b, d dependency b, e dependency a",
		},
		{
			name: "keep going, a failure far down is the cause, not the skip between", lines: []string{"a:", "b: a", "c: b", "d: c x", "x:"}, parallel: 1,
			fails: []string{"b", "x"}, on: true,
			want: "a passed, b failed, c dependency b, x failed, d dependency b",
		},
		{
			name: "keep going until cancelled", lines: []string{"bad:", "below: bad", "slow:", "after: slow", "late:"}, parallel: 1,
			took: map[string]time.Duration{"slow": 5 * time.Second}, fails: []string{"bad"}, cancel: time.Second, on: true,
			want: "bad failed, below dependency bad, slow failed, after signal, late signal",
		},
		{name: "Parallel 0 means 1", lines: []string{"a:", "b:"}, fails: []string{"a"}, want: "a failed, b fail_fast a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				g := graph(t, config(c.lines...))
				var told []pipeline.End
				ends := pipeline.Scheduler{
					Parallel:  c.parallel,
					KeepGoing: c.on,
					Do: func(ctx context.Context, task *pipeline.Task) error {
						select {
						case <-time.After(c.took[task.Name]):
						case <-ctx.Done():
							return ctx.Err()
						}
						if slices.Contains(c.fails, task.Name) {
							return errors.New("exit status 1")
						}
						return nil
					},
					Skip: func(e pipeline.End) { told = append(told, e) },
				}.Walk(ctx, g)
				if got := tell(ends); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				var skipped []pipeline.End
				for _, e := range ends {
					if !e.Started {
						skipped = append(skipped, e)
					}
				}
				if c.on { // what several failures skip is told failure by failure
					slices.SortFunc(told, func(a, b pipeline.End) int {
						return slices.Index(g.Tasks(), a.Task) - slices.Index(g.Tasks(), b.Task)
					})
				}
				if !slices.Equal(skipped, told) {
					t.Errorf("Skip was told %v, the ends say %v", tell(told), tell(skipped))
				}
			})
		})
	}
}

func TestWalkTellsSkipsBeforeTheDrain(t *testing.T) {
	t.Parallel()
	for _, keepGoing := range []bool{false, true} {
		tellsSkipsAtOnce(t, keepGoing)
	}
}

func tellsSkipsAtOnce(t *testing.T, keepGoing bool) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		at := time.Hour
		pipeline.Scheduler{
			Parallel:  2,
			KeepGoing: keepGoing,
			Do: func(_ context.Context, task *pipeline.Task) error {
				if task.Name == "slow" {
					time.Sleep(time.Minute)
					return nil
				}
				return errors.New("no")
			},
			Skip: func(pipeline.End) { at = time.Since(start) },
		}.Walk(t.Context(), graph(t, config("slow:", "bad:", "c: bad")))
		if at != 0 {
			t.Errorf("told after %v", at)
		}
	})
}

func TestWalkUnderAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ends := pipeline.Scheduler{Do: func(context.Context, *pipeline.Task) error {
		t.Error("nothing may start")
		return nil
	}}.Walk(ctx, graph(t, config("a:", "b: a")))
	if got := tell(ends); got != "a signal, b signal" {
		t.Error(got)
	}
}

func TestWalkUsesAllItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		pipeline.Scheduler{Parallel: 3, Do: func(context.Context, *pipeline.Task) error {
			time.Sleep(time.Second)
			return nil
		}}.Walk(t.Context(), graph(t, config("a:", "b:", "c:", "d:", "e:", "f:")))
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("six tasks of a second, three at a time, took %v", took)
		}
	})
}

// A watch sees what runs, from within Do.
type watch struct {
	mu      sync.Mutex
	running int
	most    int
	begun   []string
	passed  map[string]bool
	faults  []string
}

func TestWalkProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawDAG(t)
		g := graph(t, c)
		parallel := rapid.IntRange(0, 4).Draw(t, "parallel")
		keepGoing := rapid.Bool().Draw(t, "keep going")
		bad := make(map[string]bool)
		for _, task := range c.Tasks {
			bad[task.Name] = rapid.IntRange(0, 9).Draw(t, "bad") == 0
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cancelAt := rapid.IntRange(-1, 12).Draw(t, "cancel")

		w := &watch{passed: make(map[string]bool)}
		skips := make(map[string]int)
		ends := pipeline.Scheduler{
			Parallel:  parallel,
			KeepGoing: keepGoing,
			Do: func(_ context.Context, task *pipeline.Task) error {
				w.mu.Lock()
				w.running++
				w.most = max(w.most, w.running)
				w.begun = append(w.begun, task.Name)
				if len(w.begun)-1 == cancelAt {
					cancel()
				}
				for _, d := range task.DependsOn {
					if !w.passed[d] {
						w.faults = append(w.faults, task.Name+" started before "+d+" had passed")
					}
				}
				w.mu.Unlock()
				time.Sleep(time.Microsecond)
				w.mu.Lock()
				defer w.mu.Unlock()
				w.running--
				if bad[task.Name] {
					return errors.New("no")
				}
				w.passed[task.Name] = true
				return nil
			},
			Skip: func(e pipeline.End) { skips[e.Task.Name]++ },
		}.Walk(ctx, g)

		if len(w.faults) > 0 || w.most > max(parallel, 1) || w.running != 0 {
			t.Fatalf("%q, %d at a time of %d, %d left running", w.faults, w.most, parallel, w.running)
		}
		if len(ends) != len(g.Tasks()) {
			t.Fatalf("%d ends for %d tasks", len(ends), len(g.Tasks()))
		}
		ran := slices.Sorted(slices.Values(w.begun))
		if len(slices.Compact(ran)) != len(w.begun) {
			t.Fatalf("a task ran twice: %q", w.begun)
		}
		failed := 0
		for i, e := range ends {
			name := e.Task.Name
			began := slices.Contains(w.begun, name)
			if e.Task != g.Tasks()[i] || e.Started != began || skips[name] > 1 || (skips[name] == 1) == e.Started || (e.Reason == "") != e.Started {
				t.Fatalf("%s: %+v, skips %d", name, e, skips[name])
			}
			if e.Err != nil {
				failed++
			}
			waits := e.BlockedBy != "" && slices.ContainsFunc(g.Ancestors(name), func(a *pipeline.Task) bool { return a.Name == e.BlockedBy })
			switch e.Reason {
			case pipeline.Dependency:
				if !bad[e.BlockedBy] || !waits || !slices.Contains(w.begun, e.BlockedBy) {
					t.Fatalf("%s is not below %q", name, e.BlockedBy)
				}
			case pipeline.FailFast:
				if !bad[e.BlockedBy] || waits || keepGoing {
					t.Fatalf("%s is below %q, or that did not fail", name, e.BlockedBy)
				}
			case pipeline.Signal:
				if ctx.Err() == nil || e.BlockedBy != "" {
					t.Fatalf("%s: %+v", name, e)
				}
			}
		}
		if failed == 0 && ctx.Err() == nil && len(w.begun) != len(ends) {
			t.Fatal("nothing failed, but not all ran")
		}
		if keepGoing && ctx.Err() == nil {
			for _, e := range ends {
				below := slices.ContainsFunc(g.Ancestors(e.Task.Name), func(a *pipeline.Task) bool { return bad[a.Name] })
				if e.Started == below || bad[e.Task.Name] != (e.Err != nil) && e.Started {
					t.Fatalf("keep going: %+v, below a failure: %v", e, below)
				}
			}
		}
		if parallel <= 1 && failed == 0 && ctx.Err() == nil {
			if got := strings.Join(w.begun, " "); got != names(g.Tasks()) {
				t.Fatalf("order %s, want %s", got, names(g.Tasks()))
			}
		}
	})
}

// BenchmarkWalk is what the order of 10,000 tasks costs, in the shapes that are hardest for it.
func BenchmarkWalk(b *testing.B) {
	const n = 10_000
	wide, chain, pairs := make([]string, n), make([]string, n), make([]string, 0, n)
	for i := range n {
		wide[i] = fmt.Sprintf("t%d:", i)
		chain[i] = fmt.Sprintf("t%d: t%d", i, i-1)
	}
	chain[0] = "t0:"
	for i := range n / 2 { // what becomes ready stands in the file between what is ready already
		pairs = append(pairs, fmt.Sprintf("b%d: a%d", i, n/2-1-i), fmt.Sprintf("a%d:", i))
	}
	for name, lines := range map[string][]string{"wide": wide, "chain": chain, "pairs": pairs} {
		b.Run(name, func(b *testing.B) {
			g, err := pipeline.Select(config(lines...), nil, false)
			if err != nil {
				b.Fatal(err)
			}
			s := pipeline.Scheduler{Parallel: 2, Do: func(context.Context, *pipeline.Task) error { return nil }}
			for b.Loop() {
				s.Walk(b.Context(), g)
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/task")
		})
	}
}

// A task may be ready and yet not start, because something that had passed has failed since.
func TestWalkBlocked(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name      string
		keepGoing bool
		reason    pipeline.Reason
		want      string
	}{
		{"its own", false, pipeline.Dependency, "a: dependency s, below: dependency s, other: fail_fast s, s: passed"},
		{"its own, keep going", true, pipeline.Dependency, "a: dependency s, below: dependency s, other: passed, s: passed"},
		{"of another task", false, pipeline.FailFast, "a: fail_fast s, below: fail_fast s, other: fail_fast s, s: passed"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := &pipeline.Config{Tasks: []*pipeline.Task{
				{Name: "s"}, {Name: "a", DependsOn: []string{"s"}}, {Name: "below", DependsOn: []string{"a"}}, {Name: "other", DependsOn: []string{"s"}},
			}}
			g, err := pipeline.Select(c, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			told := map[string]int{}
			ends := pipeline.Scheduler{
				KeepGoing: k.keepGoing,
				Skip:      func(e pipeline.End) { told[e.Task.Name]++ },
				Do: func(_ context.Context, t *pipeline.Task) error {
					if t.Name == "a" {
						return &pipeline.Blocked{By: "s", Reason: k.reason}
					}
					return nil
				},
			}.Walk(t.Context(), g)
			var got []string
			for _, e := range ends {
				how := "passed"
				if !e.Started {
					how = fmt.Sprintf("%s %s", e.Reason, e.BlockedBy)
				}
				if e.Err != nil || (told[e.Task.Name] == 1) == e.Started {
					t.Errorf("%s: error %v, told %d times", e.Task.Name, e.Err, told[e.Task.Name])
				}
				got = append(got, e.Task.Name+": "+how)
			}
			slices.Sort(got)
			if got := strings.Join(got, ", "); got != k.want {
				t.Errorf("got  %s\nwant %s", got, k.want)
			}
		})
	}
}
