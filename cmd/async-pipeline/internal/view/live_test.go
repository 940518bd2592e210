package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hinshun/vt10x"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A stage is a live view in a terminal, with a clock that does not go on by itself.
type stage struct {
	t       *testing.T
	live    *Live
	vt      vt10x.Terminal
	now     time.Time
	columns int
	rows    int
}

func newStage(t *testing.T, columns, rows int, colour bool, names ...string) *stage {
	s := &stage{t: t, now: time.Unix(1795286416, 0), columns: columns, rows: rows, vt: vt10x.New(vt10x.WithSize(columns, rows))}
	s.live = (&Screen{Colour: colour, Columns: columns}).Live(names, func() time.Time { return s.now })
	return s
}

func (s *stage) start(names ...string) *stage {
	for _, n := range names {
		s.live.Started(&pipeline.Task{Name: n})
	}
	return s
}

func (s *stage) pass(name string) {
	s.live.Finished(record.Task{Name: name, Status: record.Passed, DurationMS: ptr(int64(1200))})
}

// draw draws a frame and checks what every frame keeps to.
func (s *stage) draw() string {
	s.t.Helper()
	frame := string(s.live.Frame(s.columns, s.rows, true))
	if _, err := s.vt.Write([]byte(frame)); err != nil {
		s.t.Fatal(err)
	}
	if _, region, ok := strings.Cut(frame, noWrap); ok {
		lines := strings.Split(region, "\r\n")
		if len(lines) > s.rows {
			s.t.Errorf("%d lines on %d rows: %q", len(lines), s.rows, frame)
		}
		for _, line := range lines {
			if n := columns(bare(line)); n >= s.columns {
				s.t.Errorf("%d columns of %d: %q", n, s.columns, line)
			}
		}
	}
	if c := s.vt.Cursor(); c.X != 0 || !s.vt.CursorVisible() {
		s.t.Errorf("the cursor is in column %d, visible: %v", c.X, s.vt.CursorVisible())
	}
	return s.screen()
}

