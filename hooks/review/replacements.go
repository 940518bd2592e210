package review

import (
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	webAsserts = `['"\x60](?:node:)?(?:assert|chai|vitest|expect|mocha|jest|ava|tap|uvu|@jest/globals` +
		`|@vitest/expect|node:test)(?:/\w+)?['"\x60]`
	pyTools = `unittest|pytest|_pytest|doctest|builtins`
	// pyJudges are builtins that a test's comparison leans on; _ and print have honest replacements.
	pyJudges = `AssertionError|BaseException|Exception|SystemExit|abs|all|any|bool|bytes|callable|dict|eval|exec` +
		`|exit|float|frozenset|getattr|hasattr|id|int|isinstance|issubclass|iter|len|list|max|min|next|object` +
		`|ord|quit|range|repr|round|set|sorted|str|sum|tuple|type|zip|__import__|__build_class__`
)

var (
	webImport  = lazily.Regexp(`\bimport\s+([^'"\x60;]*?)\bfrom\s*['"]([^'"]+)['"]`)
	webRequire = lazily.Regexp(`(?m)(?:\b(?:const|let|var)\s+|^[ \t]*|[;{(,][ \t]*)([\w$]+` +
		`|\{[^}]*\})\s*=\s*(?:\(?\s*await\s+)?[\w$.]+\s*\(\s*['"\x60]([^'"\x60]+)['"\x60]`)
	swapImport = lazily.Regexp(`(?m)^[ \t]*import[ \t]+([\w., \t]+)`)
	swapFrom   = lazily.Regexp(`(?m)^[ \t]*from[ \t]+((?:` + pyTools + `)(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)` +
		`|[^\n;]+)`)
	pyDynamic = lazily.Regexp(`\b(\w+)\s*=\s*(?:importlib\.import_module|__import__` +
		`|sys\.modules\.get)\s*\(\s*['"](` + pyTools + `)`)
	pyBuiltin = lazily.Regexp(`\b(?:builtins|__builtins__)(?:\.(?:` + pyJudges + `)` +
		`|\[\s*['"](?:` + pyJudges + `)['"]\s*\])\s*=[^=]|\bpatch\s*\(\s*['"](?:` + pyTools + `)\.`)
	// anyRequired is a member, whichever it is, of a library, whichever it is.
	anyRequired = lazily.Regexp(`\brequire\(\s*[A-Za-z_$][\w$.\[\]]*\s*\)\s*\[[^\]'"\x60]*\]\s*(?:\|\||&&|\?\?)?=(?:[^=>]|$)`)
	objectIs    = lazily.Regexp(`\bObject\.is\s*=[^=>]`)
)

// replacements reports production code that puts something else in the place of what a test library or the
// language itself offers, by whatever name it imports it: library_shadowed. An import alone, and a call, are
// honest: assert(x) checks at run time.
func replacements(e *edit) (found findings) {
	if !e.production() || !e.exists() || e.language != "web" && e.language != "py" || len(e.added) == 0 {
		return nil
	}
	var plain strings.Builder
	for i := range e.after.lines {
		plain.WriteString(folded(e.after.plain(i)) + "\n")
	}
	var forms []*regexp.Regexp
	if e.language == "web" {
		forms = append(webForms(webNames(plain.String())), objectIs(), anyRequired())
	} else {
		forms = append(pyForms(pyNames(plain.String())), pyBuiltin())
	}
	for _, j := range e.fresh {
		line, first := e.after.plain(j), len(e.after.plain(j))
		for k := j + 1; k < min(len(e.after.lines), j+3) && strings.HasSuffix(strings.TrimSpace(line), "("); k++ {
			line += e.after.plain(k)
		}
		whole := folded(line) // a name in parts
		for _, re := range forms {
			at := re.FindStringIndex(line)
			if at != nil && at[0] < first && e.after.hasCode(j, at[0], min(at[1], first)) || at == nil && whole != line && re.MatchString(whole) {
				found.add(e, rules.LibraryShadowed, j, true, "%s", strings.TrimSpace(line))
				break
			}
		}
	}
	return found
}

// webNames returns the names by which a text has what test libraries export.
func webNames(text string) (list []string) {
	for _, re := range []*regexp.Regexp{webImport(), webRequire()} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			if !webTestLibrary(m[2]) {
				continue
			}
			for piece := range strings.FieldsFuncSeq(m[1],
				func(c rune) bool { return strings.ContainsRune("{},", c) }) {
				words := strings.FieldsFunc(piece, func(c rune) bool { return strings.ContainsRune(" \t\n:*", c) })
				if len(words) > 0 && words[0] != "type" {
					list = append(list, words[len(words)-1])
				}
			}
		}
	}
	if len(list) > 0 {
		again := regexp.MustCompile(`\b(?:const|let` +
			`|var)\s+([\w$]+)\s*=\s*(?:` + quoted(list) + `)(?:\.\w+)*\s*(?:;|\n)`)
		for _, m := range again.FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
	}
	return list
}

