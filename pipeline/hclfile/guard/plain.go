package guard

import (
	"bytes"
	"strings"
)

// plain reports whether a file is so simple that it cannot hurt the parser. It saves the exact count of tooMuch,
// whose lexer takes half as long as the parser. plain understands line comments, quoted texts with ${…} in them,
// and heredocs without; for anything else, and for anything near a limit, it returns false. Where plain returns
// true tooMuch does not refuse the file: a test checks that.
func plain(src []byte) bool {
	c := scan{src: src}
	return c.file()
}

// A scan is the state of plain. It counts levels as tooMuch does, but rather too many than too few.
type scan struct {
	src     []byte
	at      int
	open    [maxDepth + 8]mark
	top     int // of open
	depth   int
	last    byte // before this one, without spaces; 0 at the beginning
	newline bool // there is one between last and this one
}

// A mark is one open level: its opening byte ($ for a template in a text, 0 for the file), its operators, and the
// pieces of a text.
type mark struct {
	opener byte
	ops    int
	pieces int
}

func (c *scan) file() bool {
	for c.at < len(c.src) {
		if c.depth >= maxDepth-8 || !c.step() {
			return false
		}
	}
	return true
}

// step takes one word or sign. It returns false where plain gives up.
func (c *scan) step() bool {
	b := c.src[c.at]
	switch {
	case b == ' ' || b == '\t':
		c.at++
		return true
	case b == '\n':
		c.newline = true
		c.at++
		return true
	case b == '\r':
		c.at++
		return c.at < len(c.src) && c.src[c.at] == '\n'
	case b == '#' || b == '/' && c.next(1) == '/':
		return c.comment()
	}
	top := &c.open[c.top]
	lines := top.opener == 0 || top.opener == '{' || top.opener == '$'
	if b == ',' || c.newline && lines && !sign(c.last) && !sign(b) {
		c.depth -= top.ops
		top.ops = 0
	}
	c.newline = false
	switch {
	case letter(b):
		for c.at < len(c.src) && (letter(c.src[c.at]) || digit(c.src[c.at]) || c.src[c.at] == '-') {
			c.at++
		}
		b = 'a'
	case digit(b):
		from := c.at
		for c.at < len(c.src) && (letter(c.src[c.at]) || digit(c.src[c.at]) || c.src[c.at] == '.') {
			if c.src[c.at]|0x20 == 'e' {
				return false
			}
			c.at++
		}
		if c.at-from > maxNumber/8 {
			return false
		}
		b = 'a'
	case b == '"':
		c.push('"')
		c.at++
		c.last = b
		return c.quoted()
	case b == '(' || b == '[' || b == '{':
		c.push(b)
		c.at++
	case b == ')' || b == ']' || b == '}':
		return c.closer(b)
	case b == '<' && c.next(1) == '<':
		return c.heredoc()
	case sign(b):
		if b == '/' && c.next(1) == '*' {
			return false
		}
		top.ops++
		c.depth++
		c.at++
	case b == ',' || b == '.':
		c.at++
	default: // also what is not ASCII, and a ~ that may end a template
		return false
	}
	c.last = b
	return true
}

// next is the byte n places ahead, or 0.
func (c *scan) next(n int) byte {
	if c.at+n < len(c.src) {
		return c.src[c.at+n]
	}
	return 0
}

func (c *scan) push(opener byte) {
	c.top++
	c.open[c.top] = mark{opener: opener}
	c.depth++
}

func (c *scan) pop() {
	c.depth -= 1 + c.open[c.top].ops
	c.top--
}

func (c *scan) comment() bool {
	end := bytes.IndexByte(c.src[c.at:], '\n')
	if end < 0 {
		end = len(c.src) - c.at
	}
	if r := bytes.IndexByte(c.src[c.at:c.at+end], '\r'); r >= 0 && r != end-1 {
		return false
	}
	c.at += end
	return true
}

func (c *scan) closer(b byte) bool {
	opener := c.open[c.top].opener
	c.at++
	c.last = b
	switch {
	case b == ')' && opener == '(', b == '}' && opener == '{':
		c.pop()
		return true
	case b == ']' && opener == '[':
		c.pop()
		c.open[c.top].ops++ // a[0][0][0] nests to the left
		c.depth++
		return true
	case b == '}' && opener == '$':
		c.pop()
		return c.quoted()
	}
	return false
}

// quoted continues in a text, to its end or to a template in it.
func (c *scan) quoted() bool {
	pieces := &c.open[c.top].pieces
	*pieces++
	for ; c.at < len(c.src); c.at++ {
		if *pieces > maxPieces-8 {
			return false
		}
		switch b := c.src[c.at]; b {
		case '"':
			c.pop()
			c.at++
			c.last = b
			return true
		case '\\':
			c.at++
			if n := c.next(0); n == 0 || n == '\n' || n == '\r' {
				return false
			}
		case '\n', '\r':
			return false
		case '$', '%':
			*pieces += 2
			switch {
			case c.next(1) == b && c.next(2) == '{':
				c.at += 2
			case c.next(1) == '{' && b == '%', c.next(1) == '{' && c.next(2) == '~':
				return false
			case c.next(1) == '{':
				c.at += 2
				c.push('$')
				c.last = '$'
				return true
			}
		}
	}
	return false
}

// heredoc goes to the end of a heredoc without templates.
func (c *scan) heredoc() bool {
	rest := c.src[c.at+2:]
	if len(rest) > 0 && rest[0] == '-' {
		rest = rest[1:]
	}
	line, rest, ok := bytes.Cut(rest, []byte("\n"))
	name := bytes.TrimSuffix(line, []byte("\r"))
	if !ok || len(name) == 0 || !letter(name[0]) {
		return false
	}
	for _, b := range name {
		if !letter(b) && !digit(b) && b != '-' {
			return false
		}
	}
	pieces := 0
	for pieces < maxPieces-8 {
		if line, rest, ok = bytes.Cut(rest, []byte("\n")); !ok {
			return false
		}
		text := bytes.TrimSuffix(line, []byte("\r"))
		if bytes.IndexByte(text, '\r') >= 0 || bytes.Contains(text, []byte("${")) ||
			bytes.Contains(text, []byte("%{")) {
			return false
		}
		if bytes.Equal(bytes.TrimSpace(line), name) {
			c.at = len(c.src) - len(rest)
			c.last, c.newline = 'a', true
			return true
		}
		pieces += 1 + 2*bytes.Count(text, []byte("$")) + 2*bytes.Count(text, []byte("%"))
	}
	return false
}

// sign reports whether a byte may be an operator, or part of one.
func sign(b byte) bool { return strings.IndexByte("!-+*/%&|=<>?:", b) >= 0 }

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' }

func digit(b byte) bool { return b >= '0' && b <= '9' }
