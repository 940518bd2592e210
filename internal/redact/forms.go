package redact

// The forms of a value: everything that is looked for because of it.

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A form is one way in which a value may be written. A form that wraps may have line ends in it, as encoders write
// them.
type form struct {
	text  string
	wraps bool
}

const (
	// maxEncoded is the length of the longest value, in bytes, whose encodings are searched for. Of a longer one only
	// the encodings of its lines are.
	maxEncoded = 16 << 10
	// maxRare is the same for the encodings of rare.go, which are longer, and many.
	maxRare = 1 << 10
	// maxWhole is the same for a value of several lines: each form costs memory, and those of the lines are enough.
	maxWhole = 512
	// early is the least number of characters of a wrapped form before its first line end. With fewer, the end of
	// nearly any line might begin a form, and a stream would be delayed.
	early = 4
	// minLine is the least number of characters between two line ends. Encoders write 60, 64 or 76.
	minLine = 40
	// minFolded is the length of the shortest value, in bytes, that is also found folded like an encoding. A shorter
	// one of digits might match across two lines of numbers.
	minFolded = 16
	// minRest is the shortest rest of a form, in characters, that is searched for by itself.
	minRest = 8
)

// forms lists how value may be written: as it is, and each of its lines if there are several (a key that is printed
// with an indent or line by line); all of these as programs quote them and as they encode them (rare.go too).
// Lines shorter than minPart are left out, and so are their forms. There are no doubles.
func forms(value string) []form {
	var out []form
	at := map[string]int{}
	add := func(s string, wraps bool) {
		if len(s) < minPart {
			return
		}
		if i, known := at[s]; known {
			out[i].wraps = out[i].wraps || wraps
			return
		}
		at[s] = len(out)
		out = append(out, form{s, wraps})
	}
	plain := []string{value}
	for line := range strings.SplitSeq(value, "\n") {
		// Trimmed, because an indent or a carriage return is what a printer changes first.
		plain = append(plain, strings.TrimSpace(line))
	}
	for _, p := range plain {
		if len(p) < minPart {
			continue
		}
		add(p, len(p) >= minFolded && !strings.Contains(p, "\n"))
		for _, q := range quoted(p) {
			add(q, false)
		}
		if len(p) > maxEncoded || len(p) > maxWhole && strings.Contains(p, "\n") {
			continue
		}
		for _, e := range base64Forms(p) {
			add(e, true)
		}
		for _, e := range base32Forms(p) {
			add(e, true)
		}
		for _, h := range []string{hex.EncodeToString([]byte(p)), strings.ToUpper(hex.EncodeToString([]byte(p)))} {
			add(h, true)
			if rest := h[early-1:]; len(rest) >= minRest {
				add(rest, true)
			}
		}
		if len(p) > maxRare {
			continue
		}
		for _, r := range spelled(p) {
			add(r, false)
		}
		for _, e := range twice(p) {
			add(e, true)
		}
	}
	return out
}

// base64Forms returns texts of which one is in any base64 text whose bytes contain p. The bytes before p shift it by
// none, one or two, so there are three, each without the characters at its ends that p shares with its neighbours (two
// to four bits of them belong to p). If p is the end of the text, the last character and the padding are known, too.
// All of it in both alphabets.
//
// A line end within the first characters of a form is not followed, so the form without these is in the list, too.
func base64Forms(p string) []string {
	var all []string
	for shift := range 3 {
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			sure, last := within64(p, shift, alphabet)
			all = append(all, sure, strings.TrimRight(last, "="), last)
			if rest := sure[early-1:]; len(rest) >= minRest {
				all = append(all, rest)
			}
		}
	}
	return all
}

// within64 encodes p behind shift other bytes, and returns the characters that depend on p alone: sure if more bytes
// follow, last if p is the end of the text.
func within64(p string, shift int, alphabet *base64.Encoding) (sure, last string) {
	raw := make([]byte, shift+len(p))
	copy(raw[shift:], p)
	text, first := alphabet.EncodeToString(raw), []int{0, 2, 3}[shift]
	return text[first : len(raw)*8/6], text[first:]
}

