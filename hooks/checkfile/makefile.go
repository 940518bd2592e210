package checkfile

// Makefiles by their parts: which of them are the check, and which only build the program.

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const maxTargets = 200 // of one rule; nobody writes more by hand

// Kinds of segments.
const (
	makeOther    = iota // conditionals, define, export, vpath, what is unknown
	makeBlank           // comments and empty lines
	makeVariable        // an assignment
	makeOwn             // an assignment for some targets
	makeRule
	makeInclude
)

// A makeSegment is a rule, an assignment or a directive of a Makefile, with all of its lines.
type makeSegment struct {
	kind             int
	name, op, value  string // of a variable, for targets too; value of an include too
	targets, prereqs []string
	recipe           []string
	double           bool   // ::
	at, end          int    // in the Makefile; a recipe may hold comments that are segments too
	text             string // all of it
}

// parseMakefile splits src. It never fails: a line that it does not know is makeOther.
func parseMakefile(src string) []makeSegment {
	var list []makeSegment
	rule := -1 // that recipe lines belong to
	for at := 0; at < len(src); {
		recipe := src[at] == '\t' && rule >= 0
		end := logical(src, at)
		text := src[at:end]
		if recipe {
			list[rule].recipe = append(list[rule].recipe, strings.TrimRight(text, "\r\n"))
			list[rule].end = end
			at = end
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(text), "define ") {
			for end < len(src) {
				line := end
				end = logical(src, end)
				if strings.HasPrefix(strings.TrimSpace(src[line:end]), "endef") {
					break
				}
			}
			text = src[at:end]
		}
		s := segment(text)
		s.at, s.end = at, end
		switch s.kind {
		case makeRule:
			rule = len(list)
		case makeBlank: // a recipe may go on below
		default:
			rule = -1
		}
		list = append(list, s)
		at = end
	}
	for i := range list {
		list[i].text = src[list[i].at:list[i].end]
	}
	return list
}

// logical returns where the line that begins at src[at] ends, with the lines that continue it.
func logical(src string, at int) int {
	for {
		n := strings.IndexByte(src[at:], '\n')
		if n < 0 {
			return len(src)
		}
		line := src[at : at+n+1]
		if at += n + 1; !continued(line) {
			return at
		}
	}
}

func continued(line string) bool {
	line = strings.TrimRight(line, "\r\n")
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// segment returns the segment of a logical line that is no recipe.
func segment(text string) makeSegment {
	s := makeSegment{text: text}
	line := strings.TrimSpace(strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text))
	if at := strings.IndexByte(line, '#'); at >= 0 && (at == 0 || line[at-1] != '\\') {
		line = strings.TrimSpace(line[:at])
	}
	first, rest, _ := strings.Cut(line, " ")
	switch strings.TrimSpace(first) {
	case "":
		s.kind = makeBlank
		return s
	case "include", "-include", "sinclude":
		s.kind, s.value = makeInclude, rest
		return s
	case "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif", "define", "endef", "undefine", "override", "export",
		"unexport", "private", "vpath", "load":
		return s
	}
	at, colon := 0, -1
	for ; at < len(line); at++ {
		switch line[at] {
		case '$':
			if at+1 < len(line) && (line[at+1] == '(' || line[at+1] == '{') {
				at += reference(line[at:])
			}
			continue
		case ':':
			if strings.TrimLeft(line[at:], ":") != "" && strings.TrimLeft(line[at:], ":")[0] == '=' {
				if colon >= 0 {
					return own(s, line, colon, at)
				}
				return variable(s, line, at)
			}
			if colon < 0 {
				colon = at
				if at+1 < len(line) && line[at+1] == ':' {
					s.double = true
					at++
				}
			}
			continue
		case '=':
			start := at
			if at > 0 && strings.IndexByte("?+!", line[at-1]) >= 0 {
				start--
			}
			if colon >= 0 {
				return own(s, line, colon, start)
			}
			return variable(s, line, start)
		case ';':
			if colon >= 0 {
				s.recipe = append(s.recipe, line[at+1:])
				line = line[:at]
			}
		}
	}
	if colon < 0 {
		return s
	}
	s.kind = makeRule
	s.targets = fields(strings.TrimRight(line[:colon], "&"))
	pres := strings.TrimLeft(line[colon:], ":")
	if _, after, ok := strings.Cut(pres, ":"); ok && !strings.Contains(pres, "$") {
		pres = after // targets: pattern: prerequisites
	}
	s.prereqs = fields(strings.ReplaceAll(pres, "|", " "))
	return s
}

