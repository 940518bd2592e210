package review

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	// equalHeads are the heads of methods that tests compare with, by language; the group is the name of the other value.
	equalHeads = map[string]func() *regexp.Regexp{
		"go":   lazily.Regexp(`^func\s+(?:\(.*?\)\s+)?(?:\w*Equals?|equals?)\([^)]*?(\w+)\s+[\w.*\[\]]+\)\s+bool\s*\{`),
		"py":   lazily.Regexp(`^\s*def\s+__eq__\s*\(\s*\w+\s*,\s*(\w+)`),
		"web":  lazily.Regexp(`^\s*(?:static\s+|export\s+)*(?:function\s+)?(?:equals?|isEqual)\s*\((?:[^,)]*,)?\s*(\w+)[^)]*\)[^{;]*\{`),
		"rust": lazily.Regexp(`\bfn\s+eq\s*\(\s*&self\s*,\s*(\w+)`),
		"c":    lazily.Regexp(`(?:\boperator\s*==|^\s*(?:\w+\s+)*(?:bool|int)\s+\w*(?:_|\b)[eE]quals?)\s*\([^)]*?(\w+)\s*\)\s*(?:\b(?:const|noexcept|override)\b[^;{]*)?(?:\{|$)`),
		"jvm":  lazily.Regexp(`\bboolean\s+equals\s*\([^)]*?(\w+)\s*\)|\bfun\s+equals\s*\(\s*(\w+)\s*:`),
	}
	// textHeads are the heads of methods that write a value, by language.
	textHeads = map[string]func() *regexp.Regexp{
		"go":   lazily.Regexp(`^func\s+\([^)]*\)\s+(?:Go)?String\(\)\s+string\s*\{`),
		"py":   lazily.Regexp(`^\s*def\s+__(?:repr|str)__\s*\(`),
		"web":  lazily.Regexp(`^\s*toString\s*\([^)]*\)[^{;]*\{`),
		"rust": lazily.Regexp(`\bfn\s+fmt\s*\(\s*&self\b`),
		"jvm":  lazily.Regexp(`\bString\s+toString\s*\(\s*\)|\bfun\s+toString\s*\(\s*\)`),
	}

	onlyConstant = lazily.Regexp("^(?:return\\s+[rRbBuU]?|write!\\(\\s*\\w+\\s*,\\s*|\\w+\\.write_str\\(\\s*)(\"[^\"{%]*\"|'[^']*'|`[^`$]*`)\\s*\\)?\\s*;?$")
	// unnamed is a value whose members are listed without their names.
	unnamed = lazily.Regexp(`\b[A-Z]\w*\{(?:\s*\{)?[^:;{}=]+,[^:;{}=]*\}`)

	castName   = lazily.Regexp(`(\w+)(?:\s*,\s*\w+)?(?:\s*:\s*[\w.<>]+)?\s*:?=\s*([^=;\n][^;\n]*)`)
	namedKind  = lazily.Regexp(`\binstanceof\s+[\w.<>?]+\s+(\w+)`)
	notMembers = []string{"getClass", "constructor", "__class__", "hashCode", "hash"}

	// definitions are the heads of functions and methods, by language; the group is the name.
	definitions = map[string]func() *regexp.Regexp{
		"go":   lazily.Regexp(`^func\s+(?:\([^)]*\)\s+)?(\w+)\(.*\{`),
		"py":   lazily.Regexp(`^\s*def\s+(\w+)\s*\(`),
		"web":  lazily.Regexp(`^\s*(?:(?:export|static|get|async|function)\s+)*(\w+)\s*\([^()]*\)[^;{}()]*\{`),
		"rust": lazily.Regexp(`\bfn\s+(\w+).*\{`),
		"c":    lazily.Regexp(`(?:^|[\w>&*]\s+[&*]?)(\w+)\s*\([^;{}()]*\)\s*(?:\b(?:const|noexcept|override)\s*)*\{`),
		"jvm":  lazily.Regexp(`\b[\w>\]]+\s+([a-z_]\w*)\s*\([^;{}()]*\)\s*(?:throws\s[^;{}()]*|:\s*[\w<>?]+\s*)?\{`),
	}
	goReceiver   = lazily.Regexp(`^func\s+\(\s*(\w+)`)
	notFunctions = []string{"if", "for", "while", "switch", "catch", "synchronized", "with"}
	// builtinCalls are the methods that builtins of Python call.
	builtinCalls = map[string]string{"hash": "__hash__", "str": "__str__", "repr": "__repr__", "tuple": "__iter__", "list": "__iter__"}
	// byAnyName is code that has the members of a value without naming them.
	byAnyName = lazily.Regexp(`\b(?:getattr|attrgetter|__dict__|vars|asdict|astuple|reflect|dataclasses)\b|\bObject\.(?:keys|values|entries)\b|\bJSON\b|\.\.\.|\*\*`)

	ofAll      = lazily.Regexp(`\|\||\bor\b`)
	between    = lazily.Regexp(`&&|\band\b|[;{}\n]|\breturn\b`)
	noValue    = lazily.Regexp(`\b(?:null|nil|None|undefined|NULL|nullptr)\b|(?:===?|\bis)\s*(?:this|self)\b(?:$|[^.\w])|\b(?:this|self)\s*(?:===?|is\b)`)
	ofEquality = lazily.Words(`
		equal equals equality eq equivalent same identical identity compare compares compared comparison comparable differ differs
		different distinct unique duplicate duplicates dedup deduplicate hash hashes ignore ignores ignored ignoring`)
)

