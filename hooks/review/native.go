package review

// What C can put in the place of its words and its library's functions: macros, definitions, and functions that run at every
// end. The rules are exit_swallowed and library_shadowed.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

// cSignal begins the handling of a signal that a failed assertion, or a crash, sends.
const cSignal = `\b(?:signal|sigset|bsd_signal|sysv_signal)\s*\(\s*(?:SIG(?:ABRT|IOT|SEGV|BUS|FPE|ILL|TRAP)|6|11)\s*,`

var (
	// cEnds end a process, or a function, and say how; cWords decide what runs; cCompares are what a test compares with.
	cEnds = strings.Fields(`exit _exit _Exit quick_exit abort raise return throw
		__assert __assert_fail __assert_rtn __assert_func __assert_perror_fail _assert`)
	cWords    = strings.Fields(`main assert if else while for do switch case break continue goto sizeof`)
	cCompares = strings.Fields(`strcmp strncmp strcasecmp strncasecmp strcoll memcmp bcmp wcscmp strstr abs labs fabs fabsf fabsl`)

	cAsserts   = late.Regexp(`^(?:NDEBUG|assert|(?:ASSERT|EXPECT)_(?:EQ|NE|TRUE|FALSE|STREQ|THAT|NEAR))$`)
	cUndef     = late.Regexp(`^\s*(?:#|%:|\?\?=)\s*undef\s+(assert|TEST|CHECK|REQUIRE|(?:ASSERT|EXPECT)_\w+)\s*$`)
	cDirective = late.Regexp(`^\s*(?:#|%:|\?\?=)`)
	cDefine    = late.Regexp(`^\s*(?:#|%:|\?\?=)\s*define\s+(\w+)(\([^)]*\))?(.*)$`)
	cPragma    = late.Regexp(`^\s*(?:#|%:|\?\?=)\s*pragma\s+(?:weak\s+(\w+)\s*=|redefine_extname\s+(\w+)\s)`)
	cNext      = late.Regexp(`^\s*(?:#|%:|\?\?=)\s*include_next\b`)
	cName      = late.Regexp(`[A-Za-z_]\w*`)
	cZero      = late.Regexp(`^[\s(]*0[\s)]*$`)
	cLabel     = late.Regexp(`\b(?:__)?asm(?:__)?\s*\(\s*"(?:[^"]*\.(?:globl|global|set|weak)\s+)?_?(\w+)\b`)

	// cOwn is a definition, up to its brace; an alias has none.
	cOwn    = late.Regexp(`^\s*(?:\[\[[\w:]+\]\]\s*)?(?:[A-Za-z_]\w*(?:\s*\(\([^)]*\)\)+)?[\s*]+)*(\w+)\s*\(([^(){};]*)\)(?:[^;{}=]*\{|[^;{}=]*\balias\b)`)
	cOneInt = late.Regexp(`^\s*(?:int\b[^,]*|\w+)\s*$`)
	cVoid   = late.Regexp(`^\s*(?:void)?\s*$`)
	cSame   = late.Regexp(`^[^{]*\{\s*(?:\(void\)\s*\w+\s*;\s*)*return\s+[-+]?[\d.]+f?\s*;\s*\}`)
	cWell   = late.Regexp(`\b(?:_?[eE]xit|quick_exit)\s*\(\s*(?:[-+(\s]*0[xX]?0*[uUlL]*|EXIT_SUCCESS|!1)[\s)]*\)|\bsyscall\s*\(\s*(?:SYS|__NR)_exit\w*\s*,\s*0\b`)

	cRegisters = late.Regexp(`\b(?:atexit|at_quick_exit|on_exit|__cxa_atexit|set_terminate)\s*\(\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?&?\s*([A-Za-z_]\w*)|` + cSignal + `\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?&?\s*([A-Za-z_]\w*)`)
	cHandled   = late.Regexp(`\b(?:_exit|_Exit|quick_exit|exit)\s*\(\s*(?:\(\s*int\s*\)\s*)?([A-Za-z_]\w*)\s*\)|\b(?:sig)?longjmp\s*\(`)
	cGiven     = late.Regexp(`\bint\s+([A-Za-z_]\w*)\s*[,)]`)
	cAction    = late.Regexp(`\bsigaction\s*\(\s*(?:SIG(?:ABRT|IOT|SEGV|BUS|FPE|ILL|TRAP)|6|11)\s*,`)
	cHandler   = late.Regexp(`\bsa_(?:handler|sigaction)\s*=\s*&?\s*([A-Za-z_]\w*)`)
	cArray     = late.Regexp(`\b(?:init|fini)_array\b[^=]*=\s*\{?\s*&?\s*([A-Za-z_]\w*)`)
	cMarked    = late.Regexp(`__attribute__\s*\(\(\s*_*(?:constructor|destructor)\b|\[\[\s*gnu::(?:constructor|destructor)|~\w+\s*\(\s*(?:void)?\s*\)`)
	cStatic    = late.Regexp(`^[\w\s*:<>]+=[^=]`)
	cCalled    = late.Regexp(`\b([A-Za-z_]\w*)\s*\(`)
)

// included are the endings of files that C includes and that have no language of their own here.
var included = []string{".inc", ".def", ".ipp", ".tpp", ".inl", ".txx", ".in"}

// native is e's text as C, nil where e is no production code of C.
func (e *edit) native() *side {
	switch ext := strings.ToLower(path.Ext(e.path)); {
	case !e.exists() || e.opaque || e.class != 0:
		return nil
	case lang.ByPath(e.path) == "c":
		return e.after
	case e.language == "" && slices.Contains(included, ext):
		return newSide("c", text(e.change.After))
	}
	return nil
}