// reference returns the length of the reference $(…) that s begins with, without its $.
func reference(s string) int {
	depth := 0
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// fields returns the words of s. A reference with blanks is one word.
func fields(s string) []string {
	var list []string
	from := -1
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == ' ' || s[i] == '\t':
			if from >= 0 {
				list = append(list, s[from:i])
			}
			from = -1
			continue
		case from < 0:
			from = i
		}
		if s[i] == '$' && i+1 < len(s) && (s[i+1] == '(' || s[i+1] == '{') {
			i += reference(s[i:])
		}
	}
	if from >= 0 {
		list = append(list, s[from:])
	}
	return list
}

// variable returns the segment of an assignment whose operator begins at line[at].
func variable(s makeSegment, line string, at int) makeSegment {
	name := strings.TrimSpace(line[:at])
	op := line[at:]
	op = op[:strings.IndexByte(op, '=')+1]
	if name == "" || strings.ContainsAny(name, " \t$") {
		return s
	}
	s.kind, s.name, s.op, s.value = makeVariable, name, op, strings.TrimSpace(line[at+len(op):])
	return s
}

// own returns the segment of an assignment for the targets before line[colon], whose operator begins at line[at].
func own(s makeSegment, line string, colon, at int) makeSegment {
	is := variable(s, " "+line[colon+1:], at-colon)
	if is.kind != makeVariable {
		return s
	}
	is.kind, is.targets = makeOwn, fields(line[:colon])
	return is
}

// makesFile reports whether the targets of a rule are files, rather than names of something to do.
func (s *makeSegment) makesFile() bool {
	if s.kind != makeRule || s.double || len(s.targets) == 0 || len(s.targets) > maxTargets {
		return false
	}
	recipe := strings.Join(s.recipe, "\n")
	itself := strings.Contains(recipe, "$@") || strings.Contains(recipe, "$(@") || strings.Contains(recipe, "${@")
	for _, target := range s.targets {
		suffix := strings.Count(target, ".") == 2 && target[0] == '.' // .c.o
		switch {
		case strings.HasPrefix(target, ".") && !suffix && !strings.Contains(target, "/"):
			return false
		case strings.ContainsAny(target, "%./$") || itself:
		case strings.Contains(recipe, "-o "+target) || strings.Contains(recipe, "> "+target) ||
			strings.Contains(recipe, ">"+target):
		default:
			return false
		}
	}
	return true
}

var (
	// buildVariables are those of make's built-in rules.
	buildVariables = lazily.Words(`
		AR AS ASFLAGS ARFLAGS CC CFLAGS CPP CPPFLAGS CXX CXXFLAGS F77 FC FFLAGS LD LDFLAGS LDLIBS LEX LFLAGS
		LOADLIBES YACC YFLAGS`)

	// environment are variables that the programs of every recipe read.
	environment = lazily.Words(`
		PATH HOME SHELL TMPDIR VPATH MAKE MAKEFLAGS MAKEFILES PYTHONPATH GOFLAGS NODE_OPTIONS LD_PRELOAD
		LD_LIBRARY_PATH`)
)

// A makeView is a Makefile with what its variables are used for.
type makeView struct {
	segments []makeSegment
	refs     map[string][]string // variable → those that it refers to
	check    map[string]bool     // variables that parts of the check use
	build    map[string]bool     // variables that parts of the build use
	phony    map[string]bool
	exports  bool // the check may use any variable
}

