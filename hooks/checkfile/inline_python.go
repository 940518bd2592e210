package checkfile

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	pythonScope = lazily.Regexp(`^([ \t]*)(?:async[ \t]+def|def|class)[ \t]+(\w+)`)
	topAssert   = lazily.Regexp(`^assert\b`)
	mainBlock   = lazily.Regexp(`^if\b.*__name__`)
	// testBlock begins a test at the top level, or what only tests call by its name.
	testBlock = lazily.Regexp(`^(?:async[ \t]+)?def[ \t]+(?:test|assert|check_|expect)\w*|^class[ \t]+(?:Test\w*|\w+\([^)\n]*TestCase[^)\n]*\))|^def[ \t]+(?:setUpModule|tearDownModule|load_tests)\b`)
	topBlock  = lazily.Regexp(`(?m)^(?:async[ \t]+def|def|class)[ \t]+\w+.*`)

	asserting = lazily.Regexp(`(?m)^\s*(?:assert\b|raise\s+AssertionError\b)|\bdoctest\.|\bunittest\.`)
)

// splitPython splits a source into its tests and the rest: the documentation with examples, if doctests; tests, what is
// asserted at the top level, and a block for `__name__ == "__main__"` that asserts, if main.
func splitPython(src string, doctests, main bool) ([]piece, bool) {
	var (
		found  []extent
		scopes []string // what the line is in, by their indents
		widths []int
	)
	lines := pythonLines(src)
	for i, l := range lines {
		text := src[l.from:l.to]
		if len(found) > 0 && l.from < found[len(found)-1].to { // in a block
			continue
		}
		if main && testBlock().MatchString(text) {
			end, from := blockEnd(src, lines[i:]), decorated(src, l.from)
			found = append(found, extent{from: from, to: end, name: strings.TrimRight(strings.TrimSpace(testBlock().FindString(text)), "(:"), value: strings.TrimSpace(src[from:end])})
			continue
		}
		if m := pythonScope().FindStringSubmatch(text); m != nil {
			for len(widths) > 0 && widths[len(widths)-1] >= len(m[1]) {
				scopes, widths = scopes[:len(scopes)-1], widths[:len(widths)-1]
			}
			scopes, widths = append(scopes, m[2]), append(widths, len(m[1]))
			continue
		}
		trimmed := strings.TrimLeft(text, " \t")
		switch {
		case doctests && documents(trimmed) && strings.Contains(text, ">>>"):
			found = append(found, extent{from: l.from, to: l.to, in: strings.Join(scopes, "."), name: "examples of " + strings.Join(append([]string{"the module"}, scopes...), "."), value: examples(text)})
		case main && topAssert().MatchString(text):
			found = append(found, extent{from: l.from, to: l.to, name: "assert", value: strings.TrimSpace(text)})
		case main && mainBlock().MatchString(text):
			if end := blockEnd(src, lines[i:]); asserting().MatchString(src[l.from:end]) {
				found = append(found, extent{from: l.from, to: end, name: "what it asserts as a program", value: strings.TrimSpace(src[l.from:end])})
			}
		}
	}
	return pieces(src, found), true
}

// ownTests reports whether a source has tests, and something else at its top level.
func ownTests(src string) bool {
	tests, others := false, false
	for _, line := range topBlock().FindAllString(src, -1) {
		isTest := testBlock().MatchString(line)
		tests, others = tests || isTest, others || !isTest
	}
	return tests && others
}

// decorated returns where the decorators of the block begin whose first line begins at from.
func decorated(src string, from int) int {
	for from > 0 {
		above, _ := lineStart(src, from-1)
		if src[above] != '@' {
			break
		}
		from = above
	}
	return from
}

// documents reports whether a line begins with a string over lines.
func documents(line string) bool {
	line = strings.TrimLeft(line, "rRuUbB")
	return strings.HasPrefix(line, `"""`) || strings.HasPrefix(line, "'''")
}

// examples returns the examples of a documentation: from each >>> to the next empty line.
func examples(text string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		in = in && line != "" || strings.HasPrefix(line, ">>>")
		if in {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// blockEnd returns where the block ends that the first of lines begins: before the next line without an indent.
func blockEnd(src string, lines []extent) int {
	end := lines[0].to
	for _, l := range lines[1:] {
		switch text := src[l.from:l.to]; {
		case strings.TrimSpace(text) == "":
		case text[0] == ' ' || text[0] == '\t':
			end = l.to
		default:
			return end
		}
	}
	return end
}

// pythonLines returns the logical lines of a source: a line end in brackets or in a string ends none.
func pythonLines(src string) (lines []extent) {
	kinds := lang.Mark("py", src)
	from, depth := 0, 0
	for i := range len(src) {
		if kinds[i] != lang.InCode {
			if src[i] != '\n' || kinds[i] == lang.InString {
				continue
			}
		}
		switch c := src[i]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth = max(0, depth-1)
		case c == '\n' && depth == 0 && (i == 0 || src[i-1] != '\\'):
			lines = append(lines, extent{from: from, to: i + 1})
			from = i + 1
		}
	}
	if from < len(src) {
		lines = append(lines, extent{from: from, to: len(src)})
	}
	return lines
}
