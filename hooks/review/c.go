package review

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// cSignal begins the handling of a signal that a failed assertion, or a crash, sends.
const cSignal = `\b(?:signal|sigset|bsd_signal|sysv_signal)\s*\(\s*(?:SIG(?:ABRT|IOT|SEGV|BUS|FPE|ILL|TRAP)|6|11)\s*,`

var (
	cAsserts = lazily.Regexp(`^(?:NDEBUG|assert|` + rules.CAsserts + `)$`)
	cUndef   = lazily.Regexp(`^\s*(?:#|%:|\?\?=)\s*undef\s+(assert|TEST|CHECK|REQUIRE|(?:ASSERT|EXPECT)_\w+|` +
		rules.CAsserts + `)\s*$`)
	cDirective = lazily.Regexp(`^\s*(?:#|%:|\?\?=)`)
	cDefine    = lazily.Regexp(`^\s*(?:#|%:|\?\?=)\s*define\s+(\w+)(\([^)]*\))?(.*)$`)
	cPragma    = lazily.Regexp(`^\s*(?:#|%:|\?\?=)\s*pragma\s+(?:weak\s+(\w+)\s*=|redefine_extname\s+(\w+)\s+(\w+))`)
	cNext      = lazily.Regexp(`^\s*(?:#|%:|\?\?=)\s*include_next\b`)
	cName      = lazily.Regexp(`[A-Za-z_]\w*`)
	cZero      = lazily.Regexp(`^[\s(]*0[\s)]*$`)

	// cOwn is a definition, up to its brace; an alias has none.
	cOwn = lazily.Regexp(`^\s*(?:\[\[[\w:]+\]\]\s*)?(?:[A-Za-z_]\w*(?:\s*\(\([^)]*\)\)+)?[\s*]+)*` +
		`(\w+)\s*\(([^(){};]*)\)(?:[^;{}=]*\{|[^;{}=]*\balias\b)`)
	cOneInt = lazily.Regexp(`^\s*(?:int\b[^,]*|\w+)\s*$`)
	cVoid   = lazily.Regexp(`^\s*(?:void)?\s*$`)
	cSame   = lazily.Regexp(`^[^{]*\{\s*(?:\(void\)\s*\w+\s*;\s*)*return\s+[-+]?[\d.]+f?\s*;\s*\}`)
	cWell   = lazily.Regexp(`\b(?:_?[eE]xit|quick_exit)\s*\(\s*(?:[-+(\s]*0[xX]?0*[uUlL]*|EXIT_SUCCESS|!1)[\s)]*\)` +
		`|\bsyscall\s*\(\s*(?:SYS|__NR)_exit\w*\s*,\s*0\b`)

	cRegisters = lazily.Regexp(`\b(?:atexit|at_quick_exit|on_exit|__cxa_atexit` +
		`|set_terminate)\s*\(\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?&?\s*([A-Za-z_]\w*)` +
		`|` + cSignal + `\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?&?\s*([A-Za-z_]\w*)`)
	cHandled = lazily.Regexp(`\b(?:_exit|_Exit|quick_exit|exit)\s*\(\s*(?:\(\s*int\s*\)\s*)?([^;]*?)\s*\)\s*;` +
		`|\b(?:(?:sig)?longjmp|pthread_exit|thrd_exit)\s*\(`)
	cNumber = lazily.Regexp(`^(?:[1-9]\d*|0[xX]0*[1-9a-fA-F][0-9a-fA-F]*|-\s*[1-9]\d*|EXIT_FAILURE|EX_[A-NP-Z]\w*)$`)
	cAlarm  = lazily.Regexp(`\b(?:signal|sigset|bsd_signal|sysv_signal)\s*\(\s*SIG(?:ALRM|VTALRM|PROF|USR1|USR2)\s*,` +
		`\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?&?\s*([A-Za-z_]\w*)`)
	cGiven   = lazily.Regexp(`\bint\s+([A-Za-z_]\w*)\s*[,)]`)
	cAction  = lazily.Regexp(`\bsigaction\s*\(\s*(?:SIG(?:ABRT|IOT|SEGV|BUS|FPE|ILL|TRAP)|6|11)\s*,`)
	cHandler = lazily.Regexp(`\bsa_(?:handler|sigaction)\s*=\s*&?\s*([A-Za-z_]\w*)`)
	cArray   = lazily.Regexp(`\b(?:init|fini)_array\b[^=]*=\s*\{?\s*&?\s*([A-Za-z_]\w*)`)
	cMarked  = lazily.Regexp(`__attribute__\s*\(\(\s*_*(?:constructor|destructor)\b|\[\[\s*gnu::(?:constructor` +
		`|destructor)|~\w+\s*\(\s*(?:void)?\s*\)`)
	cStatic = lazily.Regexp(`^[\w\s*:<>]+=[^=]`)
	cCalled = lazily.Regexp(`\b([A-Za-z_]\w*)\s*\(`)
)

