package redact

// How programs write a value between quotes: JSON, Go, C, Python, shells, XML and HTML, URLs.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// shellPlain are the characters besides letters and digits that printf %q leaves alone.
const shellPlain = "_-./:,+@%="

// quoted lists the ways in which s is written by those who quote it; most are s itself.
func quoted(s string) []string {
	once := asJSON(s, false)
	all := []string{
		asJSON(s, true), once, asciiJSON(s),
		asJSON(once, false), asJSON(asJSON(s, true), true), asJSON(asciiJSON(s), false), // JSON in JSON: a log of what was sent
		strings.ReplaceAll(once, "/", `\/`),
		within(strconv.Quote(s)), within(strconv.QuoteToASCII(s)), // Go, and C but for \a, \v
		strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s), // Python, $'…', JavaScript
		strings.ReplaceAll(s, `'`, `'\''`),
		strings.ReplaceAll(s, `'`, `'"'"'`),
		strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s), // between the double quotes of a shell
		backslashed(s),
		octal(s),
		html.EscapeString(s),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace(s),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s),                                              // PHP, lodash, Ruby
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;", "`", "&#x60;", "=", "&#x3D;").Replace(s),               // Handlebars
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "/", "&#x2F;", "`", "&#x60;", "=", "&#x3D;").Replace(s), // Mustache
	}
	for _, plain := range urlPlain {
		for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
			escaped := percent(s, plain, digits)
			all = append(all, escaped, strings.ReplaceAll(escaped, "%20", "+"))
		}
	}
	return all
}

// asJSON is s as it stands between the quotes of a JSON string.
func asJSON(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s // a string always encodes
	}
	return within(strings.TrimSuffix(b.String(), "\n"))
}

// within takes the quotes off.
func within(s string) string { return strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`) }

// asciiJSON is JSON as Python and others write it: what is not ASCII as \u and four digits.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range asJSON(s, false) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// backslashed is s as printf %q of a shell writes it.
func backslashed(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < utf8.RuneSelf && !alphanumeric(c) && strings.IndexByte(shellPlain, c) < 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// octal is s as C, git and protobuf write it: what is no printable ASCII as a backslash and three digits.
func octal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.Write([]byte{'\\', c})
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// urlPlain lists, for each way to escape a URL or a form that is in use, what besides letters and digits is not escaped.
var urlPlain = []string{
	"-_.~",                    // RFC 3986, Go's QueryEscape, curl
	"-_.~!*'()",               // JavaScript's encodeURIComponent
	"-_.~/",                   // Python's quote
	"-_.~$&+=:@",              // Go's PathEscape
	"-_.~!*'();,/?:@&=+$#",    // JavaScript's encodeURI
	"-_.*",                    // a form of a browser, Java's URLEncoder
	"-_.",                     // PHP's urlencode
	"-_.~!$&'()*+,;=",         // the name and password of a URL
	"-_.~$&+,;=",              // the same as Go writes them
	"-_.~!$&'()*+,;=:@/?[]%#", // what only escapes spaces and what is no ASCII
}

func percent(s, plain, digits string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; alphanumeric(c) || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