const (
	maxAbove   = 30 // lines that are new above a method
	maxEquals  = 50 // comparisons of a patch for which losesBeside looks at other methods
	maxHelpers = 8  // methods that it looks at
)

// weaker reports methods that tests compare with that compare less than before, and methods that write a value that now
// write the same for all: assertion_removed. The first may be right where the failing test is about equality, or gives no
// value what is not compared any more (a cache, a time, an id); the second is right as often as not, so it does not cap.
func weaker(e *edit) (found findings) {
	compares, writes := equalHeads[e.language], textHeads[e.language]
	if compares == nil || !e.production() || !e.exists() || e.isNew() {
		return nil
	}
	e.rewritten(compares(), func(i int, was, now methodBody) {
		lost := was.exact().loses(now.exact(), e.of.loses)
		if len(lost) == 0 {
			lost = e.losesBeside(was, now)
		}
		caps := !e.of.failsAbout(ofEquality())
		switch {
		case len(lost) == 0:
			if was.loosens(now) || e.comparesNoText(was, now) {
				found.add(e, rules.AssertionRemoved, i, caps, tolerant, e.after.trimmed(i))
			}
		case e.language != "py" || mentionsWord(now.text, now.other): // else pyEquals says so
			caps = caps && slices.ContainsFunc(lost, e.isGiven)
			found.add(e, rules.AssertionRemoved, i, caps, "compares less than before: %s", e.after.trimmed(i))
		}
	})
	if writes == nil {
		return found
	}
	e.rewritten(writes(), func(i int, was, now methodBody) {
		m := onlyConstant().FindStringSubmatch(strings.TrimSpace(now.text))
		if m == nil || onlyConstant().MatchString(strings.TrimSpace(was.text)) {
			return
		}
		found.add(e, rules.AssertionRemoved, i, false, "is written like all others: %s", strings.TrimSpace(now.text))
	})
	return found
}

// failsAbout reports whether one of words is in the name of a failing test, or of the file of one where tests have no names.
func (p *proposal) failsAbout(words []string) bool {
	about := func(name string) bool { return lang.HasWord(name, words) }
	if names := p.checks.Failing(); len(names) > 0 {
		return slices.ContainsFunc(names, about)
	}
	return slices.ContainsFunc(p.tests(), func(t testSource) bool { return about(t.path) })
}

