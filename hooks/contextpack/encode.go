package contextpack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// cut returns the first bytes of text, to the end of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// asciiControl returns v as indented JSON in which every character that is not shown, or that reorders others, is
// escaped: also in a task's name, which must not change.
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

// unseen reports whether a character must be escaped. The line ends of the JSON text itself are kept.
func unseen(r rune) bool {
	return r != '\n' && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' ||
		r == '\u2029')
}

// shellWord quotes s as one word for a shell, where it must be.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r))
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
