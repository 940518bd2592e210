package hooks

// Text from outside, made fit for a reader that is a model.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
)

// cleanTail is the end of a log for a reader that is a model: no terminal control, no characters that hide or reorder
// text, and the root's own path as "." so that nobody follows it back to the tree.
func cleanTail(text, root string, limit int) string {
	text = agent.Clean(text)
	text = rootPath(root).ReplaceAllString(text, ".$1")
	return lastText(text, limit)
}

// rootPath matches a path where a name ends, so that /srv/shop is not found in /srv/shop-api. A path may hold bytes that are
// no UTF-8: they stand in text as they are, which a pattern takes for U+FFFD, or not at all, where it was cleaned.
func rootPath(root string) *regexp.Regexp {
	name := strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(root, "\uFFFD")), "\uFFFD", "\uFFFD*")
	return regexp.MustCompile(name + `([^-_.0-9A-Za-z\x80-\x{10FFFF}]|[.]?(?:$|\s))`)
}

// lastText is the last bytes of text, from the start of a line where there is one, else of a rune.
func lastText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
		return text[i+1:]
	}
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// cut is the first bytes of text, to the end of a rune.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// asciiControl is v as JSON, indented, in which every character that is not shown, or that reorders what is, stands as an
// escape: also in a task's name, which must stay what it is.
func asciiControl(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if bytes.IndexFunc(b.Bytes(), unseen) < 0 {
		return b.Bytes(), nil
	}
	var out bytes.Buffer
	for _, r := range b.String() {
		switch {
		case !unseen(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes(), nil
}

// unseen says whether a character may only stand escaped. The line ends of the JSON text itself may stay.
func unseen(r rune) bool {
	return r != '\n' && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
}

// shellWord is one word for a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r))
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