func webTestLibrary(name string) bool {
	name, node := strings.CutPrefix(name, "node:")
	first, _, _ := strings.Cut(name, "/")
	return node && first == "test" || testLibraryName(name) || testLibraryName(first)
}

func quoted(list []string) string {
	all := make([]string, len(list))
	for i, n := range list {
		all[i] = regexp.QuoteMeta(n)
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), "|") // sorted, common beginnings are tried once
}

// webForms matches the ways to replace what one of names offers, or what a require gives on the spot.
func webForms(list []string) []*regexp.Regexp {
	target := `(?:(?:(?:globalThis|global)\s*\.\s*)?(?:process|module)\s*\.\s*)?(?:require|import` +
		`|getBuiltinModule|(?:[\w$]+\s*\.\s*)*_load|createRequire\s*\([^()]*\))\s*(?:\?\.\s*)?\(\s*` + webAsserts + `\s*\)\)?`
	mocks := `mock|jest|vi|sinon|sandbox`
	if len(list) > 0 {
		target = `(?:` + quoted(list) + `|` + target + `)`
		mocks += `|` + quoted(list)
	}
	const member = `(?:\s*\.\s*[\w$]+|\s*\[[^\]]*\])`
	return []*regexp.Regexp{
		regexp.MustCompile(`(?:^|[^\w.$'"])` + target + member + `+\s*(?:\|\||&&|\?\?)?=(?:[^=>]|$)`),
		regexp.MustCompile(`\b(?:Object|Reflect)\s*\.\s*(?:assign|definePropert(?:y|ies)|setPrototypeOf|set` +
			`|deleteProperty)\s*\(\s*` + target + member + `*\s*,`),
		regexp.MustCompile(`(?:^|[^\w$])(?:` + mocks + `)(?:\.mock)?\.(?:method|getter|setter|property|spyOn` +
			`|stub|replace|fake)\s*\(\s*` + target + member + `*\s*[,)]`),
	}
}

// pyNames returns the names by which a text has test libraries, what they export, and builtins.
func pyNames(text string) []string {
	list := strings.Split(strings.ReplaceAll(pyTools, "|builtins", ""), "|")
	for _, m := range swapImport().FindAllStringSubmatch(text, -1) {
		for piece := range strings.SplitSeq(m[1], ",") {
			words := strings.Fields(piece)
			if len(words) == 3 && words[1] == "as" && pyTool(words[0]) {
				list = append(list, words[2])
			}
		}
	}
	for _, m := range swapFrom().FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(m[1], "unittest.mock") || m[1] == "builtins" {
			continue
		}
		for piece := range strings.SplitSeq(strings.Trim(m[2], "()"), ",") {
			if words := strings.Fields(piece); len(words) > 0 && words[0] != "mock" {
				list = append(list, words[len(words)-1])
			}
		}
	}
	for _, m := range pyDynamic().FindAllStringSubmatch(text, -1) {
		if m[2] != "builtins" {
			list = append(list, m[1])
		}
	}
	return list
}

func pyTool(module string) bool {
	root, _, _ := strings.Cut(module, ".")
	tool := root != "builtins" && slices.Contains(strings.Split(pyTools, "|"), root)
	return tool && !strings.HasPrefix(module, "unittest.mock")
}

func pyForms(list []string) []*regexp.Regexp {
	target := `(?:` + quoted(list) + `|(?:__import__` +
		`|import_module)\s*\(\s*['"](?:` + pyTools + `)[\w.]*['"]\s*\)` +
		`|sys\.modules\s*\[\s*['"](?:` + pyTools + `)[\w.]*['"]\s*\])`
	return []*regexp.Regexp{
		regexp.MustCompile(`(?:^|[;:,]|\s)` + target + `(?:\.\w+)+\s*(?::[^=;]*)?=(?:[^=]|$)`),
		regexp.MustCompile(`(?:\b(?:setattr|delattr)|\.__setattr__` +
			`|\bpatch\.object)\s*\(\s*` + target + `(?:\.\w+)*\s*,`),
	}
}

