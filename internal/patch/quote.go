// Names as git writes them in patches: plain, or in quotes with the escapes of C (git's quote.c, core.quotePath on).

package patch

import (
	"errors"
	"strings"
)

const escapes = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\" // byte, letter, byte, letter …

// quote gives the name as it is, or in quotes when it has a control character, a quote, a backslash or a byte above 0x7e.
func quote(name string) string {
	plain := true
	for i := 0; plain && i < len(name); i++ {
		plain = name[i] >= ' ' && name[i] < 0x7f && name[i] != '"' && name[i] != '\\'
	}
	if plain {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch at := escapeOf(c); {
		case at >= 0:
			b.WriteByte('\\')
			b.WriteByte(escapes[at+1])
		case c < ' ' || c >= 0x7f:
			b.WriteByte('\\')
			b.WriteByte('0' + c>>6)
			b.WriteByte('0' + c>>3&7)
			b.WriteByte('0' + c&7)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func escapeOf(c byte) int {
	for i := 0; i < len(escapes); i += 2 {
		if escapes[i] == c {
			return i
		}
	}
	return -1
}

var errQuote = errors.New("a quoted name that does not end well")

// unquote reads a quoted name at the beginning of s and gives what follows it. We do not leave this to go-gitdiff: v0.9 takes the closing quote
// after an escaped backslash ("a\\") for an escaped one.
func unquote(s string) (name, rest string, err error) {
	if s == "" || s[0] != '"' {
		return "", "", errQuote
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c == '\n':
			return "", "", errQuote
		case c != '\\':
			b.WriteByte(c)
		default:
			n, c := unescape(s[i+1:])
			if n == 0 {
				return "", "", errQuote
			}
			b.WriteByte(c)
			i += n
		}
	}
	return "", "", errQuote
}

// unescape reads what follows a backslash; n is 0 when that is no escape.
func unescape(s string) (n int, c byte) {
	if s == "" {
		return 0, 0
	}
	for i := 1; i < len(escapes); i += 2 {
		if escapes[i] == s[0] {
			return 1, escapes[i-1]
		}
	}
	if len(s) < 3 || s[0] < '0' || s[0] > '3' || s[1] < '0' || s[1] > '7' || s[2] < '0' || s[2] > '7' {
		return 0, 0
	}
	return 3, (s[0]-'0')<<6 | (s[1]-'0')<<3 | (s[2] - '0')
}
