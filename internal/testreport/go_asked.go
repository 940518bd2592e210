package testreport

// Whether go test ran the tests that failed to their end. Without -v it prints nothing of those that pass. It reports
// a package as ok whose process a test ended early by a system call, and with -json also the test that was running
// then.

import (
	"bytes"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	goFailedName = lazily.Regexp(`^(?:(\S+?)\.)?((?:Test|Example|Fuzz)[^/\s]*)(/.*)?$`)
	plainShell   = lazily.Regexp(`^[\w./:@%+=, -]+$`)
)

// askedRun is the place of -run in AskGo's command.
const askedRun = 4

// maxAsked is how many tests are asked for by name: a command line is limited.
const maxAsked = 500

// AskGo returns a command that asks go test for the failed tests by name, and those of them that it asks for. It ends
// with the arguments of the check's command, which is ran or, where that is nil, the text of a shell. It returns nil
// where the command is no plain go test, or no failed test has a name.
func AskGo(ran []string, shell string, failed []string) (argv, tests []string) {
	if argv = ran; argv == nil {
		argv = PlainWords(shell)
	}
	if len(argv) < 2 || argv[0] != "go" || argv[1] != "test" {
		return nil, nil
	}
	for _, arg := range argv[2:] {
		if arg == "-args" || arg == "--args" {
			break
		}
		flag, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimLeft(arg, "-"), "test."), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains([]string{"c", "list", "n", "fuzz", "bench"}, flag) {
			return nil, nil
		}
	}
	var names []string
	for _, name := range failed {
		if len(names) == maxAsked {
			break
		}
		if m := goFailedName().FindStringSubmatch(name); m != nil {
			tests = append(tests, name)
			names = append(names, m[2])
		}
	}
	if tests = set(tests); len(tests) == 0 {
		return nil, nil
	}
	// A -run of the person's own comes later and wins: it runs what failed too.
	ask := []string{"go", "test", "-json", "-count=1", "-run=^(" + strings.Join(set(names), "|") + ")$"}
	return append(ask, argv[2:]...), tests
}

// UnaskedGo returns why the output of argv, AskGo's command for tests, is not what go test prints, "" for none: it names
// another test as failing, which go test was not asked for. With a -run of the person's own, all tests may run.
func UnaskedGo(argv, tests []string, output []byte) string {
	top := func(name string) string {
		if m := goFailedName().FindStringSubmatch(name); m != nil {
			return m[2]
		}
		return ""
	}
	for i, arg := range argv {
		if flag := strings.TrimPrefix(strings.TrimLeft(arg, "-"), "test."); i > askedRun && (flag == "run" || strings.HasPrefix(flag, "run=")) {
			return ""
		}
	}
	asked := map[string]bool{"": true} // of a package as a whole
	for _, name := range tests {
		asked[top(name)] = true
	}
	for _, name := range Read(output).Failed {
		if !asked[top(name)] {
			return "tests_failed: asked for other tests by name, go test names " + name + " as failing"
		}
	}
	return ""
}

// UnprovenGo returns which of tests did not pass by the output of AskGo's command, "" for none. That the test around one
// passed does not prove it: a list in production code may have made it. A test of a package that go test did not run was
// printed by another, which runs tests itself: that go test ran fewer packages than before, Unproven tells.
func UnprovenGo(tests []string, output []byte) string {
	passed, packages := map[string]bool{}, map[string]bool{}
	for _, name := range Read(output).Passed {
		passed[name] = true
		if m := goFailedName().FindStringSubmatch(name); m != nil { // the package of a failed test may be unknown
			passed[strings.TrimPrefix(name[len(m[1]):], ".")] = true
		}
	}
	for line := range splitAt(output, '\n') {
		if e, ok := goEventOf(line); ok && e.Test == "" && e.Package != "" {
			packages[e.Package] = true
		}
	}
	proven := 0
	for _, name := range tests {
		m := goFailedName().FindStringSubmatch(name)
		switch {
		case passed[name]:
			proven++
		case m[1] == "" || packages[m[1]]:
			return "tests_not_run: asked for by name, go test does not say that " + name + " passed"
		}
	}
	if proven == 0 {
		return "tests_not_run: asked for by name, go test does not say that " + tests[0] + " passed"
	}
	return ""
}

// unendedGo returns which of the failed tests did not end by the output of go test -v or -json, "" for none: it
// began, or it began before the patch and not after.
func unendedGo(failed []string, before, after []byte) string {
	began := func(output []byte, test string) (n int) {
		for _, end := range []string{"\n", "\r", `\n`} {
			n += bytes.Count(output, []byte("=== RUN   "+test+end))
		}
		return n
	}
	for _, name := range failed {
		m := goFailedName().FindStringSubmatch(name)
		if m == nil {
			continue
		}
		ended, now := 0, began(after, m[2])
		for _, how := range []string{goPassed, goFailed, goSkipped} {
			ended += bytes.Count(after, []byte(how+": "+m[2]+" ("))
		}
		switch {
		case now > ended:
			return "tests_not_run: go test says that " + name + " began, and not that it ended"
		case now+ended == 0 && len(after) < maxJSONLine && began(before, m[2]) > 0: // a longer log is cut
			return "tests_not_run: go test said that " + name + " began when it failed, and does not with the patch"
		}
	}
	return ""
}
