package review

import (
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
)

// A matcher is a rule with its pattern, which is compiled when a file is first compared with it.
type matcher struct {
	*rules.Rule
	once             sync.Once
	re               *regexp.Regexp
	not, given, next *regexp.Regexp // nil where the rule has none
	unless           *regexp.Regexp
	words            []string // every match has one of these; nil where that cannot be told
}

var (
	general  = sync.OnceValue(func() []*matcher { return matchersOf(rules.General()) })
	special  sync.Map // language → []*matcher
	compiled sync.Map // pattern → *regexp.Regexp
)

// matchers returns the rules that files of a language are compared with.
func matchers(language string) []*matcher {
	own, ok := special.Load(language)
	if !ok {
		own, _ = special.LoadOrStore(language, append(matchersOf(rules.For(language).Rules), general()...))
	}
	return own.([]*matcher)
}

func matchersOf(list []rules.Rule) []*matcher {
	all := make([]*matcher, len(list))
	for i := range list {
		all[i] = &matcher{Rule: &list[i]}
	}
	return all
}

// compile returns a pattern, compiled once; nil for "".
func compile(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	re, ok := compiled.Load(pattern)
	if !ok {
		re, _ = compiled.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return re.(*regexp.Regexp)
}

func (m *matcher) prepare() {
	m.once.Do(func() {
		m.re, m.not, m.given, m.next = compile(m.Pattern), compile(m.Not), compile(m.If), compile(m.Next)
		m.unless = compile(m.Unless)
		if tree, err := syntax.Parse(m.Pattern, syntax.Perl); err == nil {
			m.words = literals(tree)
		}
	})
}

// literals returns texts of which every match of a pattern has one; nil where there are none. Looking for them
// first is much quicker than the pattern.
func literals(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals(re.Sub[0])
		}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			list := literals(sub)
			if list == nil {
				return nil
			}
			all = append(all, list...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if list := literals(sub); shortest(list) > shortest(best) {
				best = list
			}
		}
		return best
	}
	return nil
}

func shortest(list []string) int {
	if len(list) == 0 {
		return 0
	}
	return len(slices.MinFunc(list, func(a, b string) int { return len(a) - len(b) }))
}

// foldedKinds are what is found under a name in parts too: "py" + "test".
var foldedKinds = []string{rules.TestDetected, rules.ExitSwallowed, rules.LibraryShadowed}

// find returns the matches in a line of a text.
func (m *matcher) find(s *side, line int) (found []string) {
	text := s.lines[line]
	switch m.On {
	case rules.Code:
		text = s.code(line)
	case rules.Strings, rules.Text:
		text = s.plain(line)
	case rules.Comments:
		text = s.notes(line)
	}
	m.prepare()
	if m.On == rules.Strings && slices.Contains(foldedKinds, m.Kind) {
		if whole := s.folded(line); whole != text && m.re.MatchString(whole) && !m.re.MatchString(text) {
			return []string{strings.TrimSpace(m.re.FindString(whole))} // a name in parts
		}
	}
	if m.words != nil && !containsAny(text, m.words) {
		return nil
	}
	for _, at := range m.re.FindAllStringIndex(text, -1) {
		match := strings.TrimSpace(text[at[0]:at[1]])
		if match == "" || m.On == rules.Strings && !s.hasCode(line, at[0], at[1]) ||
			m.not != nil && m.not.MatchString(match) ||
			m.Kind == rules.Secret && !genuine(match) ||
			m.next != nil && !s.goesOn(line, m.next) {
			continue
		}
		found = append(found, match)
	}
	return found
}

