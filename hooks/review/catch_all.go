package review

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	passesOn = lazily.Regexp(`\b(?:raise|throw|rethrow|panic|die|croak|confess|abort|exit|reject|fail|log\w*|warn\w*|print\w*|report\w*)\b` +
		`|\$@|\berr\w*\s*(?:,\s*\w+\s*)?=|console\.|\.(?:Error|Warn|Fatal|Fail|Print|Fprint|Log|Capture|WriteHeader)\w*\(`)
	// answers is what makes an error of a panic; it must be made of that panic.
	answers   = lazily.Regexp(`\berr\w*\s*(?:,\s*\w+\s*)?=`)
	recovered = lazily.Regexp(`\b(\w+)\s*:?=\s*recover\(\)`)
	isNil     = lazily.Regexp(`\b\w+\s*[!=]=\s*nil\b|\b\w+\s*:?=\s*recover\(\)`)
	assertion = lazily.Regexp(`\bsuppress\([^)]*\bAssertionError\b|\bexcept\b[^:#]*\bAssertionError\b|\binstanceof\s+(?:assert\.)?AssertionError\s*\)` +
		`|['"](?:ERR_ASSERTION|AssertionError)['"]`)
)

const maxHandler = 6 // lines of a handler that are read

// catchAlls reports new handlers that catch every error and make nothing of it: catch_all. It caps where the handler
// names the errors that tests assert with, and for every panic of Go, which is what makes a test fail there.
func catchAlls(e *edit) (found findings) {
	catches := compile(rules.For(e.language).Catches)
	if catches == nil || !e.production() || !e.exists() {
		return nil
	}
	for _, j := range e.fresh {
		line := e.after.plain(j)
		names := assertion().MatchString(line)
		if !names && !e.after.matchesCode(j, catches) || e.after.handles(j) {
			continue
		}
		found.add(e, rules.CatchAll, j, names || e.language == "go", "%s", strings.TrimSpace(line))
	}
	return found
}

// handles reports whether the handler that begins in line j passes the error on, or tells of it. In Go an error that is
// the same for every panic does not.
func (s *side) handles(j int) bool {
	in, name, uses, answered := indent(s.code(j)), "", false, false
	if m := recovered().FindStringSubmatch(s.code(j)); m != nil && s.language == "go" {
		name = m[1]
	}
	for k := j; k < min(j+maxHandler, len(s.lines)); k++ {
		code := s.code(k)
		if k > j && strings.TrimSpace(code) != "" && indent(code) <= in && !caseLabel().MatchString(code) && !strings.HasPrefix(strings.TrimSpace(code), "default:") {
			break
		}
		uses = uses || mentionsWord(isNil().ReplaceAllString(code, ""), name)
		if s.language == "go" {
			answered = answered || answers().MatchString(code)
			code = answers().ReplaceAllString(code, "")
		}
		if passesOn().MatchString(code) {
			return true
		}
	}
	return answered && uses
}