// included are extensions of files that C includes and that are of no language.
var included = []string{".inc", ".def", ".ipp", ".tpp", ".inl", ".txx", ".in"}

// cText returns e's text as C, nil where e is no production code of C.
func (e *edit) cText() *side {
	switch ext := strings.ToLower(path.Ext(e.path)); {
	case !e.exists() || e.opaque || e.class != none:
		return nil
	case lang.ByPath(e.path) == "c":
		return e.after
	case e.language == "" && slices.Contains(included, ext):
		return newSide("c", text(e.change.After))
	}
	return nil
}

// cReplacements reports macros and definitions of C that take the place of its words and of its library's
// functions: exit_swallowed and library_shadowed.
func cReplacements(e *edit) (found findings) {
	s := e.cText()
	if s == nil {
		return nil
	}
	had := map[string]bool{}
	for _, i := range e.removed {
		had[strings.Join(strings.Fields(e.before.lines[i]), " ")] = true
	}
	for _, j := range e.fresh {
		if had[strings.Join(strings.Fields(s.lines[j]), " ")] {
			continue
		}
		from := j
		for from > max(0, j-maxHeading) && spliced(s.code(from-1)) {
			from--
		}
		if whole := s.joined(from); cDirective().MatchString(whole) {
			found = append(found, directive(e, j, whole)...)
			continue
		}
		found = append(found, ownFunction(e, s, j)...)
	}
	return found
}

// joined returns line i with those that continue it after a backslash, as the preprocessor reads it.
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

