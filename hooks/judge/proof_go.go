package judge

// Whether go test ran the tests that failed: without -v it says nothing of those that pass, and calls a package ok whose tests
// were ended early by a system call of their own.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

var (
	goFailedName = late.Regexp(`^(?:(\S+?)\.)?((?:Test|Example|Fuzz)[^/\s]*)(?:/.*)?$`)
	plainShell   = late.Regexp(`^[\w./:@%+=, -]+$`)
)

// maxAsked is how many tests are asked for by name: a command line has an end.
const maxAsked = 500

// AskGo is the command that asks go test by name for the tests that failed, and those names, "package.Test"; nil where c is
// no plain go test, says itself what passes, or no test was named. It ends with the arguments of c.
func AskGo(c Command, failed []string) (argv, tests []string) {
	argv = c.Argv
	if argv == nil && plainShell().MatchString(c.Shell) {
		argv = strings.Fields(c.Shell)
	}
	if len(argv) < 2 || argv[0] != "go" || argv[1] != "test" {
		return nil, nil
	}
	for _, arg := range argv[2:] {
		if arg == "-args" || arg == "--args" {
			break
		}
		flag, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimLeft(arg, "-"), "test."), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains([]string{"v", "json", "c", "list", "n", "fuzz", "bench"}, flag) {
			return nil, nil
		}
	}
	var names []string
	for _, name := range failed {
		if len(names) == maxAsked {
			break
		}
		if m := goFailedName().FindStringSubmatch(name); m != nil {
			tests = append(tests, m[1]+"."+m[2])
			names = append(names, m[2])
		}
	}
	if tests = set(tests); len(tests) == 0 {
		return nil, nil
	}
	// A -run of the person's own comes later and wins: it takes in what failed.
	ask := []string{"go", "test", "-json", "-count=1", "-run=^(" + strings.Join(set(names), "|") + ")$"}
	return append(ask, argv[2:]...), tests
}

// UnprovenGo says which of tests the output of AskGo's command does not show as passed, or "".
func UnprovenGo(tests []string, output []byte) string {
	passed := map[string]bool{}
	for line := range splitAt(output, '\n') {
		var e struct{ Action, Package, Test string }
		if open := bytes.TrimLeft(line, " \t"); len(open) == 0 || open[0] != '{' || len(open) > maxJSONLine || json.Unmarshal(open, &e) != nil || e.Action != "pass" || e.Test == "" {
			continue
		}
		passed[e.Package+"."+e.Test], passed["."+e.Test] = true, true
	}
	for _, test := range tests {
		if !passed[test] {
			return "tests_not_run: asked for by name, go test does not say that " + strings.TrimPrefix(test, ".") + " passed"
		}
	}
	return ""
}
