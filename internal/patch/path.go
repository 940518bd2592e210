// Which paths a patch may name.

package patch

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// CheckPath refuses, with ErrUnsafePath, a path that a patch must not name: one that is absolute, leaves the tree
// or is not in its shortest form, and one with .git or .async anywhere on it, also in spellings that some file
// system takes for the same (other case, characters that HFS+ ignores, trailing dots and spaces, streams and short
// names of NTFS). git refuses most of these as well (core.protectHFS, core.protectNTFS).
func CheckPath(p string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %s: %s", ErrUnsafePath, quote(p), why) }
	switch {
	case p == "" || p == "." || path.IsAbs(p) || !filepath.IsLocal(p) || path.Clean(p) != p:
		return bad("want a path inside the tree, without . or ..")
	case strings.IndexByte(p, 0) >= 0:
		return bad("a name cannot hold NUL")
	case len(p) >= 4096:
		return bad("longer than a path can be")
	}
	for _, name := range strings.Split(p, "/") {
		if len(name) > 255 {
			return bad("a name longer than 255 bytes")
		}
		for _, part := range strings.Split(name, `\`) { // a separator elsewhere
			switch plain := plainName(part); {
			case plain == ".git" || plain == "git~1":
				return bad("it is git's own")
			case plain == ".async":
				return bad("it is async-pipeline's own")
			case part == "..":
				return bad("want a path inside the tree, without . or ..")
			}
		}
	}
	return nil
}

// checkLink refuses what git never takes as a symlink: .gitmodules anywhere on the path (also by its short names).
func checkLink(p string) error {
	for _, name := range strings.Split(p, "/") {
		if n := plainName(name); n == ".gitmodules" || strings.HasPrefix(n, "gitmod~") ||
			strings.HasPrefix(n, "gi7eba~") {
			return fmt.Errorf("%w: %s: git takes no symlink of that name", ErrUnsafePath, quote(p))
		}
	}
	return nil
}

// plainName returns a name as the most forgiving file systems see it.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, ":") // NTFS: name of a stream
	name = strings.Map(func(r rune) rune {
		// HFS+ ignores these: git's utf8.c, next_hfs_char.
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	return strings.ToLower(strings.TrimRight(name, ". "))
}

// Names as git writes them in patches: plain, or in quotes with the escapes of C (git's quote.c, core.quotePath on).

const escapes = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\" // byte, letter, byte, letter …

// quote returns the name as it is, or in quotes when it has a control character, a quote, a backslash or a byte
// above 0x7e.
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

// unquote reads a quoted name at the beginning of s and gives what follows it. We do not leave this to go-gitdiff:
// v0.9 takes the closing quote after an escaped backslash ("a\\") for an escaped one.
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