// spliced reports whether a line continues in the next one: it ends in a backslash, or in the trigraph for one.
func spliced(line string) bool {
	line = strings.TrimRight(line, " \t\r")
	return strings.HasSuffix(line, `\`) || strings.HasSuffix(line, "??/")
}

const (
	maxHeading = 12      // lines that a directive or the heading of a function goes on
	maxBody    = 200     // lines of a function
	maxCalled  = 200_000 // lines of functions that are followed
)

// directive reports what a line of the preprocessor replaces.
func directive(e *edit, j int, line string) (found findings) {
	shown := strings.Join(strings.Fields(line), " ")
	pragma, define := cPragma().FindStringSubmatch(line), cDefine().FindStringSubmatch(line)
	switch {
	case cNext().MatchString(line):
		found.add(e, rules.LibraryShadowed, j, e.isNew(), "is found before the system's header: %s", shown)
	case pragma != nil && replacedName(pragma[1]+pragma[2]) == rules.ExitSwallowed:
		found.add(e, rules.ExitSwallowed, j, true, "%s", shown)
	case pragma != nil && replacedName(pragma[1]+pragma[3]) != "":
		found.add(e, replacedName(pragma[1]+pragma[3]), j, true, "%s", shown)
	case cUndef().MatchString(line):
		found.add(e, rules.LibraryShadowed, j, true, "%s", shown)
	}
	if define == nil {
		return found
	}
	name, params, body := define[1], define[2], strings.TrimSpace(define[3])
	switch {
	case body == name && params == "": // #define exit exit only shows that there is one
	case slices.Contains(rules.CEnds(), name) || name == "EXIT_FAILURE" && cZero().MatchString(body):
		found.add(e, rules.ExitSwallowed, j, true, "%s", shown)
	case slices.Contains(rules.CWords(), name), cAsserts().MatchString(name),
		slices.Contains(rules.CCompares(), name) && !namesMore(body, params):
		found.add(e, rules.LibraryShadowed, j, true, "%s", shown)
	}
	return found
}

// namesMore reports whether a macro's body names anything but its parameters. A constant does not.
func namesMore(body, params string) bool {
	known := append(cName().FindAllString(params, -1), "void")
	names := cName().FindAllString(body, -1)
	return slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(known, n) })
}

// ownFunction reports a function of the C library that is defined in line j.
func ownFunction(e *edit, s *side, j int) (found findings) {
	if !containsAny(s.lines[j], rules.CEnds()) && !containsAny(s.lines[j], rules.CCompares()) {
		return nil
	}
	m := cOwn().FindStringSubmatch(s.heading(j, "{;"))
	if m == nil || !s.global(j) {
		return nil
	}
	name, params := m[1], m[2]
	switch {
	case slices.Contains(rules.CCompares(), name) && strings.Contains(s.heading(j, "{;"), "alias"):
		found.add(e, rules.LibraryShadowed, j, true, "another %s: %s", name, s.trimmed(j))
	case slices.Contains(rules.CCompares(), name):
		if text, _ := s.function(j); cSame().MatchString(text) {
			found.add(e, rules.LibraryShadowed, j, true, "another %s: %s", name, s.trimmed(j))
		}
	case name == "abort" && cVoid().MatchString(params),
		strings.Contains(" exit _exit _Exit quick_exit raise ", " "+name+" ") && cOneInt().MatchString(params),
		strings.Contains(name, "assert") && slices.Contains(rules.CEnds(), name):
		found.add(e, rules.ExitSwallowed, j, true, "another %s: %s", name, s.trimmed(j))
	}
	return found
}

// heading returns the code of line i, and of up to three more until it has one of the bytes that end it.
func (s *side) heading(i int, ends string) string {
	heading := s.code(i)
	for k := i + 1; k < min(len(s.lines), i+4) && !strings.ContainsAny(heading, ends); k++ {
		heading += " " + s.code(k)
	}
	return heading
}

// global reports whether line j is in no braces but those of extern "C". What is in a class or namespace has
// another full name.
func (s *side) global(j int) bool {
	for i := len(s.depths); i < j; i++ {
		code, depth := s.code(i), 0
		if i > 0 {
			depth = s.depths[i-1]
		}
		depth += strings.Count(code, "{") - strings.Count(code, "}")
		if code = strings.TrimSpace(code); strings.HasPrefix(code, "extern") && strings.HasSuffix(code, "{") {
			depth--
		}
		s.depths = append(s.depths, depth)
	}
	return j == 0 || s.depths[j-1] <= 0
}

// function returns the code of a function from its heading in line j to its last brace, and the line after it; ""
// for a declaration.
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

// cExitHandlers reports functions of C that run at every end of the process, or where a signal is handled, and end
// it with success: exit_swallowed. They, and what they call, may be in another file of the patch.
func cExitHandlers(p *proposal) (found findings) {
	type place struct {
		e *edit
		s *side
	}
	type entry struct {
		name    string
		new     bool
		handles bool // a signal, or what its handler calls
		alarm   bool // that signal is no failure: a handler may jump
	}
	var places []place
	var todo []entry
	for _, e := range p.edits {
		s := e.cText()
		if s == nil {
			continue
		}
		places = append(places, place{e, s})
		action := slices.ContainsFunc(s.all(), func(i int) bool { return cAction().MatchString(s.code(i)) })
		for i := range s.lines {
			code := s.code(i)
			call := code
			if strings.Contains(code, "sig") { // the arguments may be in lines of their own
				call = s.heading(i, ";{")
			}
			for _, m := range cRegisters().FindAllStringSubmatch(call, -1) {
				todo = append(todo, entry{m[1] + m[2], e.isFresh(i), m[2] != "", false})
			}
			for _, m := range cAlarm().FindAllStringSubmatch(call, -1) {
				todo = append(todo, entry{m[1], e.isFresh(i), true, true})
			}
			if m := cHandler().FindStringSubmatch(code); m != nil && action {
				todo = append(todo, entry{m[1], e.isFresh(i), true, false})
			}
			if m := cArray().FindStringSubmatch(s.plain(i)); m != nil {
				todo = append(todo, entry{m[1], e.isFresh(i), false, false})
			}
			if cMarked().MatchString(code) {
				if body, end := s.function(i); body != "" {
					found = append(found, endsWell(e, s, i, end, e.isFresh(i))...)
					found = append(found, endsOnItsOwn(e, s, i, end)...)
				}
			}
			if cWell().MatchString(code) && e.isFresh(i) && cStatic().MatchString(code) && s.global(i) {
				found = append(found, endsWell(e, s, i, i+1, false)...)
			}
		}
	}
	seen, followed := map[entry]bool{}, 0
	for len(todo) > 0 && len(seen) < 200 {
		at := todo[0]
		todo = todo[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, p := range places {
			for i := range p.s.lines {
				if !strings.Contains(p.s.lines[i], at.name) || !defines(p.s, i, at.name) {
					continue
				}
				body, end := p.s.function(i)
				if followed += end - i; body == "" || followed > maxCalled {
					continue
				}
				found = append(found, endsWell(p.e, p.s, i, end, at.new)...)
				if at.handles {
					found = append(found, survives(p.e, p.s, i, end, at.new, at.alarm)...)
				}
				for _, m := range cCalled().FindAllStringSubmatch(body, -1) {
					todo = append(todo, entry{m[1], at.new || p.e.isFresh(i), at.handles, at.alarm})
				}
			}
		}
	}
	return found
}

// defines reports whether the function of a name begins in line i.
func defines(s *side, i int, name string) bool {
	m := cOwn().FindStringSubmatch(s.heading(i, "{;"))
	return m != nil && m[1] == name
}

// endsWell reports the new lines from i to end that end the process with success; all of them where what calls
// them is new.
func endsWell(e *edit, s *side, i, end int, called bool) (found findings) {
	for k := i; k < end; k++ {
		if cWell().MatchString(s.code(k)) && (called || e.isFresh(k)) {
			found.add(e, rules.ExitSwallowed, k, true, endsOnLoad, s.trimmed(k))
		}
	}
	return found
}

// endsOnItsOwn reports the new lines of a function that runs by itself, from i to end, that end the process otherwise
// than with a failure, or that fork: the other process is not the one that the check waits for.
func endsOnItsOwn(e *edit, s *side, i, end int) (found findings) {
	for k := i; k < end; k++ {
		code := s.code(k)
		m := cEnds().FindStringSubmatch(code)
		if e.isFresh(k) && !cWell().MatchString(code) && (cFork().MatchString(code) || m != nil && !cFails().MatchString(strings.TrimSpace(m[2]))) {
			found.add(e, rules.ExitSwallowed, k, true, "by itself, at the start or end of each program: %s", s.trimmed(k))
		}
	}
	return found
}

// survives reports the new lines of a handler that end the process with a number that only running it tells, or
// that continue after what failed. The signal's own number is honest, while nothing changes it, also with 128 added.
func survives(e *edit, s *side, i, end int, called, alarm bool) (found findings) {
	var body strings.Builder
	for k := i; k < end; k++ {
		body.WriteString(s.code(k) + "\n")
	}
	own := regexp.MustCompile(`^\x00$`) // matches nothing
	if given := cGiven().FindStringSubmatch(body.String()); given != nil && !regexp.MustCompile(`\b`+given[1]+
		`\s*(?:[-+*/%&|^]|<<|>>)?=[^=]|--|&\s*`+given[1]+`\b`).MatchString(body.String()) {
		own = regexp.MustCompile(`^(?:(?:128|0x80)\s*[+|]\s*)?` + given[1] + `(?:\s*[+|]\s*(?:128|0x80))?$`)
	}
	for k := i; k < end; k++ {
		m := cHandled().FindStringSubmatch(s.code(k))
		if m == nil || !called && !e.isFresh(k) || cNumber().MatchString(m[1]) || own.MatchString(m[1]) || cWell().MatchString(s.code(k)) ||
			alarm && m[1] == "" {
			continue
		}
		found.add(e, rules.ExitSwallowed, k, true, "where a signal is handled: %s", s.trimmed(k))
	}
	return found
}
