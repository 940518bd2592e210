package checkfile

import (
	"slices"
	"strings"
	"unicode"

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

	asserting = lazily.Regexp(`(?m)^\s*(?:assert\b|raise\s+AssertionError\b)|\bdoctest\.|\bunittest\.|\btestmod\s*\(`)

	// reaches is what a module can end its own tests with, or change them by.
	reaches = lazily.Regexp(`__\w+__|^\s*@|\b(?:global|nonlocal|doctest|unittest|sys|os|inspect|builtins|atexit|signal|gc|ctypes|threading|traceback|warnings|importlib|` +
		`subprocess|multiprocessing|pdb|bdb|pytest|exec|eval|compile|getattr|setattr|delattr|globals|locals|vars|exit|quit|_exit|SystemExit|KeyboardInterrupt|BaseException|testmod)\b`)
)

// splitPython splits a source into its tests and the rest: the documentation with examples, if doctests; tests, what is
// asserted at the top level, and a block for `__name__ == "__main__"` that asserts, if main.
func splitPython(src string, doctests, main bool) ([]piece, bool) {
	var (
		found  []extent
		scopes []string // what the line is in, by their indents
		widths []int
		length int // bytes of names
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
			in := strings.Join(scopes, ".")
			name := "examples of " + strings.TrimSuffix("the module."+in, ".")
			if length += len(in) + len(name); length > maxPieceText {
				return nil, false
			}
			found = append(found, extent{from: l.from, to: l.to, in: in, name: name, value: examples(text)})
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

// splitExamples splits a module that runs the examples of its own documentation into these, the block that runs them,
// what could change them or end the run, and the rest.
func splitExamples(src string) ([]piece, bool) {
	list, ok := splitPython(src, true, true)
	var split []piece
	names := map[string]bool{} // of what has examples → it was defined
	for _, p := range list {
		if _, name, ok := strings.Cut(p.name, "examples of the module."); ok {
			names[name[strings.LastIndexByte(name, '.')+1:]] = false
		}
	}
	for _, p := range list {
		if p.is == decides {
			split = append(split, p)
			continue
		}
		var found []extent
		for _, l := range pythonLines(p.text) {
			text := code(p.text[l.from:l.to])
			if line := strings.TrimSpace(p.text[l.from:l.to]); reaches().MatchString(text) || rebinds(text, names) {
				found = append(found, extent{from: l.from, to: l.to, name: "what may change its examples: " + line, value: line})
			}
		}
		split = append(split, pieces(p.text, found)...)
	}
	return split, ok
}

// rebinds reports whether a line may bind a name again that has examples: at the top level it names it, elsewhere it
// defines it a second time, or assigns to it. defined holds the names, and whether they were defined.
func rebinds(line string, defined map[string]bool) bool {
	if m := pythonScope().FindStringSubmatch(line); m != nil {
		again, known := defined[m[2]]
		if known {
			defined[m[2]] = true
		}
		return again
	}
	top := line != "" && line[0] != ' ' && line[0] != '\t'
	assigned, _, assigns := strings.Cut(line, "=")
	return slices.ContainsFunc(strings.FieldsFunc(line, notInName), func(name string) bool {
		_, known := defined[name]
		return known && (top || assigns && strings.TrimSpace(assigned) == name)
	})
}

func notInName(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }

// code returns a text of Python without its comments and strings.
func code(text string) string {
	kinds := lang.Mark("py", text)
	kept := []byte(text)
	for i := range kept {
		if kinds[i] != lang.InCode {
			kept[i] = ' '
		}
	}
	return string(kept)
}

// runsOwnExamples reports whether a source runs the examples of its documentation as a program, and has functions.
func runsOwnExamples(src string) bool {
	return strings.Contains(src, ">>>") && ownExamples().MatchString(src) && topBlock().MatchString(src)
}

var ownExamples = lazily.Regexp(`(?m)^if\b.*__name__.*(?:\n(?:[ \t].*)?)*?\btestmod\s*\(\s*(?:\)|\w+\s*=)`)

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
