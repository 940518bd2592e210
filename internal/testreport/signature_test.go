package testreport

import (
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	t.Parallel()
	one := Signature{ExitCode: 1, Tests: []string{"p.TestA", "p.TestB"}}
	for name, c := range map[string]struct {
		a, b Signature
		want bool
	}{
		"exit codes equal":                   {Signature{ExitCode: 2}, Signature{ExitCode: 2}, true},
		"exit codes differ":                  {Signature{ExitCode: 2}, Signature{ExitCode: 1}, false},
		"same tests":                         {one, Signature{ExitCode: 1, Tests: []string{"p.TestA", "p.TestB"}}, true},
		"same tests in another order, twice": {one, Signature{ExitCode: 1, Tests: []string{"p.TestB", "p.TestA", "p.TestB"}}, true},
		"one test more":                      {one, Signature{ExitCode: 1, Tests: []string{"p.TestA", "p.TestB", "p.TestC"}}, false},
		"another test":                       {one, Signature{ExitCode: 1, Tests: []string{"p.TestA", "p.TestC"}}, false},
		"tests and none":                     {one, Signature{ExitCode: 1}, false},
		"same tests, another exit code":      {one, Signature{ExitCode: 2, Tests: one.Tests}, false},
		"signals equal":                      {Signature{ExitCode: 139, Signal: "SIGSEGV"}, Signature{ExitCode: 139, Signal: "SIGSEGV"}, true},
		"a signal decides over the code":     {Signature{ExitCode: -1, Signal: "SIGSEGV"}, Signature{ExitCode: 139, Signal: "SIGSEGV"}, true},
		"signals differ":                     {Signature{ExitCode: 139, Signal: "SIGSEGV"}, Signature{ExitCode: 134, Signal: "SIGABRT"}, false},
		"signal and exit":                    {Signature{ExitCode: 137, Signal: "SIGKILL"}, Signature{ExitCode: 137}, false},
		"both timed out":                     {Signature{ExitCode: 124, TimedOut: true}, Signature{ExitCode: 124, TimedOut: true}, true},
		"one timed out":                      {Signature{ExitCode: 124, TimedOut: true}, Signature{ExitCode: 124}, false},
	} {
		if c.a.Same(c.b) != c.want || c.b.Same(c.a) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}

func TestSignatureString(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Signature{
		"exit 2":                              {ExitCode: 2},
		"ended by SIGSEGV":                    {ExitCode: 139, Signal: "SIGSEGV"},
		"timed out":                           {ExitCode: 124, Signal: "SIGTERM", TimedOut: true},
		"exit 1, failing: a.T, b.T":           {ExitCode: 1, Tests: []string{"b.T", "a.T"}},
		"exit 1, failing: 1, 2, 3":            {ExitCode: 1, Tests: strings.Split("123", "")},
		"exit 1, failing: 1, 2, 3 and 4 more": {ExitCode: 1, Tests: strings.Split("1234567", "")},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSignatureDifference(t *testing.T) {
	t.Parallel()
	tests := func(names string) Signature { return Signature{ExitCode: 1, Tests: strings.Split(names, "")} }
	for _, c := range []struct {
		in, copied Signature
		want       string
	}{
		{tests("ab"), tests("a"), "failed only in the run: b"},
		{tests("a"), tests("abcde"), "failed only in the copy: b, c, d and 1 more"},
		{tests("ab"), tests("bc"), "failed only in the run: a; failed only in the copy: c"},
		{tests("a"), Signature{ExitCode: 127}, "exit 1 in the run, exit 127 in the copy; failed only in the run: a"},
		{Signature{Signal: "SIGKILL"}, Signature{TimedOut: true}, "ended by SIGKILL in the run, timed out in the copy"},
	} {
		if got := c.in.Difference(c.copied); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
