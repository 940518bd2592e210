package failedtask

import (
	"reflect"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func failing(names string) testreport.Signature {
	return testreport.Signature{ExitCode: 1, Tests: strings.Fields(names)}
}

// coreOf is the core after copies in which tests failed.
func coreOf(run string, copies ...string) *Core {
	c := NewCore(&Failure{Signature: failing(run)})
	for _, names := range copies {
		c.Narrow(failing(names), nil, testreport.Results{})
	}
	return c
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		core   *Core
		tests  string
		others []fix.OtherTest
	}{
		"the same":          {coreOf("b a", "a b"), "a b", nil},
		"only in the run":   {coreOf("a b", "a", "a"), "a", []fix.OtherTest{{Test: "b", Why: fix.OfEnvironment, Run: true}}},
		"only in copies":    {coreOf("a", "a b", "b a"), "a", []fix.OtherTest{{Test: "b", Why: fix.OfEnvironment, Copies: 2}}},
		"now and then":      {coreOf("a b", "a c", "a b"), "a", []fix.OtherTest{{Test: "b", Why: fix.OfChance, Run: true, Copies: 1}, {Test: "c", Why: fix.OfChance, Copies: 1}}},
		"none in all":       {coreOf("a", "b", "a"), "", []fix.OtherTest{{Test: "a", Why: fix.OfChance, Run: true, Copies: 1}, {Test: "b", Why: fix.OfChance, Copies: 1}}},
		"a test in another": {coreOf("T T/a T/b", "T T/a", "T T/a"), "T/a", []fix.OtherTest{{Test: "T/b", Why: fix.OfEnvironment, Run: true}}},
		"another, whole":    {coreOf("T T/a", "T"), "", []fix.OtherTest{{Test: "T", Why: fix.OfEnvironment, Copies: 1}, {Test: "T/a", Why: fix.OfEnvironment, Run: true}}},
	} {
		if got := strings.Join(c.core.Tests, " "); got != c.tests || !reflect.DeepEqual(c.core.Others, c.others) {
			t.Errorf("%s: %q and %+v", name, got, c.core.Others)
		}
	}
	c := coreOf("a")
	if c.Narrow(testreport.Signature{Signal: "SIGKILL", Tests: []string{"a"}}, nil, testreport.Results{}); len(c.Tests) > 0 {
		t.Errorf("ended by a signal in the copy: %q", c.Tests)
	}
	log := []byte("Ran 5 tests in 0.1s\n3 passed in 0.1s\n")
	c = NewCore(&Failure{Signature: failing("a"), Log: log, Reports: &testreport.Reports{Ran: 7}})
	c.Narrow(failing("a"), map[string]int{"unittest": 4, JUnit: 9}, testreport.Results{})
	if want := map[string]int{"unittest": 4, JUnit: 7}; !reflect.DeepEqual(c.Ran, want) {
		t.Errorf("tests that ran: %v, want %v", c.Ran, want)
	}
}

func TestFails(t *testing.T) {
	t.Parallel()
	c := coreOf("a b", "a", "a")
	for names, want := range map[string]bool{"a": true, "a c": true, "b": false, "": false} {
		if c.Fails(failing(names)) != want {
			t.Errorf("%q: not %v", names, want)
		}
	}
	if coreOf("").Fails(failing("a")) {
		t.Error("a failure without names")
	}
	if c.Fails(testreport.Signature{TimedOut: true, Tests: []string{"a"}}) {
		t.Error("a time limit is another failure")
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	core := coreOf("a b r T/x", "a b c T/x", "a T/x") // r fails in the run only
	for name, c := range map[string]struct {
		exit   int
		failed string
		want   *fix.TestResults
	}{
		"only others":            {1, "b c", &fix.TestResults{Fixed: []string{"T/x", "a"}, Unchanged: []string{"b", "c"}}},
		"a part of the core":     {1, "a c", &fix.TestResults{Fixed: []string{"T/x"}, Failing: []string{"a"}, Unchanged: []string{"c"}}},
		"only in the run before": {1, "r c", &fix.TestResults{Fixed: []string{"T/x", "a"}, Unchanged: []string{"c"}, Broken: []string{"r"}}},
		"something new":          {1, "d", &fix.TestResults{Fixed: []string{"T/x", "a"}, Broken: []string{"d"}}},
		"what was around a test": {1, "T", &fix.TestResults{Fixed: []string{"T/x", "a"}, Broken: []string{"T"}}},
		"as many as fail":        {2, "b c", &fix.TestResults{Fixed: []string{"T/x", "a"}, Unchanged: []string{"b", "c"}}},
		"another exit code":      {3, "b c", nil},
		"no name":                {1, "", nil},
	} {
		task := &record.Task{Status: record.Failed, ExitCode: &c.exit}
		got := core.Judge(task, testreport.Results{Failed: strings.Fields(c.failed)})
		if got != nil {
			for _, names := range []*[]string{&got.Fixed, &got.Failing, &got.Unchanged, &got.Broken} {
				if len(*names) == 0 {
					*names = nil
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	task := &record.Task{Status: record.Failed, ExitCode: new(1)}
	built := coreOf("p.a p.b q.c").Judge(task, testreport.Results{Failed: []string{"p [build failed]"}})
	if strings.Join(built.Fixed, " ") != "q.c" || strings.Join(built.Failing, " ") != "p.a p.b" {
		t.Errorf("what could not be built is not fixed: %+v", built)
	}
	r := testreport.Results{Failed: []string{"b"}}
	if core.Judge(&record.Task{Status: record.TimedOut, ExitCode: new(1)}, r) != nil {
		t.Error("a time limit")
	}
	if core.Judge(&record.Task{Status: record.Failed, ExitCode: new(1), Signal: new("SIGSEGV")}, r) != nil {
		t.Error("a signal")
	}
	if coreOf("").Judge(&record.Task{Status: record.Failed, ExitCode: new(1)}, r) != nil {
		t.Error("no core")
	}
}

// The core of a record is that of its reproduction, where it has one.
func TestCoreOf(t *testing.T) {
	t.Parallel()
	f := &Failure{Signature: failing("a b")}
	others := []fix.OtherTest{{Test: "b"}}
	if c := CoreOf(f, &fix.Reproduction{Core: []string{"a"}, Others: others}); len(c.Tests) != 1 || len(c.Others) != 1 {
		t.Errorf("%+v", c)
	}
	for _, r := range []*fix.Reproduction{nil, {}} {
		if c := CoreOf(f, r); len(c.Tests) != 2 || c.Others != nil {
			t.Errorf("%+v", c)
		}
	}
}

// Two tests may have one name. Where more of them fail than in any copy, one broke.
func TestJudgeEqualNames(t *testing.T) {
	t.Parallel()
	tap := func(lines string) testreport.Results { return testreport.Read([]byte(lines)) }
	one := "# Subtest: works\nnot ok 1 - works\n"
	core := NewCore(&Failure{Signature: failing("a")})
	core.Narrow(failing("a works"), nil, tap(one))
	task := &record.Task{Status: record.Failed, ExitCode: new(1)}
	if got := core.Judge(task, tap(one)); len(got.Broken) > 0 || len(got.Unchanged) != 1 {
		t.Errorf("one of that name failed before: %+v", got)
	}
	if got := core.Judge(task, tap(one+one)); len(got.Broken) != 1 {
		t.Errorf("two of that name fail now: %+v", got)
	}
	core.Narrow(failing("a works"), nil, tap(one+one))
	if got := core.Judge(task, tap(one+one)); len(got.Broken) > 0 || core.Others[0].Times != 2 {
		t.Errorf("two of that name failed before: %+v", got)
	}
}
