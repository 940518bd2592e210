package view

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what a screen shows with testdata/<name>.golden and checks that no line of ours is wider than Width.
func golden(t *testing.T, name string, show func(*Screen)) string {
	t.Helper()
	var b strings.Builder
	show(&Screen{W: &b, Base: "/home/me/shop"})
	got := b.String()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n--- got\n%s\n--- want\n%s", name, got, want)
	}
	for line := range strings.SplitSeq(got, "\n") {
		if columns(line) > Width {
			t.Errorf("%s: %d columns: %q", name, columns(line), line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("%s: spaces at the end: %q", name, line)
		}
	}
	return got
}

func ptr[T any](v T) *T { return &v }

func TestHarmless(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "go test ./...", "go test ./..."},
		{"umlaut and emoji stay", "größer 🚀 日本", "größer 🚀 日本"},
		{"cursor", "a\x1b[2Jb", "a^[[2Jb"},
		{"title", "a\x1b]0;x\x07b", "a^[]0;x^Gb"},
		{"colour is shown: two names never look the same", "a\x1b[1;31mb\x1b[0m", "a^[[1;31mb^[[0m"},
		{"line end", "a\nb\r\tc", "a^Jb^M^Ic"},
		{"delete", "a\x7f", "a^?"},
		{"C1 in UTF-8", "a\u009b2Jb", "a<U+009B>2Jb"},
		{"C1 as a byte", "a\x9b2Jb", "a\ufffd2Jb"},
		{"bidi", "if \u202e} \u2066x", "if <U+202E>} <U+2066>x"},
		{"zero width", "ad\u200bmin\ufeff", "ad<U+200B>min<U+FEFF>"},
		{"tag characters", "x\U000e0041", "x<U+E0041>"},
		{"line separator", "a\u2028b", "a<U+2028>b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Harmless(tt.in); got != tt.want {
				t.Errorf("Harmless(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 0: "0.0s", 440 * time.Millisecond: "0.4s", 59940 * time.Millisecond: "59.9s", 59990 * time.Millisecond: "1m00s",
		245 * time.Second: "4m05s", 2*time.Hour + 3*time.Minute: "2h03m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestWrapAndChop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"", 10, ""},
		{"one two three", 7, "one two|three"},
		{"日本語 テキスト", 8, "日本語|テキスト"},
		{"averylongword x", 5, "averylongword|x"},
	} {
		if got := strings.Join(Wrap(tt.in, tt.width), "|"); got != tt.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
	if got := strings.Join(chop("abcdef日本", 3), "|"); got != "abc|def|日|本" {
		t.Errorf("chop = %q", got)
	}
	if got := cut("abcdef", 4); got != "abc…" {
		t.Errorf("cut = %q", got)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longLine) + "é"
	for _, tt := range []struct {
		name string
		do   func(l *Lines)
		want string
	}{
		{"whole lines", func(l *Lines) {
			l.Output("build", []byte("one\ntwo\n"))
		}, "build │ one\nbuild │ two\n"},
		{"a line in pieces comes once", func(l *Lines) {
			l.Output("build", []byte("on"))
			l.Output("go", []byte("x\n"))
			l.Output("build", []byte("e\n"))
		}, "go    │ x\nbuild │ one\n"},
		{"the rest comes with the end", func(l *Lines) {
			l.Output("build", []byte("no end"))
			l.Finished(record.Task{Name: "build", Status: record.Passed, DurationMS: ptr(int64(1234))})
		}, "build │ no end\n✓ build passed 1.2s\n"},
		{"an end is shown once", func(l *Lines) {
			r := record.Task{Name: "build", Status: record.Failed, ExitCode: ptr(1), DurationMS: ptr(int64(400))}
			l.Finished(r)
			l.End([]record.Task{r, {Name: "test", Status: record.Skipped, Reason: ptr("dependency"), BlockedBy: ptr("build")}})
		}, "✗ build failed: exit 1 0.4s\n– test skipped (dependency: build did not pass)\n"},
		{"a task that is tried again", func(l *Lines) {
			build := &pipeline.Task{Name: "build", Retry: pipeline.Retry{Attempts: 3}}
			l.Output("build", []byte("no end"))
			l.Retried(build, 2, record.Task{Name: "build", Status: record.Failed, ExitCode: ptr(75), Attempts: 1})
			l.Output("build", []byte("once more\n"))
			build.Retry.Delay = 2 * time.Second
			l.Retried(build, 3, record.Task{Name: "build", Status: record.Failed, ExitCode: ptr(1), Attempts: 2})
		}, "build │ no end\n– build attempt 2 of 3, after exit 75\nbuild │ once more\n– build attempt 3 of 3 in 2.0s, after exit 1\n"},
		{"CRLF, also when it is torn apart", func(l *Lines) {
			l.Output("go", []byte("a\r\nb\r"))
			l.Output("go", []byte("\nc\n"))
		}, "go    │ a\ngo    │ b\ngo    │ c\n"},
		{"a progress bar is lines", func(l *Lines) {
			l.Output("go", []byte("10%\r20%\r30%\n"))
		}, "go    │ 10%\ngo    │ 20%\ngo    │ 30%\n"},
		{"control characters are shown, tabs stay", func(l *Lines) {
			l.Output("go", []byte("a\tb\x1b[2J\x1b[31mred\x1b[0m\n"))
		}, "go    │ a\tbred\n"},
		{"a very long line is streamed and not cut", func(l *Lines) {
			l.Output("go", []byte(long[:len(long)-1])) // half of é is held back
			l.Output("build", []byte("between\n"))
			l.Output("go", []byte(long[len(long)-1:]+"!\n"))
		}, "go    │ " + strings.Repeat("x", longLine) + "\nbuild │ between\ngo    │ é!\n"},
		{"a long line that nobody interrupts is one line", func(l *Lines) {
			l.Output("go", []byte(long+"y"))
			l.Output("go", []byte("z\n"))
		}, "go    │ " + long + "yz\n"},
		{"invalid UTF-8", func(l *Lines) {
			l.Output("go", []byte("a\xffb\n"))
		}, "go    │ a\ufffdb\n"},
		{"a command of several lines", func(l *Lines) {
			l.Runs(&pipeline.Task{Name: "go", Run: pipeline.Command{Shell: pipeline.Text{Value: "echo a\necho b"}}})
		}, "go    │ $ echo a …\n"},
		{"no command where the cache answers", func(l *Lines) {
			l.Started(&pipeline.Task{Name: "go", Run: pipeline.Command{Shell: pipeline.Text{Value: "echo a"}}})
			l.Finished(record.Task{Name: "go", Status: record.Cached, DurationMS: ptr(int64(0))})
		}, "✓ go cached 0.0s\n"},
		{"how tasks end", func(l *Lines) {
			l.Finished(record.Task{Name: "a", Status: record.TimedOut, ExitCode: ptr(124), DurationMS: ptr(int64(2000))})
			l.Finished(record.Task{Name: "b", Status: record.Failed, Signal: ptr("SIGKILL"), DurationMS: ptr(int64(2000))})
			l.Finished(record.Task{Name: "c", Status: record.Failed, Error: ptr("secret TOKEN is not set")})
			l.Finished(record.Task{Name: "d", Status: record.Skipped, Reason: ptr("fail_fast"), BlockedBy: ptr("a")})
			l.Finished(record.Task{Name: "e", Status: record.Skipped, Reason: ptr("signal")})
			l.Finished(record.Task{Name: "f", Status: record.Passed, ProcessesLeft: ptr(2), DurationMS: ptr(int64(10))})
			l.End(nil)
		}, "✗ a timed out 2.0s\n✗ b failed: ended by SIGKILL 2.0s\n✗ c failed: secret TOKEN is not set\n" +
			"✓ f passed, and left 2 running (ended) 0.0s\n– d skipped (fail-fast: a failed)\n– e skipped (the run was interrupted)\n"},
		{"of one cause three are named, and more are one line", func(l *Lines) {
			for i, by := range []string{"a", "b", "a", "b", "a", "b", "b"} {
				l.Finished(record.Task{Name: fmt.Sprint("t", i), Status: record.Skipped, Reason: ptr("dependency"), BlockedBy: ptr(by)})
			}
			l.Output("go", []byte("still at work"))
			l.End([]record.Task{{Name: "t0", Status: record.Skipped}, {Name: "go", Status: record.Passed}})
		}, "go    │ still at work\n✓ go passed\n– t0 skipped (dependency: a did not pass)\n– t2 skipped (dependency: a did not pass)\n" +
			"– t4 skipped (dependency: a did not pass)\n– 4 tasks skipped (dependency: b did not pass)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			l := (&Screen{W: &b}).Lines([]string{"build", "go"})
			tt.do(l)
			if b.String() != tt.want {
				t.Errorf("got\n%q\nwant\n%q", b.String(), tt.want)
			}
		})
	}
}

