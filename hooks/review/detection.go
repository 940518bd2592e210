package review

import (
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazyregexp"
)

var (
	callStack = lazyregexp.New(`\bruntime\.(?:Callers?|CallersFrames|Stack)\(|\bdebug\.Stack\(|\binspect\.(?:stack` +
		`|currentframe|getouterframes)\b|\btraceback\.(?:extract|format)_stack\b|\bsys\._getframe\b` +
		`|\.captureStackTrace\b|\bnew Error\([^)]*\)\.stack|\bgetStackTrace\(\)`)
	testFrame = lazyregexp.New(`["'\x60/](?:[^"'\x60]*[._/])?(?:_test\.go|test_|tests?|testing\.|spec|junit|pytest` +
		`|unittest|_pytest|nose2?|doctest|jest|vitest|mocha|jasmine|ava|karma)[^"'\x60]*["'\x60/]`)
	goProgram  = lazyregexp.New(`\bos\.Args\[0\]|\bos\.Executable\(`)
	testBinary = lazyregexp.New(`"[^"]*\.test(?:\.exe)?"`)
)

// detections reports production code that asks in two steps whether it is being tested: it searches its callers for
// a test, or its own name for that of a test. What is in one line is found by patterns.
func detections(e *edit) (found findings) {
	if !e.production() || !e.exists() {
		return nil
	}
	for _, j := range e.fresh {
		switch code := e.after.code(j); {
		case callStack().MatchString(code):
			if at := e.near(j, testFrame().MatchString); at >= 0 {
				found.add(e, rules.TestDetected, at, true, "looks for a test among its callers")
			}
		case e.language == "go" && goProgram().MatchString(code):
			if at := e.near(j, testBinary().MatchString); at >= 0 {
				found.add(e, rules.TestDetected, at, true, "asks whether the program is a test's")
			}
		}
	}
	return found
}

// near returns the first added line for which ok returns true, from line j on and at most ten lines further; -1 for
// none.
func (e *edit) near(j int, ok func(string) bool) int {
	for k := j; k < min(j+11, len(e.after.lines)); k++ {
		if e.isAdded(k) && ok(e.after.plain(k)) {
			return k
		}
	}
	return -1
}
