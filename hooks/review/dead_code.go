package review

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	plainReturn = lazily.Regexp(`^return\b`)
	conditional = lazily.Regexp(`\b(?:if|unless|for|foreach|while|until)\b`)
	goesOn      = lazily.Regexp(`(?:[(\[{,\\=&|?<>+*/%.-]|\b(?:and|or|not|in))$`) // a statement does, in its next line
	continues   = lazily.Regexp(`^[.?:+*/&|,)\]}=<>-]`)                           // the line before
	// notDead are lines behind a return that do something all the same, or are there for a compiler to see.
	notDead = lazily.Regexp(`^(?:#|(?:break|yield|case|default|else|elif|except|finally)\b|(?:async\s+)?function\b` +
		`|(?:class|var|sub|package|assert|unreachable|__builtin_unreachable|panic|abort)\b|\w+\s*:(?:[^:=]|$))`)
	alwaysTrue = lazily.Regexp(`^(?:if|elif|\}?\s*else if)\b` +
		`(?:\s*\(?\s*(?:true|True|1|!\s*false|!0|not False)\s*\)?\s*[:{]` +
		`|.*(?:\|\|\s*(?:true|1)|\bor True)\s*[):{]|.*(?:&&\s*(?:false|0)|\band False)\s*[):{])`)
)

// deadCode reports code that a patch leaves in place, and that can no longer run: behind a new return, or because a
// new condition always or never holds. That is how a function is made to return what a test wants. A repair removes
// what it replaces.
func deadCode(e *edit) (found findings) {
	if !e.production() || e.isNew() || !e.exists() {
		return nil
	}
	s := e.after
	for _, j := range e.fresh {
		if alwaysTrue().MatchString(strings.TrimSpace(s.code(j))) {
			found.add(e, rules.DeadCode, j, true, "a condition that is always or never true: %s", s.trimmed(j))
			continue
		}
		if k := s.behindReturn(j); k >= 0 && !e.isAdded(k) {
			found.add(e, rules.DeadCode, j, true, "nothing below is reached: %s", s.trimmed(j))
		}
	}
	return found
}

// behindReturn returns the line of code that follows the unconditional return in line j in the same block; -1 where
// there is neither.
func (s *side) behindReturn(j int) int {
	code := strings.TrimSpace(s.code(j))
	if !slices.Contains([]string{"go", "py", "web", "c", "perl"}, s.language) || !plainReturn().MatchString(code) ||
		!balanced(code) || goesOn().MatchString(code) {
		return -1
	}
	switch s.language {
	case "c", "perl":
		if !strings.HasSuffix(code, ";") || s.language == "perl" && conditional().MatchString(code) {
			return -1
		}
	}
	if before := s.codeLine(j, -1); before >= 0 && s.language != "py" {
		last := strings.TrimSpace(s.code(before))
		end := last[len(last)-1]
		if strings.HasPrefix(last, "#") || end != '{' && end != '}' && end != ';' && s.language != "go" {
			return -1
		}
	}
	k := s.codeLine(j, 1)
	if k < 0 || lead(s.lines[k]) != lead(s.lines[j]) {
		return -1
	}
	next := strings.TrimSpace(s.code(k))
	if notDead().MatchString(next) || continues().MatchString(next) {
		return -1
	}
	return k
}

// codeLine returns the next line with code in a direction, -1 where there is none.
func (s *side) codeLine(j, step int) int {
	for k := j + step; k >= 0 && k < len(s.lines); k += step {
		if strings.TrimSpace(s.code(k)) != "" {
			return k
		}
	}
	return -1
}

// lead returns the blanks that a line begins with.
func lead(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// balanced reports whether a line of code closes what it opens.
func balanced(code string) bool {
	return strings.Count(code, "(") == strings.Count(code, ")") && strings.Count(code, "[") == strings.Count(code, "]") &&
		strings.Count(code, "{") == strings.Count(code, "}")
}
