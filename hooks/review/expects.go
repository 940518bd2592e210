package review

// expectation_rewritten: literals of a test, and files that hold what a test expects.

import (
	"path"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

var (
	number   = late.Regexp(`\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)[a-zA-Z%]*`)
	constant = late.Regexp(`\b(?:true|false|True|False|None|null|nil|undefined|NaN|Some|Ok|Err)\b`)
	negation = late.Regexp(`\bnot\b|\.not\b|!(?:[^=]|$)`)
	compared = late.Regexp(`[=!]==?|[<>]=?|(?:\b|[aA]ssert_?|ASSERT_|EXPECT_|CHECK_|REQUIRE_)(?:Not)?(?:Equals?|True|False|Is|In|eq|ne|EQ|NE|LT|GT|LE|GE|TRUE|FALSE)\b|time\.(?:Nanosecond|Microsecond|Millisecond|Second|Minute|Hour)\b`)
	// lists are values that hold nothing but literals: []int{5} may become nil, [5] None.
	lists = map[string]func() *regexp.Regexp{
		"go":  late.Regexp(`(?:\[\x00?\]|map\[[\w.*]+\])[\w.*\[\]]*\{[\x00,:\s]*\}`),
		"py":  late.Regexp(`[\[{][\x00,:\s]*[\]}]`),
		"web": late.Regexp(`\[[\x00,\s]*\]`),
	}
	minus = late.Regexp(`[-+]\s*\x00`)
	// noExpectation: names, messages and imports, which a test does not compare.
	noExpectation = late.Regexp(`^\s*(?:import\b|from\b|export\b|package\b|#\s*include|use\b|require|//|#|\*|@)|\brequire\(|\b\w+\.(?:Log|Logf|Error|Errorf|Fatal|Fatalf|Skip|Skipf|Run)\(|\b(?:console\.\w+|print|println|printf|fmt\.Print\w*|describe|it|test|context|logger\.\w+|log\.\w+)\s*!?\(|\bname:`)
	shellCheck    = late.Regexp(`^\s*(?:if\s+)?(?:!\s*)?(?:test|\[\[?|e?grep|diff|cmp|assert\w*)\s`)
	expectedWords = []string{"expected", "golden", "want", "snapshot", "snapshots", "approved", "verified", "output", "outputs"}
)

// A pair is a line before and the one that took its place, which differs in literals and comparisons alone.
type pair struct{ i, j int }

// pairs are those of all blocks.
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
				if strings.Join(strings.Fields(e.before.plain(i)), "") != strings.Join(strings.Fields(e.after.plain(js[0])), "") {
					list = append(list, pair{i, js[0]})
				}
			}
		}
	}
	e.paired = &list
	return list
}

// skeleton is a line with one NUL for each literal, without comments and blanks.
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
	text = negation().ReplaceAllStringFunc(text, func(m string) string { return strings.TrimLeft(strings.TrimPrefix(m, ".not"), "!not") })
	text = minus().ReplaceAllString(text, "\x00")
	if re := lists[s.language]; re != nil {
		text = re().ReplaceAllString(text, "\x00")
	}
	return strings.Join(strings.Fields(text), "")
}

func (r *report) expects(e *edit) {
	if e.class > 0 && e.change.Before != nil && e.snapshot() && len(e.removed) > 0 {
		line := -1
		if e.exists() {
			line = e.at(e.removed[0])
		}
		r.add(e, ExpectationChanged, line, false, "what tests compare with: %d lines removed, %d added", len(e.removed), len(e.added))
		return
	}
	if !lang.IsCode(e.language) || e.class == 0 && e.language != "rust" || e.class == 3 {
		return
	}
	for _, p := range e.pairs() {
		if e.class != 4 && !e.inTests(p.j) || e.class == 4 && !shellCheck().MatchString(e.after.plain(p.j)) && e.language == "shell" ||
			noExpectation().MatchString(e.after.plain(p.j)) && !comparison(e, p) || e.threshold(p) != "" {
			continue
		}
		r.add(e, ExpectationChanged, p.j, e.class == 0, "was: %s", strings.TrimSpace(e.before.lines[p.i]))
	}
	if e.language == "shell" {
		r.words(e)
	}
	if e.language == "rust" {
		for _, j := range e.added {
			if strings.Contains(e.after.code(j), "#[should_panic") && e.inTests(j) && !r.newCases(e)(j) && !e.moved[j] {
				r.add(e, ExpectationChanged, j, e.class == 0, "the test expects a panic now")
			}
		}
	}
}

// comparison says whether a line asserts as well as it says a message: if got != 3 { t.Fatal("…") }.
func comparison(e *edit, p pair) bool {
	re := assertions[e.language]
	if e.language == "go" || re == nil {
		before, _, ok := strings.Cut(e.after.code(p.j), "{")
		was, _, _ := strings.Cut(e.before.code(p.i), "{")
		return ok && strings.HasPrefix(strings.TrimSpace(before), "if") && before != was
	}
	return e.language != "web" && e.language != "ruby" && re().MatchString(e.after.code(p.j)) || e.language == "web" && strings.Contains(e.after.code(p.j), "expect(")
}

// words looks for a condition of a script whose words, not its literals, were replaced.
func (r *report) words(e *edit) {
	for _, b := range e.blocks {
		if b.iEnd-b.i != b.jEnd-b.j {
			continue
		}
		for k := range b.iEnd - b.i {
			was, is := e.before.plain(b.i+k), e.after.plain(b.j+k)
			if shellCheck().MatchString(was) && shellCheck().MatchString(is) && was != is && strings.Fields(was)[0] == strings.Fields(is)[0] {
				r.add(e, ExpectationChanged, b.j+k, false, "was: %s", strings.TrimSpace(was))
			}
		}
	}
}

// snapshot says whether the file holds what a test expects, by its name.
func (e *edit) snapshot() bool {
	if lang.DataName(e.path) || strings.Contains("/"+e.path, "/__snapshots__/") {
		return true
	}
	if e.class != 3 && (e.class != 2 || lang.IsCode(e.language)) {
		return false
	}
	for _, w := range lang.Words(path.Base(path.Dir(e.path)) + " " + path.Base(e.path)) {
		for _, x := range expectedWords {
			if w == x {
				return true
			}
		}
	}
	return false
}
