package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/testreport"
)

func TestFailingTests(t *testing.T) {
	t.Parallel()
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf("TestNumber%04d", i)
	}
	long := strings.Repeat("long ", 40)
	for _, tt := range []struct {
		name    string
		names   []string
		open    bool
		columns int
		lines   int
		want    string
	}{
		{name: "none", lines: 3},
		{name: "one", names: []string{"TestA"}, lines: 3, want: "  failing  TestA\n"},
		{name: "log cut", names: []string{"TestA", "TestB"}, open: true, lines: 3, want: "  failing  TestA, TestB … and perhaps more\n"},
		{name: "suites", names: []string{"cart", "cart > adds", "cart > adds > twice", "TestA", "TestA/sub/x", "TestAB"}, lines: 3, want: "  failing  cart > adds > twice, TestA/sub/x, TestAB\n"},
		{
			name: "many in one line", names: many, lines: 1,
			want: "  failing  TestNumber0000, TestNumber0001, TestNumber0002 … and 4997 more\n",
		},
		{
			name: "many, and more", names: many, open: true, lines: 2, columns: 40,
			want: "  failing  TestNumber0000\n           … and at least 4999 more\n",
		},
		{
			name: "long", names: []string{long, "b"}, lines: 1, columns: 40,
			want: "  failing  long long long … … and 1 more\n",
		},
		{name: "hostile", names: []string{"a\x1b[2J\nb\tc"}, lines: 1, want: "  failing  a^[[2J^Jb^Ic\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &Screen{Columns: tt.columns}
			got := s.testNames("failing", Failing{tt.names, tt.open}, tt.lines)
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if n := strings.Count(got, "\n"); n > tt.lines {
				t.Errorf("%d lines", n)
			}
			for line := range strings.Lines(got) {
				if columns(strings.TrimSuffix(line, "\n")) > s.wide() {
					t.Errorf("%d columns: %s", columns(line), line)
				}
			}
		})
	}
	names := []string{"a", "a > b"}
	testreport.Innermost(names)
	if !slices.Equal(names, []string{"a", "a > b"}) {
		t.Error("the caller's names were changed")
	}
}

// A proposal whose check failed shows which tests it fixed and which not, the log, and how that ends.
func TestOutcomeOfFailedCheck(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Verdict = ptr("unverified")
	p.Verification.Proposed[1].Passed, p.Verification.Proposed[1].ExitCode = false, ptr(1)
	p.Verification.Proposed[1].Log = ptr("fixes/test/verify-1-proposed-test.log")
	c := commandsOf(p)
	c.Failed = []string{"TestSum", "TestSum/of_none", "TestMax", "TestMin"}
	c.Failing = []string{"TestSum", "TestSum/of_none", "TestMean\x1b[2J"}
	c.Tail = []byte("sum_test.go:9: got 1\nFAIL\n")
	golden(t, "outcome_failed_check", func(s *Screen) { s.Outcome(&p.Fix, c) })
}

func TestMisused(t *testing.T) {
	t.Parallel()
	for at, want := range map[int]string{
		80: "async-pipeline: --progress live needs a terminal on stdout, with TERM set to\n  what it is\n  async-pipeline run --help shows^[ the flags\n",
		40: "async-pipeline: --progress live needs\n  a terminal on stdout, with TERM set to\n  what it is\n  async-pipeline run --help shows^[ the\n  flags\n",
	} {
		var b strings.Builder
		(&Screen{W: &b, Columns: at}).Refused("--progress live needs a terminal on stdout, with TERM set to what it is\n" +
			"async-pipeline run --help shows\x1b the flags\n")
		if b.String() != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", at, b.String(), want)
		}
	}
}

// A command at the end of a line is not broken, however this program is called.
func TestRefusedNamesACommand(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"async-pipeline fix apply 20261121T024000Z-7f3a test", "/opt/bin/async-pipeline -C '../my proj' heal 20261121T024000Z-7f3a test",
		"'/my bin/async-pipeline' heal 20261121T024000Z-7f3a test", "sudo chown -R 1000:1000 /home/me/src/shop/.async",
	} {
		var b strings.Builder
		(&Screen{W: &b, Columns: 40}).Refused("not applied: it changed: type this: " + command)
		if !strings.HasSuffix(b.String(), "\n  "+command+"\n") {
			t.Errorf("got\n%s", b.String())
		}
	}
}

// In a narrow terminal the text about a task is below its name; where the width is not known it stays one line.
func TestTold(t *testing.T) {
	t.Parallel()
	for at, want := range map[int]string{
		0:  "– release skipped (dependency: lint did not pass)",
		49: "– release skipped (dependency: lint did not pass)",
		48: "– release\n  skipped (dependency: lint did not pass)",
		30: "– release\n  skipped (dependency: lint\n  did not pass)",
	} {
		if got := (&Screen{Columns: at}).told("–", "release", "skipped (dependency: lint did not pass)"); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", at, got, want)
		}
	}
}
