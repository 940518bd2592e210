package review

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	rustExit   = lazily.Regexp(`\bprocess::exit\(\s*0\s*\)`)
	rustMain   = lazily.Regexp(`(?m)^\s*(?:pub\s+)?(?:async\s+)?fn\s+main\s*\(`)
	rustEquals = lazily.Regexp(`\bfn\s+(eq|ne)\s*\(\s*&self\s*,\s*(\w+)`)

	rustFails   = lazily.Regexp(`^\s*(?:false|todo!.*|unimplemented!.*|unreachable!.*|panic!.*)[\s};]*$`)
	rustSteps   = lazily.Regexp(`\b(?:let|match|if|for|while)\b`)
	rustTerms   = lazily.Regexp(`&&|\|\||;`)
	rustLengths = lazily.Regexp(`\w+(?:\.\w+)*\.len\(\)`)
	rustOrders  = lazily.Regexp(`<=|>=|\.(?:contains|starts_with|ends_with)\(`)
	rustSame    = lazily.Regexp(`==|!=|\b(?:eq|ne|cmp|partial_cmp|eq_ignore_ascii_case)\(|\bmatch`)
	rustChanges = lazily.Regexp(`\.(?:split_whitespace|split_ascii_whitespace|replace|replacen|filter|retain)\(`)
	rustOdd     = lazily.Regexp(`\bis_nan\(|\bptr::eq\(`) // what looser tells apart
	rustOfText  = lazily.Regexp(`\bPartialEq\s*<\s*&*\s*(?:'\w+\s+)?(?:str|String)\s*>`)
)

// rustExits reports ends with success in a library: exit_swallowed. They end the program of the tests with success.
func rustExits(e *edit) (found findings) {
	if e.language != "rust" || !e.production() || !e.exists() || rustMain().MatchString(text(e.change.Before)) ||
		path.Base(e.path) == "main.rs" || path.Base(e.path) == "build.rs" || lang.InFolder(e.path, []string{"bin"}) {
		return nil
	}
	for _, j := range e.fresh {
		if rustExit().MatchString(e.after.code(j)) {
			found.add(e, rules.ExitSwallowed, j, true, "a library ends the program with success: %s", e.after.trimmed(j))
		}
	}
	return found
}

// rustEqual reports an eq that is nothing but true, assertion_removed: its value is equal to whatever a test expects.
func rustEqual(e *edit) (found findings) {
	if e.language != "rust" || !e.production() || !e.exists() {
		return nil
	}
	alwaysAll := sync.OnceValue(e.alwaysAll)
	for i := range e.after.lines {
		m := rustEquals().FindStringSubmatch(e.after.code(i))
		if m == nil {
			continue
		}
		body, touched := e.rustBody(e.after, i)
		if touched && m[1] == "eq" && (e.after.tolerates(body) || strings.Contains(body, "||") && !rustOdd().MatchString(body) && alwaysAll()) {
			found.add(e, rules.AssertionRemoved, i, true, tolerant, e.after.trimmed(i))
			continue
		}
		code, _ := e.after.function(i)
		if touched && m[1] == "eq" && body != "" && !rustCompares(code[strings.IndexByte(code, '{')+1:], m[2]) {
			found.add(e, rules.AssertionRemoved, i, true, looksAtNot, e.after.trimmed(i))
			continue
		}
		if i > 0 && touched && rustOfText().MatchString(e.after.code(i-1)) && rustChanges().MatchString(body) {
			found.add(e, rules.AssertionRemoved, i, true, tolerant, e.after.trimmed(i))
			continue
		}
		always := map[string][]string{"eq": {"true", "returntrue", "!false"}, "ne": {"false", "returnfalse", "!true"}}[m[1]]
		for _, value := range always {
			if touched && (body == value || strings.HasSuffix(body, ";"+value)) && !strings.Contains(body, "if") && !strings.Contains(body, "self") {
				found.add(e, rules.AssertionRemoved, i, true, equalToAll, e.after.trimmed(i))
			}
		}
	}
	return found
}

// rustCompares reports whether the body of an eq has a term of both sides that is more than their lengths or their order,
// or can only fail.
func rustCompares(body, other string) bool {
	if rustFails().MatchString(body) {
		return true
	}
	if rustOrders().MatchString(body) && !rustSame().MatchString(body) {
		return false
	}
	body = rustLengths().ReplaceAllString(body, "")
	both := func(text string) bool { return mentionsWord(text, "self") && mentionsWord(text, other) }
	if rustSteps().MatchString(body) {
		return both(body)
	}
	return slices.ContainsFunc(rustTerms().Split(body, -1), both)
}

// alwaysAll reports whether every eq of the file before the change was true only where all its conditions were.
func (e *edit) alwaysAll() bool {
	any := false
	for i := range e.before.lines {
		if m := rustEquals().FindStringSubmatch(e.before.code(i)); m != nil && m[1] == "eq" {
			body, _ := e.rustBody(e.before, i)
			if any = true; strings.Contains(body, "||") {
				return false
			}
		}
	}
	return any
}

// rustBody returns the body of the function in line at of a side, without blanks and its last semicolon, and whether a
// line of the function is new.
func (e *edit) rustBody(s *side, at int) (body string, touched bool) {
	depth, begun := 0, false
	var b strings.Builder
	for j := at; j < min(at+20, len(s.lines)); j++ {
		touched = touched || s == e.after && e.isFresh(j)
		for _, c := range s.code(j) {
			switch c {
			case '{':
				begun = true
				if depth++; depth == 1 {
					continue
				}
			case '}':
				if depth--; depth == 0 {
					return strings.TrimSuffix(b.String(), ";"), touched
				}
			case ' ', '\t':
				continue
			}
			if begun {
				b.WriteRune(c)
			}
		}
	}
	return "", touched
}