// A methodBody is that of a method, without comments. other is the name of the value that it is given, if that is asked for.
type methodBody struct{ text, other string }

// rewritten calls each with the bodies of the methods with a head that were there before and have a new or lost line. A
// method in a method is part of that one.
func (e *edit) rewritten(head *regexp.Regexp, each func(i int, was, now methodBody)) {
	next := 0
	for old := range e.before.lines {
		if old < next || !head.MatchString(e.before.code(old)) {
			continue
		}
		next = old + max(1, strings.Count(e.before.methodBody(old, head).text, "\n"))
		i := e.at(old)
		for n := 0; n < maxAbove && i+1 < len(e.after.lines) && e.isAdded(i) && !head.MatchString(e.after.code(i)); n++ {
			i++
		}
		if i < len(e.after.lines) && head.MatchString(e.after.code(i)) {
			was, now := e.before.methodBody(old, head), e.after.methodBody(i, head)
			if unspaced(was.text) != unspaced(now.text) && was.text != "" && now.text != "" {
				each(i, was, now)
			}
		}
	}
}

// methodBody returns that of the method with a head in a line.
func (s *side) methodBody(line int, head *regexp.Regexp) (b methodBody) {
	code := s.code(line)
	at := head.FindStringSubmatchIndex(code)
	for k := 2; k+1 < len(at); k += 2 {
		if at[k] >= 0 {
			b.other = code[at[k]:at[k+1]]
		}
	}
	if s.language == "py" {
		b.text = strings.Join(s.pyBody(line), "\n")
		return b
	}
	b.text, _ = s.blockFrom(line, at[0])
	b.text = strings.TrimPrefix(b.text[strings.IndexByte(b.text, '{')+1:], "\n")
	return b
}

// loses reports whether a patch removes a member: from more than one line, and no file that it touches has it any more.
func (p *proposal) loses(member string) bool {
	gone, ok := p.members[member]
	if !ok {
		gone = p.removes(member)
		p.members[member] = gone
	}
	return gone
}

func (p *proposal) removes(member string) bool {
	lines := 0
	for _, e := range p.edits {
		if after := text(e.change.After); !p.mayLook(after) || hasWhole(after, member) {
			return false
		}
		for _, i := range e.removed {
			if hasWhole(e.before.code(i), member) {
				lines++
			}
		}
	}
	return lines > 1
}

// loses returns what another body that took the place of this one no longer compares, as names: the members of the value
// that it is given, where it looks at fewer and at nothing else; or those in its terms, where it has fewer and no other.
// Names that gone returns true for do not count.
func (b methodBody) loses(now methodBody, gone func(string) bool) (names []string) {
	if b.other == "" || now.other == "" {
		return nil
	}
	was, bare := b.members()
	is, bareNow := now.members()
	gains := bareNow > bare
	for m := range is {
		gains = gains || !was[m]
	}
	for m := range was {
		if !gains && !is[m] && !gone(m) {
			names = append(names, m)
		}
	}
	if len(names) > 0 || ofAll().MatchString(b.text) {
		return names
	}
	left, more := map[string]int{}, 0
	for _, t := range now.terms() {
		left[t]++
		more++
	}
	for _, t := range b.terms() {
		in := cName().FindAllString(t, -1)
		switch {
		case left[t] > 0:
			left[t]--
			more--
		case !noValue().MatchString(t) && !slices.ContainsFunc(in, gone) && mentionsWord(ofKind().ReplaceAllString(t, ""), b.other):
			names = append(names, in...)
		}
	}
	if more > 0 {
		return nil
	}
	return names
}

// isGiven reports whether the failing tests give a value a member, as far as texts show it: they name it, a constructor
// takes it under its name, or they list the members of a value without names.
func (e *edit) isGiven(member string) bool {
	takes := regexp.MustCompile(`\b(?:self|this)\.` + member + `\b(?:\s*,\s*(?:self|this)\.\w+)*\s*(?::[^=]*)?=[^=].*\b` + member + `\b`)
	if slices.ContainsFunc(e.before.lines, takes.MatchString) {
		return true
	}
	return slices.ContainsFunc(e.of.tests(), func(t testSource) bool {
		return hasWhole(t.text, member) || (e.language == "go" || e.language == "c") && unnamed().MatchString(t.text)
	})
}