func (s *stage) screen() string {
	var lines []string
	for line := range strings.SplitSeq(s.vt.String(), "\n") {
		lines = append(lines, strings.TrimRight(line, " \x00"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func TestLive(t *testing.T) {
	t.Parallel()
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, tt := range []struct {
		name          string
		columns, rows int
		do            func(s *stage)
		want          string
	}{
		{"nothing runs yet", 80, 24, func(*stage) {}, "0/8 done · 0s"},
		{"elapsed time and the last line", 80, 24, func(s *stage) {
			s.start("a", "b")
			s.live.Output("a", []byte("one\ntwo\n"))
			s.live.Output("b", []byte("half a li"))
			s.now = s.now.Add(65 * time.Second)
			s.live.Output("b", []byte("ne"))
		}, "0/8 done, 2 running · 1m05s\n  a 1m05s  two\n  b 1m05s  half a line"},
		{"what ended scrolls by", 80, 24, func(s *stage) {
			s.start("a", "b")
			s.draw()
			s.pass("a")
			s.live.Finished(record.Task{Name: "b", Status: record.Failed, ExitCode: ptr(2), DurationMS: ptr(int64(300))})
			s.live.Finished(record.Task{Name: "c", Status: record.Skipped, Reason: ptr("dependency"), BlockedBy: ptr("b")})
		}, "✓ a passed 1.2s\n✗ b failed: exit 2 0.3s\n2/8 done, 1 failed, 1 skipped · 0s"},
		{"what was skipped scrolls by at the end, many as one", 80, 24, func(s *stage) {
			s.start("a")
			for _, name := range many[1:6] {
				s.live.Finished(record.Task{Name: name, Status: record.Skipped, Reason: ptr("fail_fast"), BlockedBy: ptr("a")})
			}
			s.draw()
			s.live.End([]record.Task{
				{Name: "a", Status: record.Failed, ExitCode: ptr(2)},
				{Name: "b", Status: record.Skipped},
				{Name: "g", Status: record.Skipped, Reason: ptr("dependency"), BlockedBy: ptr("a")},
				{Name: "h", Status: record.Passed},
			})
		}, "✗ a failed: exit 2\n✓ h passed\n– 5 tasks skipped (fail-fast: a failed)\n– g skipped (dependency: a did not pass)"},
		{"an end is shown once", 80, 24, func(s *stage) {
			s.start("a")
			s.pass("a")
			s.live.End([]record.Task{{Name: "a", Status: record.Passed}, {Name: "b", Status: record.Cancelled}})
		}, "✓ a passed 1.2s\n– b cancelled\n2/8 done · 0s"},
		{"all have ended: nothing stands below", 80, 24, func(s *stage) {
			s.start(many...)
			s.draw()
			s.live.End([]record.Task{{Name: "a", Status: "passed"}, {Name: "b", Status: "passed"}, {Name: "c", Status: "passed"}, {Name: "d", Status: "passed"}})
			s.live.End([]record.Task{{Name: "e", Status: "passed"}, {Name: "f", Status: "passed"}, {Name: "g", Status: "passed"}, {Name: "h", Status: "passed"}})
		}, "✓ a passed\n✓ b passed\n✓ c passed\n✓ d passed\n✓ e passed\n✓ f passed\n✓ g passed\n✓ h passed"},
		{"five rows", 40, 5, func(s *stage) { s.start(many...) }, "0/8 done, 8 running · 0s\n  a    0s\n  b    0s\n  … and 6 more"},
		{"three rows", 40, 3, func(s *stage) { s.start(many...) }, "0/8 done, 8 running · 0s\n  a    0s"},
		{"two rows", 40, 2, func(s *stage) { s.start(many...) }, "0/8 done, 8 running · 0s"},
		{"one row", 40, 1, func(s *stage) { s.start(many...) }, ""},
		{"all of them fit", 40, 14, func(s *stage) { s.start(many...) }, "0/8 done, 8 running · 0s\n  a    0s\n  b    0s\n  c    0s\n  d    0s\n  e    0s\n  f    0s\n  g    0s\n  h    0s"},
		{"ten columns", 10, 6, func(s *stage) {
			s.start("a")
			s.live.Output("a", []byte("there is no room for this\n"))
		}, "0/8 done…\n  a    0s"},
		{"control characters do nothing, colours and movements are dropped", 80, 24, func(s *stage) {
			s.start("a", "b")
			s.live.Output("a", []byte("\x1b[2J\x1b[1;1Hx\x1b]0;title\x07 \x1b[31mred\ta\u202eb\n"))
			s.live.Output("b", []byte("10%\r20%\r30%\r"))
		}, "0/8 done, 2 running · 0s\n  a    0s  x red   a<U+202E>b\n  b    0s  30%"},
		{"the end of a long line", 40, 24, func(s *stage) {
			s.start("a")
			s.live.Output("a", []byte(strings.Repeat("x", 5000)+"\n"))
			s.live.Output("a", []byte("a line that is too long for the room that is left\n"))
		}, "0/8 done, 1 running · 0s\n  a    0s  a line that is too long for…"},
		{"a task that is tried again", 80, 24, func(s *stage) {
			s.start("a", "b")
			s.live.Output("a", []byte("of the first\n"))
			s.draw()
			a := &pipeline.Task{Name: "a", Retry: pipeline.Retry{Attempts: 3}}
			s.live.Retried(a, 2, record.Task{Name: "a", Status: record.Failed, ExitCode: ptr(75), Attempts: 1})
			s.live.Output("a", []byte("[async-pipeline: attempt 2 of 3, after exit 75]\n"))
		}, "– a attempt 2 of 3, after exit 75\n0/8 done, 2 running · 0s\n  a    0s  attempt 2\n  b    0s"},
		{"what it prints when it is tried again", 80, 24, func(s *stage) {
			s.start("a")
			a := &pipeline.Task{Name: "a", Retry: pipeline.Retry{Attempts: 3}}
			s.live.Retried(a, 3, record.Task{Name: "a", Status: record.Failed, ExitCode: ptr(75), Attempts: 2})
			s.live.Output("a", []byte("of the third\n"))
		}, "– a attempt 3 of 3, after exit 75\n0/8 done, 1 running · 0s\n  a    0s  attempt 3 · of the third"},
		{"being ended", 80, 24, func(s *stage) {
			s.start("a")
			s.live.Interrupted()
		}, "0/8 done, 1 running · 0s · being ended\n  a    0s"},
		{"our own lines scroll by", 80, 24, func(s *stage) {
			s.start("a")
			s.draw()
			fmt.Fprint(s.live, "first\n\nsecond\n")
		}, "first\n\nsecond\n0/8 done, 1 running · 0s\n  a    0s"},
		{"what others write in between", 80, 24, func(s *stage) {
			s.start("a", "b")
			s.draw()
			_, _ = s.vt.Write(append(s.live.Erase(s.columns), "note: hello\r\n"...))
		}, "note: hello\n0/8 done, 2 running · 0s\n  a    0s\n  b    0s"},
		{"after it was stopped", 80, 24, func(s *stage) {
			s.start("a")
			s.draw()
			_, _ = s.vt.Write([]byte("$ fg\r\n"))
			s.live.Forget()
		}, "0/8 done, 1 running · 0s\n  a    0s\n$ fg\n0/8 done, 1 running · 0s\n  a    0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, tt.columns, tt.rows, false, many...)
			tt.do(s)
			if got := s.draw(); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if again := s.live.Frame(s.columns, s.rows, true); again != nil {
				t.Errorf("a frame although nothing changed: %q", again)
			}
		})
	}
}

func TestLiveHook(t *testing.T) {
	t.Parallel()
	s := newStage(t, 60, 24, false)
	s.live.HookStarted("test", "fixer works on test", 2, 90*time.Second)
	if got, want := s.draw(), "fixer works on test · at most 2 attempts · 1m30s left\n  begins    0s"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s.live.HookStep("test", "reproduced: exit 1", 0)
	s.live.HookStep("test", "attempt 1 of 2: agent fixer works", 85*time.Second)
	s.now = s.now.Add(7 * time.Second)
	if got, want := s.draw(), "test · reproduced: exit 1\nfixer works on test · at most 2 attempts · 1m18s left\n  attempt 1 of 2: agent fixer works    7s"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s.columns = 30
	s.vt.Resize(30, 24)
	if got, want := s.draw(), "fixer works on … · 1m18s left\n  attempt 1 of 2: agen…    7s"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s.live.HookDone()
	if got := s.draw(); strings.Contains(got, "left") || !strings.Contains(got, "test · attempt 1 of 2") {
		t.Errorf("got\n%s", got)
	}
}

// In the background only what has ended is shown.
func TestLiveInTheBackground(t *testing.T) {
	t.Parallel()
	s := newStage(t, 80, 24, false, "a", "b").start("a", "b")
	s.draw()
	s.pass("a")
	if _, err := s.vt.Write(s.live.Frame(80, 24, false)); err != nil {
		t.Fatal(err)
	}
	if got, want := s.screen(), "✓ a passed 1.2s"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Only what changed is drawn again.
func TestLiveDrawsLittle(t *testing.T) {
	t.Parallel()
	s := newStage(t, 80, 24, true, "a", "b").start("a", "b")
	s.draw()
	s.live.Output("b", []byte("more\n"))
	frame := string(s.live.Frame(80, 24, true))
	if !strings.Contains(frame, "more") || strings.Contains(frame, "running") || strings.Contains(frame, "  a") {
		t.Errorf("got %q", frame)
	}
	if !strings.HasPrefix(frame, beginUpdate) || !strings.HasSuffix(frame, endUpdate) {
		t.Errorf("not one update: %q", frame)
	}
}

// Wide characters are as wide as they are.
func TestLiveWide(t *testing.T) {
	t.Parallel()
	s := newStage(t, 40, 24, false, "日本語").start("日本語")
	s.live.Output("日本語", []byte("テスト テスト テスト テスト 🚀 é e\u0301\n"))
	frame := string(s.live.Frame(40, 24, true))
	if want := "  日本語    0s  テスト テスト テスト …" + eraseRight; !strings.Contains(frame, want) {
		t.Errorf("got %q, want %q", frame, want)
	}
}

// Whatever happens in whatever terminal: no frame is too high or too wide (draw checks it), and nothing of an old
// one is left.
func TestLiveLeavesNothing(t *testing.T) {
	t.Parallel()
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprintf("task%d", i))
		}
		s := newStage(t, 20+rnd.IntN(80), 2+rnd.IntN(30), seed%2 == 0, names...)
		next, running := 0, []string{}
		for range 120 {
			switch k := rnd.IntN(10); {
			case k < 3 && next < len(names):
				s.start(names[next])
				running = append(running, names[next])
				next++
			case k < 5 && len(running) > 0:
				i := rnd.IntN(len(running))
				s.pass(running[i])
				running = append(running[:i], running[i+1:]...)
			case k < 8 && len(running) > 0:
				s.live.Output(running[rnd.IntN(len(running))], []byte(strings.Repeat("word ", rnd.IntN(40))+"\r\n\x1b[31m日本"[rnd.IntN(4):]))
			case k == 8:
				s.now = s.now.Add(time.Duration(rnd.IntN(100)) * time.Second)
			}
			if rnd.IntN(3) == 0 {
				s.draw()
			}
		}
		s.draw()
		for _, n := range running {
			s.pass(n)
		}
		for _, n := range names[next:] {
			s.pass(n)
		}
		if got := s.draw(); strings.Contains(got, "running") || strings.Contains(got, "more") || strings.Contains(got, "word") {
			t.Fatalf("seed %d: something is left:\n%s", seed, got)
		}
	}
}

// A terminal that is made narrower breaks the lines that are drawn in it; they are erased all the same.
func TestLiveNarrower(t *testing.T) {
	t.Parallel()
	s := newStage(t, 80, 24, false, "a").start("a")
	s.live.Output("a", []byte(strings.Repeat("word ", 12)))
	wide := s.draw()
	var broken strings.Builder
	for line := range strings.SplitSeq(wide, "\n") { // as most terminals do it
		for _, part := range chop(line, 30) {
			broken.WriteString(part + "\r\n")
		}
	}
	s.vt, s.columns = vt10x.New(vt10x.WithSize(30, 24)), 30
	_, _ = s.vt.Write([]byte("above\r\n" + broken.String()))
	if got, want := s.draw(), "above\n0/1 done, 1 running · 0s\n  a    0s  word word word wo…"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// However many tasks a run has, one that ends costs the same.
func TestLiveManyTasks(t *testing.T) {
	t.Parallel()
	names := make([]string, 10000)
	for i := range names {
		names[i] = fmt.Sprintf("task%d", i)
	}
	s := newStage(t, 80, 24, false, names...)
	began := time.Now()
	for _, n := range names {
		s.start(n)
		s.live.Output(n, []byte("some output\n"))
		s.pass(n)
	}
	s.draw()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%v", took)
	}
}

// A service that goes on since an earlier run is among what runs, and of one that goes on after it no end is shown.
func TestLiveGoesOn(t *testing.T) {
	t.Parallel()
	s := newStage(t, 60, 12, false, "db", "web", "test")
	s.live.Ready(&pipeline.Task{Name: "db"}, 0, "20261121T024000Z-7f3a")
	s.start("web")
	s.live.Ready(&pipeline.Task{Name: "web"}, 1200*time.Millisecond, "")
	s.start("test")
	got := s.draw()
	for _, want := range []string{"✓ db goes on\n", "✓ web ready 1.2s\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing: %s", want, got)
		}
	}
	if strings.Count(got, "db") != 2 {
		t.Errorf("db is not among what runs: %s", got)
	}
	for _, name := range []string{"db", "web"} {
		s.live.Finished(record.Task{Name: name, Status: record.Passed, Reason: ptr(record.RunEnded), DurationMS: ptr(int64(1200)), Service: &record.Service{Kept: true}})
	}
	s.pass("test")
	if got = s.draw(); strings.Count(got, "db") != 1 || strings.Count(got, "web") != 1 || !strings.Contains(got, "✓ test passed") {
		t.Errorf("at the end: %s", got)
	}
}