// goesOn reports whether the line of code after one that ends in a colon matches next. Another line need not go on.
func (s *side) goesOn(line int, next *regexp.Regexp) bool {
	if !strings.HasSuffix(strings.TrimSpace(s.code(line)), ":") {
		return true
	}
	for k := line + 1; k < len(s.lines); k++ {
		if code := s.code(k); strings.TrimSpace(code) != "" {
			return next.MatchString(code)
		}
	}
	return false
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// same is what two matches of a rule have in common when one took the place of the other: all but blanks; of a
// call, its name; of a limit that is gone, all but its value; and a comment for one checker may become one for
// another.
func (m *matcher) same(match string) string {
	switch {
	case m.Kind == rules.SuppressionAdded:
		return ""
	case m.Kind == rules.NewNetwork || m.Kind == rules.NewProcess:
		return strings.Trim(strings.Join(strings.Fields(match), ""), ";&|({!,= ")
	case m.Gone && m.Kind == rules.ThresholdLoosened:
		return strings.TrimSpace(match[:strings.IndexAny(match+"=", "= :")])
	}
	return strings.Join(strings.Fields(match), " ")
}

// A hit is a match of a rule in a line, counted from 0.
type hit struct {
	line  int
	match string
}

// fresh returns what a rule finds in the new lines of a file and not in its removed ones; the other way round for
// a rule of what is gone. Calls that the file made anywhere before are not new either.
func (m *matcher) fresh(e *edit) (hits []hit) {
	old, now, from, to := e.before, e.after, e.removed, e.added
	if m.Gone {
		old, now, from, to = now, old, to, from
	}
	var wanted []hit
	for _, j := range to {
		for _, match := range m.find(now, j) {
			wanted = append(wanted, hit{j, match})
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	had, calls := map[string]int{}, !m.Gone && (m.Kind == rules.NewNetwork || m.Kind == rules.NewProcess)
	if calls {
		from = old.all()
	}
	for _, i := range from {
		for _, match := range m.find(old, i) {
			had[m.same(match)]++
		}
	}
	for _, h := range wanted {
		key := m.same(h.match)
		switch {
		case had[key] > 0 && calls:
		case had[key] > 0:
			had[key]--
		case !m.Gone && !e.isFresh(h.line):
		default:
			if calls {
				had[key]++
				h.match = key
			}
			hits = append(hits, h)
		}
	}
	return hits
}

// patterns compares a file with the rules that are data.
func patterns(e *edit) (found findings) {
	if len(e.added)+len(e.removed) == 0 {
		return nil
	}
	var inNew func(int) bool
	inPair := sync.OnceValue(func() map[int]bool {
		lines := map[int]bool{}
		for _, p := range e.pairs() {
			lines[p.j] = true
		}
		return lines
	})
	for _, m := range matchers(e.language) {
		if e.places&m.In == 0 || !strings.HasSuffix(e.path, m.File) {
			continue
		}
		if !m.concerns(e) {
			continue
		}
		for _, h := range m.fresh(e) {
			if m.In&(rules.OldTests|rules.Limits) != 0 && !m.Gone {
				if inNew == nil {
					inNew = e.newCases()
				}
				if inNew(h.line) || m.In == rules.Limits && inPair()[h.line] {
					continue
				}
			}
			if m.Kind == rules.TestDetected && !m.Gone && e.asksForLevel(h.line) {
				continue
			}
			line := h.line
			if m.Gone {
				line = e.at(line)
			}
			found.add(e, m.Kind, line, m.Caps, "%s", m.detail(h.match))
		}
	}
	return found
}

// concerns reports whether a rule is for a file, by its text.
func (m *matcher) concerns(e *edit) bool {
	m.prepare()
	if m.given != nil && !m.given.MatchString(text(e.change.After)) || m.unless != nil && m.unless.MatchString(e.original()) {
		return false
	}
	return !m.Once || !slices.ContainsFunc(e.before.all(), func(i int) bool { return len(m.find(e.before, i)) > 0 })
}

// original returns the text before the change, or of a new file the one after it.
func (e *edit) original() string {
	if e.isNew() {
		return text(e.change.After)
	}
	return text(e.change.Before)
}

// detail returns what a reviewer reads of a match.
func (m *matcher) detail(match string) string {
	match = strings.TrimLeft(match, `;&|"'{( `)
	switch {
	case m.Kind == rules.Secret:
		return m.Say
	case m.Say != "":
		return m.Say + ": " + match
	}
	return match
}

// placesOf returns the places that a file is in.
func placesOf(e *edit) rules.Place {
	places := rules.Everywhere
	if e.class == testData {
		return places
	}
	code, check := lang.IsCode(e.language), e.class != none
	script := e.language == "shell" || !code && e.language != "" && e.language != "gomod"
	tool := code && !check && lang.Tooling(e.path)
	for place, in := range map[rules.Place]bool{
		rules.Production:             e.production(),
		rules.Running:                e.production() && !e.cargoScript(),
		rules.Programs:               code && e.language != "shell" && !tool,
		rules.Tests | rules.OldTests: check,
		rules.Scripts:                script,
		rules.CheckScripts:           script && check,
		rules.Commands:               (script || tool || code && e.class == loadedFile) && (check || !e.isNew()),
		rules.Changed:                e.language != "" && (check || !e.isNew()),
		rules.Limits:                 e.limiting() && e.exists() && !e.isNew(),
		rules.Builds:                 !check && rules.BuildFile(e.path),
		rules.Sources:                e.language != "",
	} {
		if in {
			places |= place
		}
	}
	return places
}

// cargoScript reports whether the file is the build script of a crate that was there before. Cargo sets variables for it
// whoever builds.
func (e *edit) cargoScript() bool {
	return path.Base(e.path) == "build.rs" && e.of.checks.Has(path.Join(path.Dir(e.path), "Cargo.toml"))
}

// limiting reports whether limits in the file are those of a check, not what a program itself waits for.
func (e *edit) limiting() bool {
	if e.class != none {
		return e.class != testData
	}
	return !lang.IsCode(e.language) && e.language != "" && e.language != "gomod" || lang.Tooling(e.path)
}
