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

// detections reports production code that asks in two steps whether it is being tested: it looks for a test among
// its callers, or for a test's name in its own. What is in one line is found by patterns.
func detections(e *edit) (found findings) {
	if !e.production() || !e.exists() {
		return nil
	}
	for k, j := range e.added {
		code := e.after.code(j)
		switch {
		case e.moved[j]:
		case callStack().MatchString(code):
			if at := e.near(k, testFrame().MatchString); at >= 0 {
				found.add(e, rules.TestDetected, at, true, "looks for a test among its callers")
			}
		case e.language == "go" && goProgram().MatchString(code):
			if at := e.near(k, testBinary().MatchString); at >= 0 {
				found.add(e, rules.TestDetected, at, true, "asks whether the program is a test's")
			}
		}
	}
	return found
}

// near returns the first new line for which ok is true, from the k-th on and at most ten lines further; -1 for none.
func (e *edit) near(k int, ok func(string) bool) int {
	from := e.added[k]
	for ; k < len(e.added) && e.added[k] <= from+10; k++ {
		if ok(e.after.plain(e.added[k])) {
			return e.added[k]
		}
	}
	return -1
}