// A log that ends early tells what it waited for, and what that asked last.
func TestLinesQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		l := (&Screen{W: &b}).Lines([]string{"web", "ask", "test"})
		run := func(name string, service *pipeline.Service) {
			l.Runs(&pipeline.Task{Name: name, Service: service, Run: pipeline.Command{Argv: []pipeline.Text{{Value: "true"}}}})
		}
		run("web", &pipeline.Service{})
		l.Quiet()
		run("ask", nil)
		l.Output("ask", []byte("Continue? [y/N] "))
		time.Sleep(time.Minute)
		run("test", nil)
		l.Output("test", []byte("one\n"))
		time.Sleep(2 * time.Minute)
		l.Quiet()
		l.Finished(record.Task{Name: "test", Status: record.Passed})
		l.Quiet()
		if want := "web  │ $ true\nask  │ $ true\ntest │ $ true\ntest │ one\nask  │ Continue? [y/N] \nstill running: ask 3m00s, test 2m00s\n✓ test passed\n" +
			"still running: ask 3m00s\n"; b.String() != want {
			t.Errorf("got\n%q\nwant\n%q", b.String(), want)
		}
	})
}

func TestLinesColour(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	l := (&Screen{W: &b, Colour: true}).Lines([]string{"go"})
	l.Output("go", []byte("\x1b[31mred\n"))
	if want := "\x1b[2mgo │\x1b[0m \x1b[31mred\x1b[0m\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	golden(t, "diagnostics", func(s *Screen) {
		s.Diagnostics([]pipeline.Error{
			{
				Pos: pipeline.Pos{File: "/home/me/shop/PIPELINE.hcl", Line: 3, Column: 21}, Summary: `there is no task "biuld"`,
				Suggestion: "build", Source: "\tdepends_on = [task.biuld]", Width: 5,
			},
			{
				Pos: pipeline.Pos{File: "/home/me/shop/PIPELINE.hcl", Line: 12, Column: 1}, Summary: "budget is missing",
				Detail: "An agent hook needs a budget: there is no unlimited one. Write\n\n    budget {\n      attempts   = 1\n      wall_clock = \"5m\"\n    }",
				Source: `  on_fail "agent" {`, Width: 0,
			},
			{
				Pos: pipeline.Pos{File: "/home/me/shop/PIPELINE.hcl", Line: 20, Column: 150}, Summary: "a long line",
				Source: "x = " + strings.Repeat("a", 145) + "FAULT" + strings.Repeat("b", 100), Width: 5,
			},
			{Warning: true, Pos: pipeline.Pos{File: "/elsewhere/PIPELINE.hcl"}, Summary: "hidden \u202e text", Detail: "It is shown."},
			{Summary: "no place is known"},
		})
	})
}

