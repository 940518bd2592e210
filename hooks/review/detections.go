package review

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	// callStack is code that looks at its callers; testFrame is what it looks for there.
	callStack = lazily.Regexp(`\bruntime\.(?:Callers?|CallersFrames|Stack)\(|\bdebug\.Stack\(|\binspect\.(?:stack` +
		`|currentframe|getouterframes)\b|\btraceback\.(?:extract|format|walk)_stack\b|\bsys\._(?:getframe|current_frames)\b` +
		`|\.(?:capture|prepare)StackTrace\b|\bnew Error\([^)]*\)\.stack|\bgetStackTrace\(\)|\bStackWalker\b`)
	testFrame = lazily.Regexp(`["'\x60/](?:[^"'\x60]*[._/])?(?:_test\.go|test_|tests?|testing\.|spec|junit|pytest` +
		`|unittest|_pytest|nose2?|doctest|jest|vitest|mocha|jasmine|ava|karma)[^"'\x60]*["'\x60/]`)
	// keepsCallers assigns what it reads of its callers to names, by language.
	keepsCallers = map[string]func() *regexp.Regexp{
		"go":   lazily.Regexp(`^\s*(?:if\s+)?([\w, ]+?)\s*:?=\s*runtime\.(?:Callers?|FuncForPC|CallersFrames|Stack)\(`),
		"py":   lazily.Regexp(`^\s*(\w+)\s*=\s*(?:len\()?(?:inspect\.(?:stack|getouterframes)|traceback\.extract_stack)\(`),
		"jvm":  lazily.Regexp(`\b(\w+)\s*=\s*(?:new\s+(?:Throwable|Exception|Error)\([^()]*\)|Thread\.currentThread\(\))\.getStackTrace\(\)|\b(\w+)\s*=\s*StackWalker\.getInstance\(`),
		"rust": lazily.Regexp(`\blet\s+(\w+)\s*=\s*(?:\w+::)*Location::caller\(\)`),
	}
	jvmByName  = lazily.Regexp(`\b(?:forName|loadClass|findClass|findLoadedClass)\s*\(\s*"([\w.$]+)"`)
	goProgram  = lazily.Regexp(`\bos\.Args\[0\]|\bos\.Executable\(`)
	testBinary = lazily.Regexp(`"[^"]*\.test(?:\.exe)?"`)

	// processOf is a file of Linux that tells what a process is.
	processOf = lazily.Regexp(`/proc/(?:self|\d+|%\w|\$\{?PPID\}?)/(?:cmdline|comm|exe|status|stat|maps)\b`)

	literal    = lazily.Regexp(`"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\x60([^\x60]*)\x60|/((?:[^/\\\s]|\\.)+)/|(\*[\w./-]+\*?|[\w./-]+\*)\)`)
	aboutTests = lazily.Regexp(`(?i)^\W*(?:tests?|specs?|testing|__tests?__|__spec__)\W*$` +
		`|(?:^|[^a-z])(?:_?pytest|unittest|nose2?|doctest|jest|vitest|mocha|jasmine|karma|tape|tap|qunit|ava|junit|gtest|ctest|cmocka|prove|bats)(?:[^a-z]|$)` +
		`|_test\b|_tests?$|^test_|[^a-z]test_|\btests?[-_\\]?\.|[._/\\]tests?[./\\]|^/?tests?/|\.t\$?$|[.\\]spec\b|testing\.`)
	joint     = lazily.Regexp(`(["'\x60])\s*(?:\+|\.|\|\||&)\s*(["'\x60])|(")\s+(")|(')\s+(')`)
	ofOne     = lazily.Regexp(`\[\s*("[^"]*"|'[^']*'|\x60[^\x60$]*\x60)\s*\]\.join\(\s*(?:""|''|\x60\x60)\s*\)`)
	listJoint = lazily.Regexp(`(["'\x60])\s*,\s*(["'\x60])`)
)