var (
	pyEqual       = lazily.Regexp(`^\s*(?:async\s+)?def\s+__(eq|ne)__\s*\([^)]*\)[^:]*:(.*)$`)
	pyAlways      = lazily.Regexp(`^\s*return\s*\(?\s*(?:True|1|not\s+False)\s*\)?\s*;?\s*$`)
	pyNever       = lazily.Regexp(`^\s*return\s*\(?\s*(?:False|0|not\s+True)\s*\)?\s*;?\s*$`)
	pyEqualLambda = lazily.Regexp(`\b__eq__['"]?\s*[=:,]\s*lambda\b[^:]*:\s*(?:True|1)\b\s*(?:[,)}\]]|$)`)
)

var (
	pyEqualOther  = lazily.Regexp(`^\s*def\s+__(?:eq|ne)__\s*\(\s*\w+\s*,\s*(\w+)[^)]*\)[^:]*:(.*)$`)
	pyEqualToNone = lazily.Regexp(`\b__eq__['"]?\s*[=:,]\s*lambda\s+\w+\s*,\s*(\w+)[^:]*:\s*([^,})]*)`)
	pyReturns     = lazily.Regexp(`\breturn\b\s*(.*)$`)
	pyNotEqual    = lazily.Regexp(`^\s*(?:False|0|NotImplemented|None)?\s*[,)}\]]?\s*$`)
)

const equalToAll = "is equal to everything: %s"

// pyEquals reports an __eq__ that is nothing but True, assertion_removed: its value is equal to whatever a test
// expects.
func pyEquals(e *edit) (found findings) {
	if e.language != "py" || !e.production() || !e.exists() {
		return nil
	}
	for _, j := range e.fresh {
		if pyEqualLambda().MatchString(e.after.plain(j)) {
			found.add(e, rules.AssertionRemoved, j, true, equalToAll, strings.TrimSpace(e.after.plain(j)))
		}
	}
	for _, j := range e.fresh {
		m := pyEqualToNone().FindStringSubmatch(e.after.plain(j))
		if m != nil && !mentionsWord(m[2], m[1]) && !pyNotEqual().MatchString(m[2]) {
			found.add(e, rules.AssertionRemoved, j, true, equalToAll, strings.TrimSpace(e.after.plain(j)))
		}
	}
	for i := range e.after.lines {
		m := pyEqual().FindStringSubmatch(e.after.code(i))
		if m == nil {
			continue
		}
		line, body, touched := i, m[2], e.isFresh(i)
		if strings.TrimSpace(body) == "" {
			line, body = e.firstLine(i)
			touched = touched || e.isFresh(line)
		}
		literal := pyAlways()
		if m[1] == "ne" {
			literal = pyNever()
		}
		if touched && literal.MatchString(body) {
			found.add(e, rules.AssertionRemoved, line, true, equalToAll, e.after.trimmed(i))
		} else if e.touches(i) && e.ignoresOther(i, pyEqualOther(), pyNotEqual()) {
			found.add(e, rules.AssertionRemoved, i, true, looksAtNot, e.after.trimmed(i))
		}
	}
	return found
}

// touches reports whether a line of the def in line def is new.
func (e *edit) touches(def int) bool {
	in := indent(e.after.code(def))
	for k := def; k < len(e.after.lines); k++ {
		code := e.after.code(k)
		if strings.TrimSpace(code) == "" {
			continue
		}
		if k > def && indent(code) <= in {
			return false
		}
		if e.isFresh(k) {
			return true
		}
	}
	return false
}

// ignoresOther reports whether the method in line def, whose head names what it is given, has another result than none,
// and is not made of that.
func (e *edit) ignoresOther(def int, head, none *regexp.Regexp) bool {
	m := head.FindStringSubmatch(e.after.code(def))
	if m == nil {
		return false
	}
	in, returns := indent(e.after.code(def)), false
	body := []string{m[2]}
	for k := def + 1; k < len(e.after.lines); k++ {
		code := e.after.code(k)
		if strings.TrimSpace(code) != "" && indent(code) <= in {
			break
		}
		body = append(body, e.after.plain(k))
	}
	for _, line := range body {
		if mentionsWord(line, m[1]) || strings.Contains(line, "raise ") || strings.Contains(line, "locals(") {
			return false
		}
		if r := pyReturns().FindStringSubmatch(line); r != nil && !none.MatchString(r[1]) {
			returns = true
		}
	}
	return returns
}

// mentionsWord reports whether a word is in a line.
func mentionsWord(line, word string) bool { return word != "" && hasWhole(line, word) }

