package lang

// Which bytes of a source are code, which stand in strings, and which in comments. Approximate, and linear in the text.

import "strings"

const (
	InCode byte = iota
	InString
	InComment
)

// A syntax is what a language's comments and strings look like.
type syntax struct {
	line   []string // begins a comment to the end of the line
	blank  bool     // … only at the beginning of a line or after a blank
	block  bool     // /* */
	quotes string   // strings that end with their line
	long   string   // strings that go over lines
	triple bool     // """ and '''
	regexp bool     // /…/
	bare   string   // quotes without a backslash escape
}

var syntaxes = map[string]syntax{
	"go":      {line: []string{"//"}, block: true, quotes: `"'`, long: "`", bare: "`"},
	"web":     {line: []string{"//"}, block: true, quotes: `"'`, long: "`", regexp: true},
	"py":      {line: []string{"#"}, quotes: `"'`, triple: true},
	"c":       {line: []string{"//"}, block: true, quotes: `"'`},
	"jvm":     {line: []string{"//"}, block: true, quotes: `"'`, triple: true},
	"php":     {line: []string{"//", "#"}, block: true, quotes: `"'`},
	"rust":    {line: []string{"//"}, block: true, long: `"`},
	"ruby":    {line: []string{"#"}, blank: true, quotes: `"'`},
	"shell":   {line: []string{"#"}, blank: true, quotes: `"'`, bare: "'"},
	"make":    {line: []string{"#"}, blank: true},
	"docker":  {line: []string{"#"}, blank: true},
	"yaml":    {line: []string{"#"}, blank: true},
	"toml":    {line: []string{"#"}, quotes: `"'`},
	"ini":     {line: []string{"#", ";"}, blank: true},
	"hcl":     {line: []string{"#", "//"}, block: true, quotes: `"`},
	"gomod":   {line: []string{"//"}},
	"hash":    {line: []string{"#"}, quotes: `"'`},
	"dash":    {line: []string{"--"}, quotes: `"'`},
	"lisp":    {line: []string{";"}, quotes: `"`},
	"percent": {line: []string{"%"}, quotes: `"'`},
}

// mark gives the kind of every byte of src. Quotes of a string belong to it.
func Mark(lang, src string) []byte {
	kinds := make([]byte, len(src))
	syn, ok := syntaxes[lang]
	if !ok {
		return kinds
	}
	m := marker{src: src, kinds: kinds, syntax: syn, lang: lang}
	for m.at < len(src) {
		m.step()
	}
	return kinds
}

type marker struct {
	src   string
	kinds []byte
	at    int
	syntax
	lang   string
	depths []int // JavaScript: braces open in each ${ of a template
}

// to marks up to end.
func (m *marker) to(end int, kind byte) {
	for end = min(end, len(m.src)); m.at < end; m.at++ {
		m.kinds[m.at] = kind
	}
}

func (m *marker) step() {
	rest, c := m.src[m.at:], m.src[m.at]
	switch {
	case m.block && strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			end = len(rest)
		}
		m.to(m.at+end+4, InComment)
	case m.comment(rest):
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		m.to(m.at+end, InComment)
	case m.triple && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
		end := strings.Index(rest[3:], rest[:3])
		if end < 0 {
			end = len(rest)
		}
		m.to(m.at+end+6, InString)
	case m.lang == "rust" && c == 'r' && m.raw(rest):
	case m.lang == "rust" && c == '\'':
		m.letter(rest)
	case m.lang == "web" && c == '`':
		m.template(1)
	case m.lang == "web" && len(m.depths) > 0 && (c == '{' || c == '}'):
		m.brace(c)
	case m.regexp && c == '/' && m.regexpHere():
		m.pattern()
	case strings.IndexByte(m.long, c) >= 0:
		m.quoted(c, true)
	case strings.IndexByte(m.quotes, c) >= 0:
		m.quoted(c, false)
	case c == '\\' && m.lang == "shell":
		m.at = min(m.at+2, len(m.src))
	default:
		m.at++
	}
}

func (m *marker) comment(rest string) bool {
	for _, start := range m.line {
		if strings.HasPrefix(rest, start) {
			return !m.blank || m.at == 0 || strings.IndexByte(" \t\n;(", m.src[m.at-1]) >= 0
		}
	}
	return false
}

// quoted goes over a string; one that does not go over lines ends with its own.
func (m *marker) quoted(q byte, long bool) {
	i := m.at + 1
	for ; i < len(m.src); i++ {
		switch c := m.src[i]; {
		case c == q:
			m.to(i+1, InString)
			return
		case c == '\\' && strings.IndexByte(m.bare, q) < 0:
			i++
		case c == '\n' && !long:
			m.to(i, InString)
			return
		}
	}
	m.to(i, InString)
}

// raw is Rust's r"…" and r#"…"#.
func (m *marker) raw(rest string) bool {
	if m.at > 0 && (IsWord(m.src[m.at-1]) && m.src[m.at-1] != 'b') {
		return false
	}
	n := 1
	for n < len(rest) && rest[n] == '#' {
		n++
	}
	if n >= len(rest) || rest[n] != '"' {
		return false
	}
	end := strings.Index(rest[n+1:], `"`+strings.Repeat("#", n-1))
	if end < 0 {
		end = len(rest)
	}
	m.to(m.at+n+1+end+n, InString)
	return true
}

// letter is Rust's 'x'; 'x without a second quote is a lifetime.
func (m *marker) letter(rest string) {
	for i := 1; i < len(rest) && i < 12 && rest[i] != '\n'; i++ {
		if rest[i] == '\\' {
			i++
			continue
		}
		if rest[i] == '\'' && i > 1 {
			m.to(m.at+i+1, InString)
			return
		}
		if IsWord(rest[i]) && i > 1 && rest[1] != '\\' {
			break // a lifetime's name goes on
		}
	}
	m.at++
}

func IsWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// template goes over a template literal from a place in it (skip bytes on) to its end or to the next ${.
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

// regexpHere says whether a slash begins a regular expression: a value cannot stand before it.
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

func (m *marker) pattern() {
	class := false
	for i := m.at + 1; i < len(m.src) && m.src[i] != '\n'; i++ {
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