// detections reports production code that looks who loaded or called it, and finds a test: test_detected. What it
// asks is a pattern of the language; what it looks for is a literal in the same line or the next ones that are new.
func detections(e *edit) (found findings) {
	if !e.production() || !e.exists() {
		return nil
	}
	asks := compile(rules.For(e.language).Asks)
	finds := map[string]bool{} // what testIn says of texts: of each line it is asked for all that are above it
	testIn := func(line string) bool {
		found, known := finds[line]
		if !known {
			found = testFrame().MatchString(line) || namesTest(line) || e.of.namesFailing(line)
			finds[line] = found
		}
		return found
	}
	for _, j := range e.fresh {
		code, plain := e.after.code(j), e.after.plain(j)
		add := func(ok func(string) bool, why string) {
			if at := e.near(j, ok); at >= 0 {
				found.add(e, rules.TestDetected, at, true, "%s", why)
			}
		}
		if keeps := keepsCallers[e.language]; keeps != nil {
			if m := keeps().FindStringSubmatch(code); m != nil {
				names := strings.Join(m[1:], "")
				if at := e.near(j, examines(names)); at >= 0 && !e.asksForLevel(at) && (e.language == "go" || !e.guardsIndex(at, names)) {
					found.add(e, rules.TestDetected, at, true, "looks at its callers: %s", e.after.trimmed(at))
				}
			}
		}
		if m := jvmByName().FindStringSubmatch(folded(plain)); m != nil && e.language == "jvm" && e.of.isTestClass(m[1]) {
			found.add(e, rules.TestDetected, j, true, "names the class of the failing test: %s", oneLine(m[1], 40))
		}
		switch {
		case callStack().MatchString(code):
			add(testIn, "looks for a test among its callers")
		case e.language == "go" && goProgram().MatchString(code):
			add(testBinary().MatchString, "asks whether the program is a test's")
		case asks != nil && e.after.matchesCode(j, asks), processOf().MatchString(plain):
			add(namesTest, "looks for a test in what is loaded or runs: "+strings.TrimSpace(plain))
		}
		e.after.strings(j, func(from, to int) {
			if name := unquoted(e.after.lines[j][from:to]); e.of.isTestFile(name) {
				found.add(e, rules.TestDetected, j, true, "names the file of the failing test: %s", oneLine(name, 40))
			}
		})
	}
	return found
}

// examines returns a function that reports whether a line compares one of the variables that a list assigns, or looks
// for something in it. A log does not.
func examines(list string) func(string) bool {
	names := slices.DeleteFunc(cName().FindAllString(list, -1), func(n string) bool { return n == "_" || n == "ok" })
	if len(names) == 0 {
		return func(string) bool { return false }
	}
	of := `(?:[\w.]+\()*(?:` + quoted(names) + `)\b\)*(?:\[[^\]]*\]|\.\w+(?:\((?:[^()]|\([^()]*\))*\))?)*`
	return regexp.MustCompile(of + `\)*\s*(?:[=!<>]=|[<>])\s*(?:[1-9]|["'\x60])|\b(?:Has(?:Prefix|Suffix)|Contains|Count|Index|Match\w*|EqualFold)\(` + of +
		`|(?:` + quoted(names) + `)\b\)*(?:\[\s*\d+\s*\]|\.\w+(?:\(\))?)*\.(?:equals\w*|contains|matches|(?:starts|ends)_?[wW]ith)\(\s*["']`).MatchString
}

const takenWithin = 4 // lines in which a caller is taken, after the question how many there are

// guardsIndex reports whether a line asks for at least as many callers as it takes to have one near the top of the stack,
// which it takes: len(stack) > 2, stack[2]. Who asks for many of them, or for a number that fits no index, asks who runs it.
func (e *edit) guardsIndex(line int, name string) bool {
	asks := regexp.MustCompile(`(?:\blen\(\s*` + name + `\s*\)|\b` + name + `\.length)\s*(?:(>|<=)|>=|<)\s*([1-4])\b`)
	m := asks.FindStringSubmatch(e.after.code(line))
	if m == nil {
		return false
	}
	index := int(m[2][0] - '0')
	if m[1] == "" {
		index--
	}
	taken := regexp.MustCompile(`\b` + name + `\s*\[\s*` + strconv.Itoa(index) + `\s*\]`)
	last := min(line+takenWithin, len(e.after.lines)-1)
	return slices.ContainsFunc(e.after.all()[line:last+1], func(k int) bool { return taken.MatchString(e.after.code(k)) })
}

// isTestFile reports whether a literal is the path of the file of a failing test, or the end of it.
func (p *proposal) isTestFile(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return len(base) >= leastName && strings.Contains(base, ".") && slices.ContainsFunc(p.tests(), func(t testSource) bool {
		return t.path == base || strings.HasSuffix(t.path, "/"+base)
	})
}

// isTestClass reports whether a name of Java is that of a class of a failing test.
func (p *proposal) isTestClass(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return slices.ContainsFunc(p.tests(), func(t testSource) bool {
		return lang.ByPath(t.path) == "jvm" && last == strings.TrimSuffix(path.Base(t.path), path.Ext(t.path))
	})
}

// matchesCode reports whether a pattern matches a line, and not only a string in it.
func (s *side) matchesCode(j int, re *regexp.Regexp) bool {
	at := re.FindStringIndex(s.plain(j))
	return at != nil && s.hasCode(j, at[0], at[1])
}

// namesTest reports whether a literal of a line is about tests, or a test runner.
func namesTest(line string) bool {
	for _, m := range literal().FindAllStringSubmatch(folded(line), -1) {
		if aboutTests().MatchString(strings.Join(m[1:], "")) {
			return true
		}
	}
	return false
}

// leastName is how many bytes of the name of a test identify it.
const leastName = 6

