package lang

import (
	"slices"
	"strings"
)

// Kinds of bytes of a source.
const (
	InCode byte = iota
	InString
	InComment
)

// A Syntax describes the comments and strings of a language.
type Syntax struct {
	Line     []string    // begins a comment to the end of the line
	Blank    bool        // … only at the beginning of a line or after a blank
	Blocks   [][2]string // begin and end of comments over lines; "" is the end of the file
	Quotes   string      // of strings that end with their line
	Long     string      // quotes of strings over lines
	Bare     string      // quotes of strings without a backslash escape
	Triple   bool        // has strings in """ and '''
	Template bool        // has strings in ` with code in ${ }
	Regexp   bool        // has regular expressions in / /
	Escape   bool        // a backslash outside of strings escapes the next byte
}

var slashStar = [][2]string{{"/*", "*/"}}

// Mark returns the kind of every byte of src: InCode, InString or InComment. The quotes of a string belong to it. It
// is approximate, and linear in the text.
func Mark(language, src string) []byte {
	kinds := make([]byte, len(src))
	l := index().name[language]
	if l == nil {
		return kinds
	}
	m := marker{src: src, kinds: kinds, Syntax: l.Syntax}
	for m.at < len(src) {
		m.step()
	}
	return kinds
}

type marker struct {
	src   string
	kinds []byte
	at    int
	Syntax
	depths []int // braces that are open in each ${ of a template
}

// to marks the bytes up to end.
func (m *marker) to(end int, kind byte) {
	for end = min(end, len(m.src)); m.at < end; m.at++ {
		m.kinds[m.at] = kind
	}
}

func (m *marker) step() {
	rest, c := m.src[m.at:], m.src[m.at]
	block := slices.IndexFunc(m.Blocks, func(b [2]string) bool { return strings.HasPrefix(rest, b[0]) })
	switch {
	case block >= 0:
		m.block(rest, m.Blocks[block])
	case m.comment(rest):
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		m.to(m.at+end, InComment)
	case m.Triple && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
		end := strings.Index(rest[3:], rest[:3])
		if end < 0 {
			end = len(rest)
		}
		m.to(m.at+end+6, InString)
	case m.Template && c == '`':
		m.template(1)
	case m.Template && len(m.depths) > 0 && (c == '{' || c == '}'):
		m.brace(c)
	case m.Regexp && c == '/' && m.regexpHere():
		m.pattern()
	case strings.IndexByte(m.Long, c) >= 0:
		m.quoted(c, true)
	case strings.IndexByte(m.Quotes, c) >= 0:
		m.quoted(c, false)
	case c == '\\' && m.Escape:
		m.at = min(m.at+2, len(m.src))
	default:
		m.at++
	}
}

func (m *marker) block(rest string, b [2]string) {
	end := strings.Index(rest[len(b[0]):], b[1])
	if end < 0 || b[1] == "" {
		end = len(rest)
	}
	m.to(m.at+len(b[0])+end+len(b[1]), InComment)
}

// comment reports whether a comment to the end of the line begins here.
func (m *marker) comment(rest string) bool {
	for _, start := range m.Line {
		if strings.HasPrefix(rest, start) {
			return !m.Blank || m.at == 0 || strings.IndexByte(" \t\n;(", m.src[m.at-1]) >= 0
		}
	}
	return false
}

// quoted marks a string. One that may not go over lines ends with its line.
func (m *marker) quoted(q byte, long bool) {
	i := m.at + 1
	for ; i < len(m.src); i++ {
		switch c := m.src[i]; {
		case c == q:
			m.to(i+1, InString)
			return
		case c == '\\' && strings.IndexByte(m.Bare, q) < 0:
			i++
		case c == '\n' && !long:
			m.to(i, InString)
			return
		}
	}
	m.to(i, InString)
}

// IsWord reports whether c may be part of a name.
func IsWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// template marks a template literal from skip bytes on to its end or to its next ${.
func (m *marker) template(skip int) {
	for i := m.at + skip; i < len(m.src); i++ {
		switch {
		case m.src[i] == '\\':
			i++
		case m.src[i] == '`':
			m.to(i+1, InString)
			return
		case m.src[i] == '$' && i+1 < len(m.src) && m.src[i+1] == '{':
			m.to(i+2, InString)
			m.depths = append(m.depths, 0)
			return
		}
	}
	m.to(len(m.src), InString)
}

// brace counts the braces of the code in a template; the one that closes ${ ends the code.
func (m *marker) brace(c byte) {
	top := len(m.depths) - 1
	switch {
	case c == '{':
		m.depths[top]++
		m.at++
	case m.depths[top] > 0:
		m.depths[top]--
		m.at++
	default:
		m.depths = m.depths[:top]
		m.template(1)
	}
}

// regexpHere reports whether a slash begins a regular expression: what precedes it is not a value.
func (m *marker) regexpHere() bool {
	i := m.at - 1
	for i >= 0 && (m.src[i] == ' ' || m.src[i] == '\t') {
		i--
	}
	if i < 0 || strings.IndexByte("(,=:[!&|?{};\n+-*%<>~^", m.src[i]) >= 0 {
		return true
	}
	return strings.HasSuffix(m.src[:i+1], "return") || strings.HasSuffix(m.src[:i+1], "typeof")
}

const maxPattern = 1_000 // bytes of a regular expression

// pattern marks a regular expression.
func (m *marker) pattern() {
	class := false
	for i := m.at + 1; i < min(len(m.src), m.at+maxPattern) && m.src[i] != '\n'; i++ {
		switch c := m.src[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			m.to(i+1, InString)
			return
		}
	}
	m.at++
}