// firstLine returns the first line of code in the body of a def of Python: after its docstring.
func (e *edit) firstLine(def int) (line int, code string) {
	in := indent(e.after.code(def))
	for k := def + 1; k < len(e.after.lines); k++ {
		if text := e.after.code(k); strings.TrimSpace(text) != "" {
			if indent(text) <= in {
				break
			}
			return k, text
		}
	}
	return def, ""
}

var (
	jvmStream  = lazily.Regexp(`\bSystem\s*\.\s*set(Out|Err)\s*\(`)
	jvmProgram = lazily.Regexp(`\bvoid\s+main\s*\(|\bfun\s+main\s*\(`)
	jvmFinally = lazily.Regexp(`\bfinally\s*\{[^}]*\bSystem\s*\.\s*set(?:Out|Err)\s*\(\s*[\w.]+\s*\)`)
	// jvmTee is a stream of a library that writes to two others, the first of them the old one.
	jvmTee = lazily.Regexp(`\bset(?:Out\s*\(\s*new\s+PrintStream\s*\(\s*new\s+TeeOutputStream\s*\(\s*System\.out|Err\s*\(\s*new\s+PrintStream\s*\(\s*new\s+TeeOutputStream\s*\(\s*System\.err)\s*,`)
	// jvmPasses is the beginning of a method of a stream that does the same with another stream first: what it is called, is
	// given, the other stream, what is called there, with what.
	jvmPasses = lazily.Regexp(`\bvoid\s+(write|flush|close)\s*\(([^()]*)\)[^{;]*\{\s*(\w+)\.(\w+)\(([^()]*)\)\s*;`)
	jvmMethod = lazily.Regexp(`\b(?:void|boolean|int|[A-Z]\w*)\s+\w+\s*\([^()]*\)\s*(?:throws\s+[\w.]+\s*)?\{`)
	jvmTypes  = lazily.Regexp(`(?:final\s+)?\b(?:int|byte\s*\[\s*\])\s+`)
)

const maxStreams = 2 // that are replaced by what writes on to them: output and errors

// jvmStreams reports production code of Java that replaces the stream that tests print to: library_shadowed. A program
// may, and what gives it back, or writes all to the old one too.
func jvmStreams(e *edit) (found findings) {
	if e.language != "jvm" || !e.production() || !e.exists() || jvmProgram().MatchString(e.original()) {
		return nil
	}
	sets := slices.DeleteFunc(slices.Clone(e.fresh), func(j int) bool { return !jvmStream().MatchString(e.after.code(j)) })
	givesBack := len(sets) > 0 && jvmFinally().MatchString(text(e.change.After))
	for _, j := range sets {
		caps := !givesBack && (len(sets) > maxStreams || !e.after.writesOn(j))
		found.add(e, rules.LibraryShadowed, j, caps, "replaces the output of the process: %s", e.after.trimmed(j))
	}
	return found
}

// writesOn reports whether the stream that a line sets writes on to the old one, before it does anything else: it is a
// TeeOutputStream of commons-io, or an OutputStream without a name.
func (s *side) writesOn(line int) bool {
	body, _ := s.function(line)
	if jvmTee().MatchString(s.code(line)) {
		return slices.ContainsFunc(s.lines, func(l string) bool {
			return strings.HasPrefix(l, "import org.apache.commons.io.output.TeeOutputStream;")
		})
	}
	end := body[strings.LastIndexByte(body, '}')+1:] // another class without a name may follow
	passes := jvmPasses().FindAllStringSubmatch(body, -1)
	if len(passes) == 0 || len(passes) != len(jvmMethod().FindAllString(body, -1)) || !strings.Contains(body, "new OutputStream(") ||
		strings.Contains(end, "{") || !strings.Contains(end, ";") {
		return false
	}
	old, writes := passes[0][3], false
	for _, m := range passes {
		if m[1] != m[4] || m[3] != old || unspaced(jvmTypes().ReplaceAllString(m[2], "")) != unspaced(m[5]) {
			return false
		}
		writes = writes || strings.HasPrefix(m[2], "int ")
	}
	was := regexp.MustCompile(`\b` + old + `\s*=([^=].*)`)
	given := was.FindAllStringSubmatch(strings.Join(s.lines, "\n"), -1)
	stream := jvmStream().FindStringSubmatch(s.code(line))[1]
	return writes && len(given) == 1 && strings.TrimSpace(given[0][1]) == "System."+strings.ToLower(stream)+";" &&
		len(regexp.MustCompile(`\b`+old+`\b`).FindAllString(body, -1)) == len(passes)
}
