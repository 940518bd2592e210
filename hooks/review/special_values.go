package review

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	leastCommas = 2 // of a printed list without brackets
	leastListed = 3 // letters and digits of a printed list with one value
)

var (
	// printsValue is code that makes text of a value of any type, as a person reads it.
	printsValue = lazily.Regexp(`\brepr\(|\bJSON\.stringify\(|\butil\.inspect\(|\bfmt\.Sprint(?:ln)?\(|\bDumper\(|\bjson\.dumps\(`)
	// example matches the words that only examples have.
	example = lazily.Regexp(`(?i)(?:^|[^a-z])(foo|foobar|foobaz|baz|qux|quux|lorem|ipsum|asdf|xyzzy)(?:[^a-z]|$)`)

	onlyReturn  = lazily.Regexp(`^return\s*\(?\s*`)
	trivial     = lazily.Regexp(`^(?:[-+]?[012](?:\.0*)?|true|false|True|False|null|nil|None|undefined|NULL|["'` + "`" + `].?["'` + "`" + `])$`)
	oneLiteral  = lazily.Regexp(`^(?:[-+]?\d[\d_]*(?:\.\d+)?|[bruBRU]?"[^"]*"|[bruBRU]?'[^']*'|` + "`[^`$]*`" + `)$`)
	takesItself = lazily.Regexp(`^\s*(?:async\s+)?def\s+\w+\(\s*(?:self|cls)\s*\)`)
	takes       = lazily.Regexp(`(?:^\s*(?:async\s+)?def\s+\w+\((?:\s*self\s*,|\s*cls\s*,)?\s*\w|^func\s.*\w+\(\s*\w+[ ,]` +
		`|\bfunction\b\s*\w*\s*\(\s*[\w{\[]|\(\s*[\w{\[][^()]*\)\s*=>\s*\{|^\w[\w\s*&:<>,]*\b\w+\(\s*\w+[\s*&]+\w+)`)
)

// isExample reports whether a literal has a word that only examples have, where the failing test has it too.
func (p *proposal) isExample(value string) bool {
	m := example().FindStringSubmatch(value)
	return m != nil && p.inTest(m[1:2]) && !p.inProduction(value)
}

// inProduction reports whether the code before had a text.
func (p *proposal) inProduction(value string) bool {
	return slices.ContainsFunc(p.production(), func(s source) bool { return p.mayLook(s.text) && strings.Contains(s.text, value) })
}

// isPrintedList reports whether a literal is what a list looks like when it is printed that a failing test writes as
// code: "1,2,3" or "['a-b']", where the test has [1, 2, 3] and ["a-b"].
func (p *proposal) isPrintedList(value string) bool {
	value = unquotedList(value)
	commas, words := strings.Count(value, ","), 0
	for i := range len(value) {
		if lang.IsWord(value[i]) {
			words++
		}
	}
	bracketed := value != "" && strings.IndexByte("[{", value[0]) >= 0 && strings.IndexByte("]}", value[len(value)-1]) >= 0
	if words == 0 || commas < leastCommas && (!bracketed || commas == 0 && words < leastListed) {
		return false
	}
	for _, t := range p.tests() {
		if p.mayLook(t.text) && t.lists().has(value) {
			return !p.inProduction(value)
		}
	}
	return false
}

// unquotedList returns a text without blanks and quotes.
func unquotedList(text string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \t\n\"'`\\", c) {
			return -1
		}
		return c
	}, text)
}

// A listText is the text of a test without blanks and quotes, and what of it is code.
type listText struct {
	text string
	kind []byte
}

func newListText(language, src string) (l listText) {
	var b strings.Builder
	kinds := lang.Mark(language, src)
	for i := range len(src) {
		if kinds[i] == lang.InComment || strings.IndexByte(" \t\n\"'`\\", src[i]) >= 0 {
			continue
		}
		b.WriteByte(src[i])
		l.kind = append(l.kind, kinds[i])
	}
	l.text = b.String()
	return l
}

// has reports whether a printed list is there: its marks are code, and what is between them is text or a number.
func (l listText) has(list string) bool {
	for from := 0; ; from++ {
		i := strings.Index(l.text[from:], list)
		if i < 0 {
			return false
		}
		from += i
		end := from + len(list)
		if from > 0 && lang.IsWord(l.text[from-1]) && lang.IsWord(list[0]) ||
			end < len(l.text) && lang.IsWord(l.text[end]) && lang.IsWord(l.text[end-1]) {
			continue
		}
		if l.isList(from, end) {
			return true
		}
	}
}

func (l listText) isList(from, end int) bool {
	inNumber := false
	for i := from; i < end; i++ {
		c, code := l.text[i], l.kind[i] == lang.InCode
		switch {
		case strings.IndexByte(",[]{}", c) >= 0:
			if !code {
				return false
			}
			inNumber = false
		case code && c >= '0' && c <= '9':
			inNumber = true
		case code && lang.IsWord(c) && !inNumber:
			return false // a variable
		}
	}
	return true
}

// onlyReturned returns the literal that line j returns, where that is all that is left of a function that is given
// something, and that did more before.
func (e *edit) onlyReturned(j int) string {
	s := e.after
	code := s.trimmed(j)
	if !onlyReturn().MatchString(code) || len(e.removed) == 0 {
		return ""
	}
	value := strings.TrimRight(onlyReturn().ReplaceAllString(code, ""), " ;)")
	head := s.codeLine(j, -1)
	if !oneLiteral().MatchString(value) || trivial().MatchString(value) || head < 0 || e.isAdded(head) ||
		!takes().MatchString(s.code(head)) || takesItself().MatchString(s.code(head)) || indent(s.code(head)) >= indent(s.code(j)) {
		return ""
	}
	if next := s.codeLine(j, 1); next >= 0 && indent(s.code(next)) > indent(s.code(head)) {
		return ""
	}
	return strings.TrimLeft(unquoted(strings.TrimLeft(value, "bruBRU")), "+-")
}