func TestSummary(t *testing.T) {
	t.Parallel()
	tail := ""
	for i := range 30 {
		tail += "line " + string(rune('a'+i%26)) + "\n"
	}
	golden(t, "summary", func(s *Screen) {
		s.Summary(record.Run{
			ID: "20261121T024000Z-7f3a", Status: record.Failed, DurationMS: 1640,
			Tasks: []record.Task{{Status: record.Passed}, {Status: record.Failed}, {Status: record.Skipped}, {Status: record.Skipped}},
		}, []Failure{{
			Task: record.Task{
				Name: "test", Status: record.Failed, ExitCode: ptr(1), DurationMS: ptr(int64(420)),
				Log: &record.Log{Path: "logs/test.log", LeftOutBytes: 1024},
			},
			Command: "go test ./...", Dir: "lib", Log: "/home/me/shop/.async/runs/x/logs/test.log", Tail: []byte(tail),
			Failing: Failing{[]string{"TestAdd", "TestSub"}, true},
		}}, nil, []Next{{"run it again", "async-pipeline run test"}, {"have a fix proposed", "async-pipeline heal 20261121T024000Z-7f3a test"}}, "")
		s.Summary(record.Run{ID: "20261121T024000Z-7f3b", Status: record.Passed, DurationMS: 65000, Tasks: []record.Task{{Status: record.Passed}, {Status: record.Passed}}}, nil, nil, nil, "")
		s.Summary(record.Run{ID: "20261121T024000Z-7f3c", Status: record.Interrupted, Tasks: []record.Task{{Status: record.Cancelled}}}, nil, nil, nil, "")
	})
}

