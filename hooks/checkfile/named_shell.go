package checkfile

// Words of a shell text: enough of a lexer to see which commands it runs, with which words.

import (
	"path"
	"slices"
	"strings"
)

const (
	maxShell    = 1 << 20 // bytes of one text; the rest is not looked at
	maxCommands = 5_000   // of one text
	maxNested   = 16      // substitutions in substitutions
	maxValue    = 4096    // bytes of a word that variables fill
	unknown     = '\x00'  // in a word: what only the shell will know
)

// A simple is one command of a shell text.
type simple struct {
	words []string          // quotes and redirections taken away
	sets  map[string]string // variables set in front of it, or all alone
	in    []string          // files that are its standard input
	out   []string          // files that are its standard output
	asked bool              // its output decides: it stands in $(…), or in front of a pipe into what compares
}

// comparers look at what another command writes.
var comparers = []string{"grep", "egrep", "fgrep", "rg", "diff", "cmp", "comm", "jq", "test", "[", "[["}

// A lexer belongs to one text.
type lexer struct {
	src    string
	i      int
	out    []simple
	vars   map[string]string
	nested int
}

// shellCommands are the commands of src, in the order in which they are read. It never fails: what is no shell text gives
// commands that name nothing.
func shellCommands(src string) []simple {
	if len(src) > maxShell {
		src = src[:maxShell]
	}
	l := &lexer{src: src, vars: map[string]string{}}
	for l.i < len(l.src) && len(l.out) < maxCommands {
		l.list(false)
		l.i++ // a bracket that nothing opened
	}
	for i, c := range l.out {
		if len(c.words) > 0 && slices.Contains(comparers, path.Base(c.words[0])) {
			for j := range l.out[:i] {
				l.out[j].asked = l.out[j].asked || slices.ContainsFunc(l.out[j].out, func(f string) bool { return slices.Contains(c.words, f) || slices.Contains(c.in, f) })
			}
		}
	}
	return l.out
}

// list reads commands up to a closing bracket. asked: they stand in a substitution.
func (l *lexer) list(asked bool) {
	var (
		now  = simple{asked: asked, sets: map[string]string{}}
		docs []string // here-documents that begin after this line
		pipe []int    // commands of this pipeline
	)
	end := func(piped bool) {
		if len(now.words) > 0 || len(now.in) > 0 || len(now.sets) > 0 {
			if len(now.words) == 4 && now.words[0] == "for" && now.words[2] == "in" {
				l.vars[now.words[1]] = now.words[3] // for f in checks/*.sh
			}
			if len(now.words) == 0 {
				for name, value := range now.sets {
					l.vars[name] = value
				}
			}
			compares := len(now.words) > 0 && slices.Contains(comparers, path.Base(now.words[0]))
			for _, i := range pipe {
				l.out[i].asked = l.out[i].asked || compares
			}
			pipe = append(pipe, len(l.out))
			l.out = append(l.out, now)
		}
		if !piped {
			pipe = pipe[:0]
		}
		now = simple{asked: asked, sets: map[string]string{}}
	}
	defer end(false)
	for l.i < len(l.src) && len(l.out) < maxCommands {
		rest := l.src[l.i:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "\\\n"):
			l.i += 2
		case strings.HasPrefix(rest, "\\\r\n"):
			l.i += 3
		case c == ' ' || c == '\t' || c == '\r':
			l.i++
		case c == '\n':
			end(false)
			l.i++
			for _, word := range docs {
				l.skipDocument(word)
			}
			docs = nil
		case c == '#':
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				l.i += n
			} else {
				l.i = len(l.src)
			}
		case c == ';':
			end(false)
			l.i++
		case strings.HasPrefix(rest, "&>"):
			l.i++
		case c == '|' || c == '&':
			n := 1
			if len(rest) > 1 && (rest[1] == c || rest[1] == '&') {
				n = 2
			}
			end(c == '|' && (n == 1 || rest[1] == '&'))
			l.i += n
		case c == ')':
			return
		case c == '(':
			end(false)
			l.inner(asked)
		case strings.HasPrefix(rest, "<(") || strings.HasPrefix(rest, ">("):
			l.i++
			l.inner(true)
			now.words = append(now.words, string(unknown))
		case c == '<' || c == '>' || c >= '0' && c <= '9' && len(rest) > 1 && (rest[1] == '<' || rest[1] == '>'):
			if word := l.redirection(&now); word != "" {
				docs = append(docs, word)
			}
		default:
			at := l.i
			word := l.word()
			name, value, ok := strings.Cut(word, "=")
			if ok && len(now.words) == 0 && variableName(strings.TrimSuffix(name, "+")) && strings.HasPrefix(l.src[at:], name+"=") {
				now.sets[name] = value
			} else {
				now.words = append(now.words, word)
			}
		}
	}
}

// inner reads what stands in round brackets.
func (l *lexer) inner(asked bool) {
	l.i++
	if l.nested++; l.nested <= maxNested {
		l.list(asked)
	} else if n := strings.IndexByte(l.src[l.i:], ')'); n >= 0 {
		l.i += n
	} else {
		l.i = len(l.src)
	}
	l.nested--
	l.i++
}

