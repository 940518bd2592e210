package review

import (
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	className = lazily.Regexp(`\bclass\s+(\w+)`)
	// asksForAll is a comparison with a text that means everything; one of the groups is that text.
	asksForAll = lazily.Regexp("(?:={2,3}|\\bcase|\\b(?:includes|has)\\()\\s*[\"'`](\\*|all|any|everything)[\"'`]|[\"'`](\\*|all|any|everything)[\"'`]\\s*(?:={2,3}|\\bin\\b)")
	meansAll   = lazily.Regexp("[\"'`](\\*|all|any|everything)[\"'`]")
	offered    = lazily.Regexp(`^\s*(?:export\b|module\.exports\b|exports\.|__all__\b|from\b|import\b)`)
)

const maxSentinels = 20 // methods of a patch for which standsForAll looks through it

// standsForAll reports whether the class with its head in a line has one value, without contents, that is used only where
// a text asks for everything, as a failing test does: scopes of "*". Such a value has everything, and rightly so.
func (e *edit) standsForAll(head int) bool {
	m := className().FindStringSubmatch(e.after.code(head))
	if e.of.sentinelCalls++; m == nil || e.of.sentinelCalls > maxSentinels {
		return false
	}
	asked := map[string]bool{}
	for _, t := range e.of.tests() {
		for _, in := range meansAll().FindAllStringSubmatch(t.text, -1) {
			asked[in[1]] = true
		}
	}
	class, value, used := m[1], "", false
	made := regexp.MustCompile(`^(?:export\s+)?(?:(?:const|let|var)\s+)?(\w+)\s*=\s*(?:new\s+)?` + class + `\(\s*\)\s*;?\s*$`)
	for j := range e.after.lines {
		if code := e.after.code(j); j != head && hasWhole(code, class) {
			if m = made.FindStringSubmatch(code); m == nil || value != "" {
				return false
			}
			value = m[1]
		}
	}
	for _, g := range e.of.edits {
		for j := range g.after.lines {
			code := g.after.code(j)
			switch {
			case g.restored || value == "" || g == e && made.MatchString(code):
			case g != e && hasWhole(code, class):
				return false
			case hasWhole(code, value) && g.after.meansAll(j, asked):
				used = true
			case hasWhole(code, value) && !offered().MatchString(code):
				return false
			}
		}
	}
	return used
}

// meansAll reports whether a line, or the one of code before it, compares with one of the texts that mean everything, and
// does nothing else.
func (s *side) meansAll(j int, texts map[string]bool) bool {
	for _, k := range []int{j, s.codeLine(j, -1)} {
		if k < 0 || ofAll().MatchString(s.code(k)) {
			continue
		}
		if m := asksForAll().FindStringSubmatch(s.plain(k)); m != nil && texts[strings.Join(m[1:], "")] {
			return true
		}
	}
	return false
}