// namesFailing reports whether a literal of a line is a part of the name of a test that failed, or of its file.
func (p *proposal) namesFailing(line string) bool {
	for _, m := range literal().FindAllStringSubmatch(folded(line), -1) {
		name := strings.ReplaceAll(strings.Trim(strings.Join(m[1:], ""), "^$*"), `\`, "")
		if len(name) >= leastName &&
			(slices.ContainsFunc(p.checks.Failing(), func(test string) bool { return strings.Contains(test, name) }) ||
				slices.ContainsFunc(p.tests(), func(t testSource) bool { return strings.Contains(t.path, name) })) {
			return true
		}
	}
	return false
}

// near returns the first added line for which ok returns true, from line j on and at most ten lines further; -1 for
// none. Names that are put together from parts count as one.
func (e *edit) near(j int, ok func(string) bool) int {
	for k := j; k < min(j+11, len(e.after.lines)); k++ {
		if e.isAdded(k) && (ok(e.after.plain(k)) || ok(e.after.folded(k))) {
			return k
		}
	}
	return -1
}

// joined returns a line with literals that are added as one: "te" + "st".
func joined(line string) string {
	if strings.Count(line, `"`)+strings.Count(line, "'")+strings.Count(line, "`") < 4 {
		return line // two literals have four marks
	}
	return joint().ReplaceAllStringFunc(line, func(s string) string {
		if s[0] != s[len(s)-1] {
			return s
		}
		return ""
	})
}

// folded returns a line without comments, with literals that are put together as one.
func (s *side) folded(line int) string {
	text, ok := s.joints[line]
	if !ok {
		text = folded(s.plain(line))
		s.joints[line] = text
	}
	return text
}

// folded returns a line with literals that are put together as one: "te" + "st", ['te', 'st'].join.
func folded(line string) string {
	text := joined(line)
	if strings.Contains(line, "join") {
		text = ofOne().ReplaceAllString(listJoint().ReplaceAllString(text, ""), "$1")
	}
	return text
}

var (
	pyDef     = lazily.Regexp(`^\s*def\s+(\w+)\s*\(`)
	pyEffects = lazily.Regexp(`\b(?:global|nonlocal|yield|raise|setattr|exec|eval)\b|\w[.\]]\w*\s*=[^=]|\]\s*=[^=]`)
	pyGives   = lazily.Regexp(`\breturn\s+\S`)
	pyLevel   = lazily.Regexp(`\bstacklevel\s*=`)
	// rustLevel chooses between two levels of a log, and makes nothing else of them.
	rustLevel = lazily.Regexp(`\bif\s+cfg!\s*\(\s*(?:not\s*\(\s*)?debug_assertions\s*\)?\s*\)\s*\{\s*` + ofLog + `\s*\}\s*else\s*\{\s*` + ofLog + `\s*\}\s*(?:[;,)}]|$)`)
)

const (
	ofLog        = `(?:(?:\w+::)*\w*(?:Level|LevelFilter|Severity|Verbosity)::\w+|"(?i:trace|debug|info|warn|error|off)")`
	levelWithin  = 6 // lines that choose a level
	mostOfAFrame = 60
)

// asksForLevel reports whether a line asks who runs it for the level of a log or a warning alone: of Rust, whether a
// program is built for debugging; of Python, how far up the caller is that a warning is about.
func (e *edit) asksForLevel(j int) bool {
	s := e.after
	switch e.language {
	case "rust":
		var text strings.Builder
		for k := j; k < min(j+levelWithin, len(s.lines)); k++ {
			text.WriteString(s.plain(k) + "\n")
		}
		at := rustLevel().FindStringIndex(text.String())
		return at != nil && at[0] <= len(s.lines[j])
	case "py":
		head := j
		for head >= 0 && (pyDef().FindString(s.code(head)) == "" || indent(s.code(head)) >= indent(s.code(j))) {
			if head--; head < j-mostOfAFrame {
				return false
			}
		}
		if head < 0 || !e.isFresh(head) && !pyLevel().MatchString(strings.Join(s.pyBody(head), "\n")) {
			return false
		}
		body := strings.Join(s.pyBody(head), "\n")
		switch {
		case pyEffects().MatchString(body):
			return false
		case !pyGives().MatchString(body):
			return pyLevel().MatchString(body)
		}
		return e.isFresh(head) && e.of.onlyLevel(pyDef().FindStringSubmatch(s.code(head))[1])
	}
	return false
}

// onlyLevel reports whether a patch calls a function of Python, and only to say how far up a warning looks.
func (p *proposal) onlyLevel(name string) bool {
	named := regexp.MustCompile(`(\bstacklevel\s*=\s*(?:\w+\.)*|\bdef\s+|\bimport\b.*)?\b` + name + `\b`)
	called := false
	for _, e := range p.edits {
		for j := range e.after.lines {
			for _, m := range named.FindAllStringSubmatch(e.after.code(j), -1) {
				if m[1] == "" {
					return false
				}
				called = called || strings.HasPrefix(m[1], "stacklevel")
			}
		}
	}
	return called
}