func TestPlanAndTasks(t *testing.T) {
	t.Parallel()
	build := &pipeline.Task{
		Name: "build", Description: "Compile every package of the project, its tools and its examples, and put them all into bin",
		Run: pipeline.Command{Argv: []pipeline.Text{{Value: "go"}, {Value: "build"}, {Value: "a b's"}}},
	}
	test := &pipeline.Task{
		Name: "test", DependsOn: []string{"build"}, Run: pipeline.Command{Shell: pipeline.Text{Value: "go test ./..."}},
		OnFail: []pipeline.Hook{{Agent: &pipeline.AgentHook{Use: "fixer"}}, {Run: &pipeline.RunHook{}}},
	}
	golden(t, "plan", func(s *Screen) {
		s.Plan([]Planned{{Task: build, Why: "needed by test"}, {Task: test, After: []string{"build"}, Why: "asked for"}}, 4)
		s.Tasks(&pipeline.Config{Tasks: []*pipeline.Task{build, test}, Jobs: []*pipeline.Job{{Name: "default", Tasks: []string{"build", "test"}}}})
	})
}

func TestMessages(t *testing.T) {
	t.Parallel()
	golden(t, "messages", func(s *Screen) {
		s.Problem("there is no run \"x\" here: `latest` is the newest")
		s.Warning("first\nsecond \x1b[2J")
		s.Note("ended process 12")
		s.Notice("interrupted: nothing new starts; what runs has 3s, and then some more, to end as it likes;\nonce more kills it \x1b[2J")
	})
}

func TestDrafted(t *testing.T) {
	t.Parallel()
	c := &pipeline.Config{Tasks: []*pipeline.Task{{Name: "test", Description: "Run the tests"}}}
	got := golden(t, "drafted", func(s *Screen) {
		s.Base = "/project"
		s.Drafted(Drafted{
			File: "/project/PIPELINE.hcl", Config: c, Next: "async-pipeline run",
			Found: []string{"go.mod: Go module example.com/shop, Go 1.24", "evil\x1b[2J: Node project, npm"},
			Notes: []string{"the task lint is a comment in the file: it needs golangci-lint, which is not in PATH here"},
		})
		s.Drafted(Drafted{File: "/elsewhere/PIPELINE.hcl", Config: c, Next: "async-pipeline -C /elsewhere run"})
		s.Drafted(Drafted{File: "/project/PIPELINE.hcl", Config: c, Next: "async-pipeline run", HookLine: 9, AgentLine: 20})
		s.Drafted(Drafted{File: "/project/PIPELINE.hcl", Config: c, Next: "async-pipeline run", HookLine: 9, AgentLine: 20, Agent: "claude"})
		s.Drafted(Drafted{
			File: "/project/PIPELINE.hcl", Config: c, Next: "async-pipeline run", HookLine: 9, AgentLine: 20, Agent: "claude", Active: true,
			Lacks: "claude is not signed in",
		})
	})
	if strings.Contains(got, "\x1b") {
		t.Errorf("a name reached the terminal as it is: %q", got)
	}
}