// checkParts returns the parts of a Makefile that decide, in their order: all but the rules that build files of the
// program and the variables that only those use; and the targets that are no files (phony), to which also adds some.
// checks reports whether a path is a check file.
func checkParts(src string, also map[string]bool, checks func(string) bool) (parts []string, phony map[string]bool) {
	v := makeView{
		segments: parseMakefile(src), refs: map[string][]string{}, check: map[string]bool{},
		build: map[string]bool{}, phony: map[string]bool{},
	}
	for target := range also {
		v.phony[target] = true
	}
	for _, s := range v.segments {
		switch {
		case s.kind == makeRule && slices.Contains(s.targets, ".PHONY"):
			for _, target := range s.prereqs {
				v.phony[target] = true
			}
		case s.kind == makeRule && slices.Contains(s.targets, ".EXPORT_ALL_VARIABLES"), s.kind == makeOther &&
			strings.HasPrefix(strings.TrimSpace(s.text), "export"):
			v.exports = true
		case s.kind == makeVariable:
			v.refs[s.name] = append(v.refs[s.name], variablesIn(s.value)...)
		}
	}
	builds := make([]bool, len(v.segments))
	for i := range v.segments {
		s := &v.segments[i]
		switch {
		case s.kind == makeVariable || s.kind == makeBlank:
		case s.kind == makeOwn && v.buildsObject(s, checks), v.buildRule(s, checks):
			builds[i] = true
			v.reach(v.build, variablesIn(s.text))
		default:
			v.reach(v.check, variablesIn(s.text))
			v.exports = v.exports || strings.Contains(s.text, "$($") || strings.Contains(s.text, "${$") // any variable
		}
	}
	for _, name := range buildVariables() {
		v.build[name] = true
		v.reach(v.build, v.refs[name])
	}
	for i, s := range v.segments {
		if s.kind == makeBlank || builds[i] || s.kind == makeVariable && v.buildVariable(&s, checks) {
			continue
		}
		parts = append(parts, strings.TrimRight(s.text, " \t\r\n"))
	}
	return parts, v.phony
}

// reach adds names and the variables that their values use to set.
func (v *makeView) reach(set map[string]bool, names []string) {
	for _, name := range names {
		if !set[name] {
			set[name] = true
			v.reach(set, v.refs[name])
		}
	}
}

// buildRule reports whether a rule only builds files of the program, and mentions no check.
func (v *makeView) buildRule(s *makeSegment, checks func(string) bool) bool {
	if !s.makesFile() || slices.ContainsFunc(s.targets, func(t string) bool { return v.phony[t] || checkName(t) }) ||
		hidden(s.text) {
		return false
	}
	return !slices.ContainsFunc(s.recipe, func(line string) bool { return speaks(line, checks) })
}

// buildsObject reports whether an assignment is only of what the compiler is given for objects of the program.
func (v *makeView) buildsObject(s *makeSegment, checks func(string) bool) bool {
	return !slices.ContainsFunc(s.targets, func(target string) bool {
		return !strings.HasSuffix(target, ".o") || strings.ContainsAny(target, "%$") || checkName(target)
	}) && slices.Contains(buildVariables(), s.name) && strings.HasSuffix(s.name, "FLAGS") && s.op != "!=" && !hidden(s.value) && !speaks(s.value, checks)
}

// buildVariable reports whether only the build uses a variable: no part of the check does, and make does not export
// it.
func (v *makeView) buildVariable(s *makeSegment, checks func(string) bool) bool {
	return v.build[s.name] && !v.check[s.name] && !v.exports && s.op != "!=" && !hidden(s.value) &&
		!speaks(s.value, checks) &&
		!slices.Contains(environment(), s.name)
}

// hidden reports whether text calls functions of make that run programs, write files, or produce more text of make.
func hidden(text string) bool {
	return hiddenCall().MatchString(text)
}

var (
	hiddenCall = lazily.Regexp(`\$[({](?:shell|eval|file|call|foreach|guile|value)|\$\$`)
	makeName   = lazily.Regexp(`\$(?:[({]([^ \t:)}($,]*)|(?s:(.)))`) // a variable that a text refers to, or $$
)

// speaks reports whether a line of a recipe mentions a check file, or a name that speaks of checks.
func speaks(line string, checks func(string) bool) bool {
	for _, word := range strings.FieldsFunc(line,
		func(r rune) bool { return strings.ContainsRune(" \t\r\n=<>|;&(){}\"'`@", r) }) {
		if checkName(word) || checks(strings.TrimPrefix(word, "./")) || strings.ContainsAny(word, "*?[") &&
			!strings.HasPrefix(word, "-") {
			return true
		}
	}
	return false
}

// variablesIn returns the names of the variables that text refers to.
func variablesIn(text string) []string {
	var names []string
	for _, m := range makeName().FindAllStringSubmatch(text, -1) {
		names = append(names, m[1]+m[2])
	}
	return names
}