func (r *report) natives(e *edit) {
	s := e.native()
	if s == nil {
		return
	}
	had := map[string]bool{}
	for _, i := range e.removed {
		had[strings.Join(strings.Fields(e.before.lines[i]), " ")] = true
	}
	for _, j := range e.added {
		if e.moved[j] || had[strings.Join(strings.Fields(s.lines[j]), " ")] {
			continue
		}
		from := j
		for from > max(0, j-maxHeading) && spliced(s.code(from-1)) {
			from--
		}
		if whole := s.joined(from); cDirective().MatchString(whole) {
			r.directive(e, j, whole)
			continue
		}
		if m := cLabel().FindStringSubmatch(s.plain(j)); m != nil && slices.Contains(cEnds, m[1]) {
			r.add(e, ExitSwallowed, j, true, "another %s: %s", m[1], strings.TrimSpace(s.lines[j]))
		}
		r.owns(e, s, j)
	}
}

// joined is line i with those that it goes on in after a backslash, as the preprocessor sees it.
func (s *side) joined(i int) string {
	var b strings.Builder
	for k := i; k < min(len(s.lines), i+maxHeading); k++ {
		line := strings.TrimRight(s.code(k), " \t\r")
		if !spliced(line) {
			b.WriteString(line)
			break
		}
		b.WriteString(strings.TrimSuffix(strings.TrimSuffix(line, `\`), "??/"))
	}
	return b.String()
}

// spliced says whether a line goes on in the next one: after a backslash, or what old C has for one.
func spliced(line string) bool {
	line = strings.TrimRight(line, " \t\r")
	return strings.HasSuffix(line, `\`) || strings.HasSuffix(line, "??/")
}

const (
	maxHeading = 12  // lines that a directive or the heading of a function goes on
	maxBody    = 200 // lines of a function
)

// directive looks at a line of the preprocessor.
func (r *report) directive(e *edit, j int, line string) {
	shown := strings.Join(strings.Fields(line), " ")
	if cNext().MatchString(line) {
		r.add(e, LibraryShadowed, j, e.isNew(), "stands in front of the system's header: %s", shown)
		return
	}
	if m := cPragma().FindStringSubmatch(line); m != nil && slices.Contains(cEnds, m[1]+m[2]) {
		r.add(e, ExitSwallowed, j, true, "%s", shown)
		return
	}
	if cUndef().MatchString(line) {
		r.add(e, LibraryShadowed, j, true, "%s", shown)
		return
	}
	m := cDefine().FindStringSubmatch(line)
	if m == nil {
		return
	}
	name, params, body := m[1], m[2], strings.TrimSpace(m[3])
	switch {
	case body == name && params == "": // #define exit exit says only that there is one
	case slices.Contains(cEnds, name) || name == "EXIT_FAILURE" && cZero().MatchString(body):
		r.add(e, ExitSwallowed, j, true, "%s", shown)
	case slices.Contains(cWords, name), cAsserts().MatchString(name), slices.Contains(cCompares, name) && !namesMore(body, params):
		r.add(e, LibraryShadowed, j, true, "%s", shown)
	}
}

// namesMore says whether a macro's body names anything but its parameters: a constant does not.
func namesMore(body, params string) bool {
	known := append(cName().FindAllString(params, -1), "void")
	return slices.ContainsFunc(cName().FindAllString(body, -1), func(n string) bool { return !slices.Contains(known, n) })
}

// owns looks for a function of the C library that is defined here.
func (r *report) owns(e *edit, s *side, j int) {
	if !slices.ContainsFunc(cEnds, func(n string) bool { return strings.Contains(s.lines[j], n) }) && !containsAny(s.lines[j], cCompares) {
		return
	}
	heading := s.code(j)
	for k := j + 1; k < min(len(s.lines), j+4) && !strings.ContainsAny(heading, "{;"); k++ {
		heading += " " + s.code(k)
	}
	m := cOwn().FindStringSubmatch(heading)
	if m == nil || !s.global(j) {
		return
	}
	name, params := m[1], m[2]
	switch {
	case slices.Contains(cCompares, name):
		if text, _ := s.function(j); cSame().MatchString(text) {
			r.add(e, LibraryShadowed, j, true, "another %s: %s", name, strings.TrimSpace(s.lines[j]))
		}
	case name == "abort" && cVoid().MatchString(params),
		slices.Contains([]string{"exit", "_exit", "_Exit", "quick_exit", "raise"}, name) && cOneInt().MatchString(params),
		strings.Contains(name, "assert") && slices.Contains(cEnds, name):
		r.add(e, ExitSwallowed, j, true, "another %s: %s", name, strings.TrimSpace(s.lines[j]))
	}
}

// global says whether line j stands in no braces but those of extern "C": what is in a class or namespace has a name of its own.
func (s *side) global(j int) bool {
	depth := 0
	for i := range j {
		code := s.code(i)
		depth += strings.Count(code, "{") - strings.Count(code, "}")
		if code = strings.TrimSpace(code); strings.HasPrefix(code, "extern") && strings.HasSuffix(code, "{") {
			depth--
		}
	}
	return depth <= 0
}

// function is the code of a function from its heading in line j to its last brace, and the line after it; "" for what has none.
func (s *side) function(j int) (code string, end int) {
	var b strings.Builder
	depth, began := 0, false
	for k := j; k < min(len(s.lines), j+maxBody); k++ {
		line := s.code(k)
		b.WriteString(line + "\n")
		for _, c := range line {
			switch {
			case c == ';' && !began:
				return "", k + 1
			case c == '{':
				depth, began = depth+1, true
			case c == '}':
				depth--
			}
			if began && depth == 0 {
				return b.String(), k + 1
			}
		}
	}
	return b.String(), min(len(s.lines), j+maxBody)
}
