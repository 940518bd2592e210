package review

// The tests in a source, as far as a runner finds them.

import (
	"path"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

const (
	maxCases     = 5000 // of a file
	maxCaseLines = 1500 // of a test's body
)

// A testCase is one test: lines from to (not included), from 0.
type testCase struct {
	name     string
	from, to int
}

// forms of tests by language; the name is the first group that matched. They are matched against lines without comments.
var forms = map[string]func() *regexp.Regexp{
	"go":    late.Regexp(`^func (?:\([^)]*\) )?((?:Test|Fuzz|Example)\w*)\(`),
	"py":    late.Regexp(`^\s*(?:async\s+)?def\s+(test\w*)\s*\(`),
	"web":   late.Regexp("(?:^|[^\\w.$])(?:it|test|specify)(?:\\.(?:each|concurrent|only|skip|todo|failing|fails|serial|runIf|skipIf)\\b)*\\s*\\(?(?:\\([^()]*\\)\\s*\\()?\\s*(?:'([^']*)'|\"([^\"]*)\"|`([^`]*)`)"),
	"rust":  late.Regexp(`^\s*(?:pub\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+(\w+)`),
	"c":     late.Regexp(`^\s*(?:(?:TEST|TEST_F|TEST_P|TYPED_TEST|START_TEST|TEST_CASE|SCENARIO|BOOST_AUTO_TEST_CASE|UTEST|MU_TEST|CTEST)\s*\(\s*"?([^)"]+)|(?:static\s+)?(?:void|int|bool)\s+(test_?\w+)\s*\()`),
	"ruby":  late.Regexp(`^\s*(?:def\s+(test_\w+)|(?:it|specify|test|scenario|example)\s*\(?\s*(?:'([^']*)'|"([^"]*)"))`),
	"shell": late.Regexp(`^\s*(?:@test\s+(?:'([^']*)'|"([^"]*)")|(?:function\s+)?(test_?\w+)\s*\(\s*\))`),
	"jvm":   late.Regexp(`^\s*(?:public\s+|private\s+|protected\s+|internal\s+)?(?:void|fun|def)\s+(?:(\w+)|` + "`([^`]*)`" + `)\s*\(`),
	"php":   late.Regexp(`^\s*public\s+function\s+(test\w*)\s*\(`),
}

var (
	rustTest  = late.Regexp(`^\s*#\[\s*(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest|wasm_bindgen_test)\b`)
	jvmTest   = late.Regexp(`^\s*@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property)\b`)
	attribute = late.Regexp(`^\s*(?:#!?\[|@)`)
	pyClass   = late.Regexp(`^(\s*)class\s+(\w+)\s*(\([^)]*\))?`)
	otherOS   = late.Regexp(`_(?:windows|plan9|js|wasm|wasip1|aix|solaris|illumos|android|ios|zos|dragonfly)_test\.go$`)
)

// cases are the tests of e before (0) or after (1) that a runner finds.
func (e *edit) cases(which int) []testCase {
	if e.listed[which] == nil {
		s := e.before
		if which == 1 {
			s = e.after
		}
		var list []testCase
		if e.holdsTests() {
			list = listCases(e.language, s)
		}
		e.listed[which] = &list
	}
	return *e.listed[which]
}

// holdsTests says whether a runner looks for tests in the file. Rust's stand in production files too.
func (e *edit) holdsTests() bool {
	if e.opaque || forms[e.language] == nil {
		return false
	}
	base := path.Base(e.path)
	switch e.language {
	case "go":
		for seg := range strings.SplitSeq(e.path, "/") {
			if strings.HasPrefix(seg, "_") || strings.HasPrefix(seg, ".") || seg == "testdata" {
				return false
			}
		}
		return strings.HasSuffix(base, "_test.go") && !otherOS().MatchString(base)
	case "py":
		return e.class > 0 && (strings.HasPrefix(base, "test") || strings.HasSuffix(base, "_test.py"))
	case "rust":
		return true
	}
	return e.class == 1 || e.class == 2 || e.class == 4
}

func listCases(language string, s *side) []testCase {
	var (
		list   []testCase
		form   = forms[language]()
		marked bool       // Rust, Java: an attribute made the next function a test
		class  = struct { // Python: the one around
			indent int
			found  bool
		}{-1, true}
	)
	for i := range s.lines {
		if len(list) >= maxCases {
			break
		}
		line := s.plain(i)
		code := s.code(i)
		if strings.TrimSpace(code) == "" && language != "web" {
			continue
		}
		switch language {
		case "rust":
			marked = marked || rustTest().MatchString(code)
		case "jvm":
			marked = marked || jvmTest().MatchString(code)
		case "py":
			if m := pyClass().FindStringSubmatch(code); m != nil {
				class.indent = len(m[1])
				class.found = strings.HasPrefix(m[2], "Test") || strings.Trim(m[3], "() ") != ""
				continue
			}
			if indent(code) <= class.indent {
				class.indent, class.found = -1, true
			}
		}
		m := form.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		if language != "web" && !s.codeAt(i, m[0]+blanks(line[m[0]:m[1]])) || language == "web" && !s.codeAt(i, webStart(line, m[0])) {
			continue
		}
		name := ""
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 {
				name = strings.TrimSpace(line[m[g]:m[g+1]])
			}
		}
		if name == "" {
			continue
		}
		if language == "rust" || language == "jvm" {
			if !marked {
				continue
			}
			marked = false
		}
		if language == "go" && !goTestName(name) || !class.found {
			continue
		}
		list = append(list, testCase{name: name, from: i, to: bodyEnd(language, s, i)})
	}
	return list
}

// webStart is where it( begins: the match may begin with what stands before.
func webStart(line string, at int) int {
	for at < len(line)-1 && !lang.IsWord(line[at]) {
		at++
	}
	return at
}

// goTestName: TestFoo and Test_foo, not Testify; TestMain is no test.
func goTestName(name string) bool {
	for _, start := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, start); ok {
			return name != "TestMain" && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
		}
	}
	return false
}

func indent(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// bodyEnd is the line after the test that begins at from.
func bodyEnd(language string, s *side, from int) int {
	last := min(len(s.lines), from+maxCaseLines)
	switch language {
	case "go":
		for i := from; i < last; i++ {
			if code := s.code(i); strings.HasPrefix(code, "}") || i == from && strings.HasSuffix(strings.TrimSpace(code), "}") {
				return i + 1
			}
		}
	case "py", "ruby":
		in := indent(s.code(from))
		for i := from + 1; i < last; i++ {
			if code := s.code(i); strings.TrimSpace(code) != "" && indent(code) <= in && !strings.HasPrefix(strings.TrimSpace(code), ")") {
				return i
			}
		}
	default:
		open, closed := byte('{'), byte('}')
		if language == "web" {
			open, closed = '(', ')'
		}
		depth, seen := 0, false
		for i := from; i < last; i++ {
			for _, c := range []byte(s.code(i)) {
				switch c {
				case open:
					depth, seen = depth+1, true
				case closed:
					depth--
				}
			}
			if seen && depth <= 0 {
				return i + 1
			}
		}
	}
	return last
}
