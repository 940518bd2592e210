package review

// assertion_removed: a test that is still there and asserts less.

import (
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// assertions by language, matched against code.
var assertions = map[string]func() *regexp.Regexp{
	"go":    late.Regexp(`\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:require|assert|must|qt|is)\.\w+\(|\b\w+\((?:t|tb|b|f)[,)]`),
	"py":    late.Regexp(`\bassert\b|\bself\.(?:assert\w+|fail\w*)\s*\(|\bpytest\.(?:raises|warns|fail)\b|\.assert_\w+\s*\(`),
	"web":   late.Regexp(`\bexpect(?:\.\w+)*\s*\(|\bassert(?:\.\w+)*\s*\(|\.should\b|\b(?:t|assert)\.(?:is|not|ok|equal|deepEqual|same|throws|true|false|like|strictEqual|deepStrictEqual|notEqual|match|rejects|snapshot|fail)\s*\(`),
	"rust":  late.Regexp(`\b(?:debug_)?assert\w*!|\b(?:panic|unreachable|prop_assert\w*)!|\.(?:unwrap_err|expect_err)\(`),
	"c":     late.Regexp(`\b(?:ASSERT|EXPECT|CHECK|REQUIRE|TEST_ASSERT|CU_ASSERT|BOOST_\w+|ck_assert|assert|fail_unless)\w*\s*\(`),
	"jvm":   late.Regexp(`\b(?:assert\w*|verify|fail)\s*\(|\bshould\w*\b|\bassert\s`),
	"ruby":  late.Regexp(`\b(?:assert\w*|refute\w*|expect|must_\w+|flunk)\b|\.should\b`),
	"php":   late.Regexp(`->assert\w+\s*\(|->expect\w*\s*\(|->fail\s*\(|\bassert\s*\(`),
	"shell": late.Regexp(`(?:^|[;&|(]|\b(?:if|then|do|elif|while|!))\s*(?:!\s*)?(?:test\s|\[\[?\s|e?grep\s|diff\s|cmp\s|assert\w*\s|\(\()|\b(?:exit|return)\s+[1-9]|\|\|\s*(?:fail|die|exit|false)`),
}

// vacuous assertions hold whatever the code does.
var vacuous = map[string][]pattern{
	"go": {
		pat(onCode, false, "", `\bif\s+(?:false\b|.*&&\s*false\b)`, "false"),
		pat(onCode, false, "", `\b(?:assert|require)\.(?:True\(\s*\w+\s*,\s*true|False\(\s*\w+\s*,\s*false|Nil\(\s*\w+\s*,\s*nil)\s*[,)]`, "True", "False", "Nil"),
	},
	"py": {
		pat(onCode, false, "", `\bassert\s+(?:True|1|not\s+False)\s*(?:,|$)|\bassert\b.*\bor\s+True\b`, "assert"),
		pat(onPlain, false, "", `\bassert\s+(?:"[^"]+"|'[^']+'|\(.*,\s*(?:"[^"]*"|'[^']*')\s*\)\s*$)`, "assert"),
		pat(onCode, false, "", `\bassert(?:True\(\s*(?:True|1)|False\(\s*(?:False|0)|IsNotNone\(\s*(?:1|True)|IsNone\(\s*None)\s*[,)]`, "assert"),
		pat(onCode, false, "", `^\s*(?:if|while)\s+(?:False|0)\s*:`, "if", "while"),
	},
	"web": {
		pat(onCode, false, "", `\bexpect\(\s*(?:true|1|!0)\s*\)\s*\.(?:toBe|toEqual|toBeTruthy|to\b)`, "expect"),
		pat(onCode, false, "", `\bassert(?:\.ok|\.equal|\.strictEqual)?\(\s*true\b`, "assert"),
		pat(onCode, false, "", `\b(?:expect|assert)\b.*\|\|\s*true\b`, "true"),
		pat(onCode, false, "", `\bif\s*\(\s*(?:false|0)\s*\)`, "if"),
	},
	"rust": {
		pat(onCode, false, "", `\bassert!\(\s*true\s*[,)]|\bassert!.*\|\|\s*true\b|\bif\s+false\b`, "true", "false"),
	},
	"c": {
		pat(onCode, false, "", `\b(?:assert|(?:ASSERT|EXPECT)_TRUE|CHECK|REQUIRE|ck_assert)\s*\(\s*(?:1|true)\s*\)|\bif\s*\(\s*(?:0|false)\s*\)`, "(1", "true", "0", "( 1", "false"),
	},
	"jvm": {
		pat(onCode, false, "", `\bassertTrue\(\s*true\s*[,)]|\bif\s*\(\s*false\s*\)`, "true", "false"),
	},
}

// strong and weak forms: a weak one in the place of a strong one asserts less.
var (
	strong = map[string]func() *regexp.Regexp{
		"web":  late.Regexp(`\.(?:toBe|toEqual|toStrictEqual|toHaveLength|toMatchObject|toContain\w*|toBeCloseTo|toThrow\w*|toMatch\w*|toHaveBeenCalledWith|to\.(?:equal|eql|deep\.\w+))\(\s*[^)\s]|\bassert\.(?:equal|strictEqual|deepEqual|deepStrictEqual|throws)\(`),
		"py":   late.Regexp(`\bassert\b[^=]*(?:==|!=|<|>)|\bassert(?:Equal|AlmostEqual|ListEqual|DictEqual|Raises|Less|Greater|In|Is|CountEqual|Regex)\w*\(`),
		"go":   late.Regexp(`\b(?:assert|require)\.(?:Equal|Exactly|JSONEq|ElementsMatch|EqualError|ErrorIs|InDelta|Len|Contains)\w*\(`),
		"rust": late.Regexp(`\bassert_(?:eq|ne|matches)!`),
		"c":    late.Regexp(`\b(?:ASSERT|EXPECT)_(?:EQ|STREQ|DOUBLE_EQ|FLOAT_EQ|NEAR|THROW)\b|\bassert\s*\(.*(?:==|strcmp)`),
		"jvm":  late.Regexp(`\bassert(?:Equals|ArrayEquals|Throws|Same)\s*\(`),
	}
	weak = map[string]func() *regexp.Regexp{
		"web":  late.Regexp(`\.(?:toBeTruthy|toBeDefined|toBeInstanceOf|toBeTypeOf|toHaveBeenCalled|to\.(?:exist|be\.(?:ok|an?\b)))|\.not\.(?:toBe(?:Null|Undefined|NaN)|toThrow|toBe)\b|\bexpect\.(?:any|anything)\(|\bassert(?:\.ok)?\(`),
		"py":   late.Regexp(`\bassert(?:IsNotNone|True|IsInstance|IsNot|NotEqual)\(|\bassert\s+(?:[\w.()\[\]]+\s*(?:,|$)|[\w.()\[\]]+\s+is\s+not\s+None|isinstance\(|hasattr\(|callable\()`),
		"go":   late.Regexp(`\b(?:assert|require)\.(?:NotNil|NotEmpty|NotZero|NoError|True|NotPanics|IsType|NotEqual)\w*\(`),
		"rust": late.Regexp(`\bassert!\(.*(?:\.is_(?:ok|some|err|none)\(\)|!.*\.is_empty\(\)|true)`),
		"c":    late.Regexp(`\b(?:ASSERT|EXPECT)_(?:TRUE|NE|NO_THROW|ANY_THROW)\b|\bassert\s*\(\s*\w+\s*\)|\(void\)\s*\w+\s*;`),
		"jvm":  late.Regexp(`\bassert(?:NotNull|True|DoesNotThrow|NotEquals)\s*\(`),
	}
	row      = late.Regexp(`^\s*(?:\{.*\}|\(.*\)|\[.*\]|pytest\.param\(.*\)|(?:"[^"]*"|'[^']*')\s*:\s*[{\[(].*[}\])])\s*,\s*$`)
	goReturn = late.Regexp(`^\s*return\s*;?\s*(?:None)?\s*$`)
)

func (r *report) asserts(e *edit) {
	re := assertions[e.language]
	if re == nil || e.class == 0 && e.language != "rust" || e.class == 3 || e.class == 5 || len(e.blocks) == 0 {
		return
	}
	caps := e.class == 0
	fewer := r.fewer(e, re(), caps)
	r.weaker(e, caps)
	isNew := r.newCases(e)
	r.fresh(e, vacuous[e.language], false, func(j int, _ *pattern, match string) {
		if (e.inTests(j) || e.class > 0) && !isNew(j) {
			r.add(e, AssertionRemoved, j, caps, "holds whatever the code does: %s", match)
		}
	})
	r.early(e, caps)
	if !fewer {
		r.rows(e, caps)
	}
}

// counts has at i how many assertions there are in front of line i.
func counts(re *regexp.Regexp, s *side) []int {
	sums := make([]int, len(s.lines)+1)
	for i := range s.lines {
		sums[i+1] = sums[i] + len(re.FindAllStringIndex(s.code(i), -1))
	}
	return sums
}

// fewer counts the assertions of each test, before and after. In a script it counts them all.
func (r *report) fewer(e *edit, re *regexp.Regexp, caps bool) bool {
	if !e.exists() || e.isNew() {
		return false
	}
	before, after := e.cases(0), e.cases(1)
	sums := [2][]int{counts(re, e.before), counts(re, e.after)}
	found := false
	if len(before) == 0 {
		if e.class == 0 {
			return false
		}
		was, is := sums[0][len(e.before.lines)], sums[1][len(e.after.lines)]
		if is >= was {
			return false
		}
		for _, i := range e.removed {
			if re.MatchString(e.before.code(i)) {
				r.add(e, AssertionRemoved, e.at(i), caps, "the file has %d conditions, %d before", is, was)
				return true
			}
		}
		return false
	}
	left := map[string][]testCase{}
	for _, c := range after {
		left[c.name] = append(left[c.name], c)
	}
	for _, c := range before {
		list := left[c.name]
		if len(list) == 0 {
			continue
		}
		now := list[0]
		left[c.name] = list[1:]
		if strings.Join(e.before.lines[c.from:c.to], "\n") == strings.Join(e.after.lines[now.from:now.to], "\n") {
			continue
		}
		was, is := sums[0][c.to]-sums[0][c.from], sums[1][now.to]-sums[1][now.from]
		if is < was {
			found = true
			r.add(e, AssertionRemoved, now.from, caps, "%s has %d assertions, %d before", c.name, is, was)
		}
	}
	return found
}

// weaker looks for a weak form where a strong one stood.
func (r *report) weaker(e *edit, caps bool) {
	if strong[e.language] == nil {
		return
	}
	for _, b := range e.blocks {
		was, is, first := 0, 0, -1
		for i := b.i; i < b.iEnd; i++ {
			if e.strong(e.before, i) {
				was++
			}
		}
		for j := b.j; j < b.jEnd; j++ {
			if e.strong(e.after, j) {
				is++
			} else if first < 0 && weak[e.language]().MatchString(e.after.code(j)) && (e.class > 0 || e.inTests(j)) {
				first = j
			}
		}
		if is < was && first >= 0 {
			r.add(e, AssertionRemoved, first, caps, "a weaker assertion stands in the place of a stronger one")
		}
	}
}

// strong says whether a line has a strong assertion, and no weak one.
func (e *edit) strong(s *side, i int) bool {
	code := s.code(i)
	if e.language == "web" {
		code = s.plain(i) // toBe('four') has its argument in a string
	}
	return strong[e.language]().MatchString(code) && !weak[e.language]().MatchString(code)
}

// early looks for a return in front of what a test did before.
func (r *report) early(e *edit, caps bool) {
	had := map[string]bool{}
	for _, c := range e.cases(0) {
		had[c.name] = true
	}
	added := map[int]bool{}
	for _, j := range e.added {
		added[j] = true
	}
	for _, c := range e.cases(1) {
		if !had[c.name] {
			continue
		}
		in := -1
		for j := c.from + 1; j < c.to; j++ {
			code := e.after.code(j)
			if strings.TrimSpace(code) == "" {
				continue
			}
			if in < 0 {
				in = indent(code)
			}
			if !added[j] || indent(code) != in || !goReturn().MatchString(code) {
				continue
			}
			for k := j + 1; k < c.to; k++ {
				if rest := strings.TrimSpace(e.after.code(k)); len(rest) > 3 && indent(e.after.code(k)) >= in {
					r.add(e, AssertionRemoved, j, caps, "%s returns before what it did", c.name)
					break
				}
			}
			break
		}
	}
}

// rows looks for cases of a table that are gone.
func (r *report) rows(e *edit, caps bool) {
	if !e.exists() {
		return
	}
	for _, b := range e.blocks {
		gone, first := 0, -1
		for i := b.i; i < b.iEnd; i++ {
			if row().MatchString(e.before.plain(i)) {
				if gone++; first < 0 {
					first = i
				}
			}
		}
		for j := b.j; j < b.jEnd; j++ {
			if row().MatchString(e.after.plain(j)) {
				gone--
			}
		}
		if gone > 0 && (e.class > 0 || e.inTests(e.at(first))) {
			r.add(e, AssertionRemoved, e.at(first), caps, "cases of a table are gone: %d", gone)
		}
	}
}