// base32Forms is base64Forms for base32, in whose texts p can stand in five ways. They are in capitals: in the small
// letters of ordinary text they would cost a stream too much.
func base32Forms(p string) []string {
	var all []string
	for shift := range 5 {
		raw := make([]byte, shift+len(p))
		copy(raw[shift:], p)
		text, first := base32.StdEncoding.EncodeToString(raw), (shift*8+4)/5
		sure, last := text[first:len(raw)*8/5], text[first:]
		all = append(all, sure, strings.TrimRight(last, "="), last)
		if rest := sure[early-1:]; len(rest) >= minRest {
			all = append(all, rest)
		}
	}
	return all
}

// How programs write a value between quotes: JSON, Go, C, Python, shells, XML and HTML, URLs, mails.

// shellPlain are the characters besides letters and digits that printf %q leaves alone.
const shellPlain = "_-./:,+@%="

// quoted lists the ways in which s is written by those who quote it; most are s itself.
func quoted(s string) []string {
	once := asJSON(s, false)
	all := []string{
		asJSON(s, true), once, asciiJSON(s),
		// JSON in JSON: a log of what was sent
		asJSON(once, false), asJSON(asJSON(s, true), true), asJSON(asciiJSON(s), false),
		strings.ReplaceAll(once, "/", `\/`),
		within(strconv.Quote(s)), within(strconv.QuoteToASCII(s)), // Go, and C but for \a, \v
		strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s), // Python, $'…', JavaScript
		strings.ReplaceAll(s, `'`, `'\''`),
		strings.ReplaceAll(s, `'`, `'"'"'`),
		strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s), // between the double quotes of a shell
		backslashed(s),
		octal(s),
		html.EscapeString(s),
		quotedPrintable(s, "="),
		strings.ReplaceAll(quotedPrintable(s, "=?_"), " ", "_"), // in a header of a mail
	}
	for _, more := range [][]string{
		nil,
		{`"`, "&quot;", "'", "&apos;"},
		{`"`, "&quot;", "'", "&#x27;"},
		{`"`, "&quot;", "'", "&#39;"}, // PHP, lodash, Ruby
		{`"`, "&quot;", "'", "&#x27;", "`", "&#x60;", "=", "&#x3D;"},               // Handlebars
		{`"`, "&quot;", "'", "&#39;", "/", "&#x2F;", "`", "&#x60;", "=", "&#x3D;"}, // Mustache
	} {
		markup := append([]string{"&", "&amp;", "<", "&lt;", ">", "&gt;"}, more...)
		all = append(all, strings.NewReplacer(markup...).Replace(s))
	}
	for _, plain := range urlPlain {
		for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
			escaped := percent(s, plain, digits)
			all = append(all, escaped, strings.ReplaceAll(escaped, "%20", "+"))
		}
	}
	return all
}

// asJSON returns s as it is between the quotes of a JSON string.
func asJSON(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s // a string always encodes
	}
	return within(strings.TrimSuffix(b.String(), "\n"))
}

// within removes the quotes.
func within(s string) string { return strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`) }

// asciiJSON returns JSON as Python and others write it: what is not ASCII as \u and four digits.
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

// backslashed returns s as printf %q of a shell writes it.
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

// octal returns s as C, git and protobuf write it: what is no printable ASCII as a backslash and three digits.
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

// quotedPrintable returns s in the encoding of RFC 2045, without line ends: what is no printable ASCII, and the special
// characters, as an = and two digits.
func quotedPrintable(s, special string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c > '~' || strings.IndexByte(special, c) >= 0 {
			fmt.Fprintf(&b, "=%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// urlPlain lists, for each way to escape a URL or a form that is in use, what besides letters and digits is not
// escaped.
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