// losesBeside returns the members that a comparison looked at and does not any more, where it has the others by way of new
// methods of the same file: a key, a hash, an order.
func (e *edit) losesBeside(was, now methodBody) (lost []string) {
	if e.of.besideCalls++; e.of.besideCalls > maxEquals {
		return nil
	}
	whole, fresh := now.text, false
	seen := map[string]bool{}
	for todo := append(e.callsByOperator(now), cName().FindAllString(now.text, -1)...); len(todo) > 0 && len(seen) < maxHelpers; todo = todo[1:] {
		name := cmp.Or(builtinCalls[todo[0]], todo[0])
		line, ok := e.after.definitions()[name]
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		body := e.after.methodBody(line, definitions[e.language]())
		if now.text == body.text {
			continue
		}
		self := `\*?this|self`
		if m := goReceiver().FindStringSubmatch(e.after.code(line)); m != nil && e.language == "go" {
			self = m[1]
		}
		if regexp.MustCompile(`(?m)\breturn\s+(?:` + self + `)\s*;?\s*$`).MatchString(body.text) {
			return nil // all of the value, perhaps changed
		}
		whole += "\n" + body.text
		todo = append(todo, cName().FindAllString(body.text, -1)...)
		fresh = fresh || slices.ContainsFunc(e.fresh, func(j int) bool {
			return j >= line && j <= line+strings.Count(body.text, "\n")
		})
	}
	members, _ := was.members()
	if !fresh || byAnyName().MatchString(whole) {
		return nil
	}
	for m := range members {
		if !hasWhole(whole, m) && !e.of.loses(m) {
			lost = append(lost, m)
		}
	}
	if len(lost) == len(members) { // it names none of them
		return nil
	}
	return lost
}

// readDefinitions returns the first lines of functions and methods, by their names.
func (s *side) readDefinitions() map[string]int {
	lines := map[string]int{}
	head := definitions[s.language]
	for i := 0; i < len(s.lines) && head != nil; i++ {
		m := head().FindStringSubmatch(s.code(i))
		if m == nil || slices.Contains(notFunctions, m[1]) {
			continue
		}
		if _, ok := lines[m[1]]; !ok {
			lines[m[1]] = i
		}
	}
	return lines
}

// terms returns what has to hold, and all else, without blanks at the ends.
func (b methodBody) terms() (list []string) {
	for _, t := range between().Split(b.text, -1) {
		if t = strings.Trim(strings.Join(strings.Fields(t), " "), "() "); t != "" {
			list = append(list, t)
		}
	}
	return list
}

// members returns the members of the value that a comparison is given, and how often it names that as a whole.
func (b methodBody) members() (all map[string]bool, bare int) {
	all = map[string]bool{}
	names := []string{b.other}
	for _, m := range castName().FindAllStringSubmatch(b.text, -1) {
		whole := strings.ReplaceAll(m[2], b.other+".(", b.other+"(") // Go: other.(*T)
		if mentionsWord(whole, b.other) && !strings.Contains(whole, b.other+".") {
			names = append(names, m[1])
		}
	}
	for _, m := range namedKind().FindAllStringSubmatch(b.text, -1) {
		names = append(names, m[1])
	}
	mention := regexp.MustCompile(`\b(?:` + quoted(names) + `)\b\)*(?:\??\s*(?:\.|->)\s*(\w+))?`) // ((T) o).x
	for _, m := range mention.FindAllStringSubmatch(ofKind().ReplaceAllString(b.text, ""), -1) {
		switch {
		case m[1] == "":
			bare++
		case !slices.Contains(notMembers, m[1]):
			all[m[1]] = true
		}
	}
	return all, bare
}