// redirection reads one; the word that ends a here-document, when it is that.
func (l *lexer) redirection(c *simple) string {
	for l.i < len(l.src) && l.src[l.i] >= '0' && l.src[l.i] <= '9' {
		l.i++
	}
	from := l.i
	for l.i < len(l.src) && strings.IndexByte("<>&|-", l.src[l.i]) >= 0 && l.i-from < 3 {
		l.i++
	}
	op := l.src[from:l.i]
	for l.i < len(l.src) && (l.src[l.i] == ' ' || l.src[l.i] == '\t') {
		l.i++
	}
	word := l.word()
	switch {
	case op == "<<" || op == "<<-":
		return word
	case op == "<":
		c.in = append(c.in, word)
	case strings.HasPrefix(op, ">"):
		c.out = append(c.out, word)
	}
	return ""
}

// skipDocument passes the lines of a here-document.
func (l *lexer) skipDocument(word string) {
	for l.i < len(l.src) {
		line := l.src[l.i:]
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		l.i = min(l.i+len(line)+1, len(l.src))
		if strings.TrimSpace(line) == word {
			return
		}
	}
}

// word reads one word; it always moves on.
func (l *lexer) word() string {
	var b strings.Builder
	from := l.i
	for l.i < len(l.src) {
		switch c := l.src[l.i]; c {
		case ' ', '\t', '\r', '\n', ';', '|', '&', '<', '>', '(', ')':
			if l.i == from {
				l.i++
			}
			return b.String()
		case '\'':
			l.i++
			n := strings.IndexByte(l.src[l.i:], '\'')
			if n < 0 {
				n = len(l.src) - l.i
			}
			b.WriteString(l.src[l.i : l.i+n])
			l.i = min(l.i+n+1, len(l.src))
		case '"':
			l.i++
			l.quoted(&b)
		case '\\':
			if l.i+1 < len(l.src) && l.src[l.i+1] != '\n' {
				b.WriteByte(l.src[l.i+1])
			}
			l.i = min(l.i+2, len(l.src))
		case '$':
			l.dollar(&b)
		case '`':
			if !l.backquoted(&b) {
				return b.String()
			}
		default:
			b.WriteByte(c)
			l.i++
		}
	}
	return b.String()
}

// quoted reads up to the closing double quote.
func (l *lexer) quoted(b *strings.Builder) {
	for l.i < len(l.src) {
		switch c := l.src[l.i]; c {
		case '"':
			l.i++
			return
		case '\\':
			if l.i+1 < len(l.src) {
				if next := l.src[l.i+1]; next != '\n' {
					if strings.IndexByte("\"\\$`", next) < 0 {
						b.WriteByte('\\')
					}
					b.WriteByte(next)
				}
			}
			l.i = min(l.i+2, len(l.src))
		case '$':
			l.dollar(b)
		case '`':
			if !l.backquoted(b) {
				return
			}
		default:
			b.WriteByte(c)
			l.i++
		}
	}
}

// backquoted reads `…`; false when the backquote closes one that is being read.
func (l *lexer) backquoted(b *strings.Builder) bool {
	end := strings.IndexByte(l.src[l.i+1:], '`')
	if end < 0 {
		l.i = len(l.src)
		return false
	}
	l.sub(l.src[l.i+1 : l.i+1+end])
	b.WriteByte(unknown)
	l.i += end + 2
	return true
}

// sub reads a text that stands inside this one.
func (l *lexer) sub(text string) {
	if l.nested >= maxNested {
		return
	}
	in := &lexer{src: text, vars: l.vars, nested: l.nested + 1}
	in.list(true)
	l.out = append(l.out, in.out...)
}

// dollar reads an expansion: a variable that the text itself sets is its value, all else unknown.
func (l *lexer) dollar(b *strings.Builder) {
	rest := l.src[l.i+1:]
	switch {
	case strings.HasPrefix(rest, "(("):
		b.WriteByte(unknown)
		if n := strings.Index(rest, "))"); n >= 0 {
			l.i += n + 3
		} else {
			l.i = len(l.src)
		}
	case strings.HasPrefix(rest, "("):
		l.i++
		l.inner(true)
		b.WriteByte(unknown)
	case strings.HasPrefix(rest, "{"):
		n := strings.IndexByte(rest, '}')
		if n < 0 {
			l.i = len(l.src)
			return
		}
		name, other, _ := strings.Cut(rest[1:n], ":-")
		l.value(b, name, other)
		l.i += n + 2
	case strings.HasPrefix(rest, "'"):
		l.i++
	default:
		n := 0
		for n < len(rest) && (letter(rest[n]) || n > 0 && rest[n] >= '0' && rest[n] <= '9') {
			n++
		}
		if n == 0 && rest != "" && strings.IndexByte("0123456789@*#?$!-", rest[0]) >= 0 {
			n = 1
		}
		if n == 0 {
			b.WriteByte('$')
		} else {
			l.value(b, rest[:n], "")
		}
		l.i += n + 1
	}
}

func (l *lexer) value(b *strings.Builder, name, other string) {
	value, ok := l.vars[name]
	switch {
	case ok && b.Len() < maxValue: // a value that holds itself twice would grow for ever
		b.WriteString(value)
	case other != "":
		b.WriteString(other)
	default:
		b.WriteByte(unknown)
	}
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func variableName(name string) bool {
	for i := range len(name) {
		if !letter(name[i]) && (i == 0 || name[i] < '0' || name[i] > '9') {
			return false
		}
	}
	return name != ""
}
