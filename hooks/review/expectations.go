package review

import (
	"path"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	number   = lazily.Regexp(`\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)[a-zA-Z%]*`)
	constant = lazily.Regexp(`\b(?:true|false|True|False|None|null|nil|undefined|NaN|Some|Ok|Err)\b`)
	negation = lazily.Regexp(`\bnot\b|\.not\b|!(?:[^=]|$)`)
	compared = lazily.Regexp(`[=!]==?|[<>]=?|(?:\b|[aA]ssert_?|ASSERT_|EXPECT_|CHECK_|REQUIRE_)(?:Not)?(?:Equals?` +
		`|True|False|Is|In|eq|ne|EQ|NE|LT|GT|LE|GE|TRUE|FALSE)\b|time\.(?:Nanosecond|Microsecond|Millisecond` +
		`|Second|Minute|Hour)\b`)
	minus = lazily.Regexp(`[-+]\s*\x00`)
	// noExpectation: names, messages and imports, which a test does not compare.
	noExpectation = lazily.Regexp(`^\s*(?:import\b|from\b|export\b|package\b|#\s*include|use\b|require|//|#|\*|@)` +
		`|\brequire\(|\b\w+\.(?:Log|Logf|Error|Errorf|Fatal|Fatalf|Skip|Skipf|Run)\(|\b(?:console\.\w+|print` +
		`|println|printf|fmt\.Print\w*|describe|it|test|context|logger\.\w+|log\.\w+)\s*!?\(|\bname:`)
	shellCheck    = lazily.Regexp(`^\s*(?:if\s+)?(?:!\s*)?(?:test|\[\[?|e?grep|diff|cmp|assert\w*)\s`)
	expectedWords = lazily.Words("expected golden want snapshot snapshots approved verified output outputs")
)

// A pair is a line before and the one that took its place, where they differ in literals and comparisons alone.
type pair struct{ i, j int }

// pairs returns those of all blocks.
func (e *edit) pairs() []pair {
	if e.paired != nil {
		return *e.paired
	}
	var list []pair
	for _, b := range e.blocks {
		if b.i == b.iEnd || b.j == b.jEnd {
			continue
		}
		at := map[string][]int{}
		for j := b.j; j < b.jEnd; j++ {
			key := skeleton(e.after, j)
			at[key] = append(at[key], j)
		}
		for i := b.i; i < b.iEnd; i++ {
			key := skeleton(e.before, i)
			if js := at[key]; len(js) > 0 && strings.Contains(key, "\x00") {
				at[key] = js[1:]
				if unspaced(e.before.plain(i)) != unspaced(e.after.plain(js[0])) {
					list = append(list, pair{i, js[0]})
				}
			}
		}
	}
	e.paired = &list
	return list
}

// skeleton returns a line with one NUL for each literal, without comments and blanks.
func skeleton(s *side, i int) string {
	line := s.lines[i]
	out := make([]byte, 0, len(line))
	for k, kind := range s.kinds[s.start[i] : s.start[i]+len(line)] {
		switch {
		case kind == lang.InCode:
			out = append(out, line[k])
		case kind == lang.InString && (len(out) == 0 || out[len(out)-1] != 0):
			out = append(out, 0)
		}
	}
	text := string(out)
	for _, re := range []*regexp.Regexp{number(), constant(), compared()} {
		text = re.ReplaceAllString(text, "\x00")
	}
	text = negation().ReplaceAllStringFunc(text, func(m string) string {
		return strings.TrimLeft(strings.TrimPrefix(m, ".not"), "!not")
	})
	text = minus().ReplaceAllString(text, "\x00")
	if re := compile(rules.For(s.language).Lists); re != nil {
		text = re.ReplaceAllString(text, "\x00")
	}
	return unspaced(text)
}

// unspaced returns s without blanks.
func unspaced(s string) string { return strings.Join(strings.Fields(s), "") }

// expectations reports literals of a test, and files of what tests expect, that were rewritten:
// expectation_rewritten.
func expectations(e *edit) (found findings) {
	if e.class != none && e.change.Before != nil && e.expected() && len(e.removed) > 0 {
		line := -1
		if e.exists() {
			line = e.at(e.removed[0])
		}
		found.add(e, rules.ExpectationChanged, line, false,
			"what tests compare with: %d lines removed, %d added", len(e.removed), len(e.added))
		return found
	}
	if !lang.IsCode(e.language) || e.class == none || e.class == testData {
		return nil
	}
	begins := compile(rules.For(e.language).Test)
	for _, p := range e.pairs() {
		line := e.after.plain(p.j)
		named := noExpectation().MatchString(line) || begins != nil && begins.MatchString(line)
		if e.class != namedFile && !e.isTest() ||
			e.class == namedFile && e.language == "shell" && !shellCheck().MatchString(line) ||
			named && !comparison(e, p) || e.threshold(p) != "" {
			continue
		}
		found.add(e, rules.ExpectationChanged, p.j, false, "was: %s", e.before.trimmed(p.i))
	}
	if e.language == "shell" {
		found = append(found, conditions(e)...)
	}
	return found
}

// comparison reports whether a line asserts, beside having a message: if got != 3 { t.Fatal("…") }.
func comparison(e *edit, p pair) bool {
	re := compile(rules.For(e.language).Assert)
	if e.language == "go" || re == nil {
		before, _, ok := strings.Cut(e.after.code(p.j), "{")
		was, _, _ := strings.Cut(e.before.code(p.i), "{")
		return ok && strings.HasPrefix(strings.TrimSpace(before), "if") && before != was
	}
	code := e.after.code(p.j)
	return e.language != "web" && re.MatchString(code) || e.language == "web" && strings.Contains(code, "expect(")
}

// conditions reports conditions of a script whose words, not their literals, were replaced.
func conditions(e *edit) (found findings) {
	for _, b := range e.blocks {
		if b.iEnd-b.i != b.jEnd-b.j {
			continue
		}
		for k := range b.iEnd - b.i {
			was, is := e.before.plain(b.i+k), e.after.plain(b.j+k)
			if shellCheck().MatchString(was) && shellCheck().MatchString(is) && was != is &&
				strings.Fields(was)[0] == strings.Fields(is)[0] {
				found.add(e, rules.ExpectationChanged, b.j+k, false, "was: %s", strings.TrimSpace(was))
			}
		}
	}
	return found
}

// expected reports whether a file has what a test expects, by its name.
func (e *edit) expected() bool {
	if lang.DataName(e.path) || strings.Contains("/"+e.path, "/__snapshots__/") {
		return true
	}
	if e.class != testData && (e.class != testFile || lang.IsCode(e.language)) {
		return false
	}
	return lang.HasWord(path.Base(path.Dir(e.path))+" "+path.Base(e.path), expectedWords())
}