// No line of list and explain is wider than the screen for a name that is nearly as wide.
func TestLongNames(t *testing.T) {
	t.Parallel()
	long, longer := strings.Repeat("n", 77), strings.Repeat("m", 78)
	argv := []pipeline.Text{{Value: "true"}}
	c := &pipeline.Config{
		Tasks: []*pipeline.Task{
			{Name: long, Run: pipeline.Command{Argv: argv}, Description: "What it is for"},
			{Name: longer, DependsOn: []string{long, longer, "a"}, Run: pipeline.Command{Argv: argv}},
		},
		Jobs: []*pipeline.Job{{Name: long, Tasks: []string{longer, long}}},
	}
	got := golden(t, "long_names", func(s *Screen) {
		s.Tasks(c)
		s.Explain(Explained{Task: c.Tasks[0], Before: []string{longer, long, "a", "b"}, Jobs: []string{"a", longer}}, time.Time{})
	})
	for _, name := range []string{long, longer} {
		if n := strings.Count(got, name); n < 4 {
			t.Errorf("%s… stands there whole %d times only", name[:3], n)
		}
	}
}

// Where there is no terminal, a headline is one line, which can be searched for, of 120 columns at most.
func TestHeadlinesOfAPipe(t *testing.T) {
	t.Parallel()
	code, took := 3, int64(1000)
	for n, breaks := range map[int]bool{60: false, 100: true} {
		name := strings.Repeat("n", n)
		task := record.Task{Name: name, Status: record.Failed, ExitCode: &code, Attempts: 2, DurationMS: &took}
		var b strings.Builder
		s := &Screen{W: &b}
		retry := &pipeline.Task{Name: name, Retry: pipeline.Retry{Attempts: 2, Delay: time.Second}}
		b.WriteString(s.again(retry, 2, task) + "\n" + s.end(task) + "\n" + s.failure(Failure{Task: task}, 3))
		b.WriteString(s.hookStory(HookStory{Task: name, Fix: &fix.Proposal{Fix: fix.Fix{State: fix.Failed}}}))
		for line := range strings.Lines(b.String()) {
			if columns(strings.TrimSpace(line)) > 120 {
				t.Errorf("%d columns: %s", columns(line), line)
			}
		}
		if got := strings.Contains(b.String(), name+"\n  "); got != breaks {
			t.Errorf("a name of %d columns:\n%s", n, b.String())
		}
	}
}

// Why a task could not be carried out stands in full once: in the summary. The line that is told when it ends is
// one line.
func TestWhyItCouldNotBeCarriedOut(t *testing.T) {
	t.Parallel()
	why := `task "a": the program no-such-program was not found in PATH: install it, or correct run or PATH`
	for columns, want := range map[int]string{
		0: "✗ a failed: the program no-such-program was not found in PATH: install it, or c…\n" +
			"\n✗ a failed\n  the program no-such-program was not found in PATH: install it, or correct run or PATH\n",
		80: "✗ a failed: the program no-such-program was not found in PATH: install it, or c…\n" +
			"\n✗ a failed\n  the program no-such-program was not found in PATH: install it, or correct run\n  or PATH\n",
		32: "✗ a\n  failed: the program no-such-p…\n" +
			"\n✗ a failed\n  the program no-such-program\n  was not found in PATH: install\n  it, or correct run or PATH\n",
		50: "✗ a failed: the program no-such-program was not f…\n" +
			"\n✗ a failed\n  the program no-such-program was not found in\n  PATH: install it, or correct run or PATH\n",
	} {
		task := record.Task{Name: "a", Status: record.Failed, Error: &why}
		var b strings.Builder
		s := &Screen{W: &b, Columns: columns}
		l := s.Lines([]string{"a"})
		l.Finished(task)
		s.Summary(record.Run{Tasks: []record.Task{task}}, []Failure{{Task: task}}, nil, nil, "")
		if !strings.HasPrefix(b.String(), want+"\n1 failed") {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, b.String(), want)
		}
	}
	code, took := 3, int64(1000)
	for columns, want := range map[int]string{40: "\n✗ flaky\n  failed: exit 3 (2 attempts) after 1.0s\n", 80: "\n✗ flaky failed: exit 3 (2 attempts) after 1.0s\n"} {
		task := record.Task{Name: "flaky", Status: record.Failed, ExitCode: &code, Attempts: 2, DurationMS: &took}
		if got := (&Screen{Columns: columns}).failure(Failure{Task: task}, 3); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}
