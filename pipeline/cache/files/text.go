package files

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Text returns a path as JSON can hold it, which replaces bytes that are no UTF-8: such a path as NUL, which is in no
// path, and its base64. Untext is the inverse.
func Text(p string) string {
	if utf8.ValidString(p) {
		return p
	}
	return "\x00" + base64.StdEncoding.EncodeToString([]byte(p))
}

// Untext returns the path of which Text made text.
func Untext(text string) string {
	coded, ok := strings.CutPrefix(text, "\x00")
	if !ok {
		return text
	}
	p, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return text
	}
	return string(p)
}

// each returns list with change applied to its elements. It is list itself where that changes nothing.
func each(list []string, change func(string) string) []string {
	for i, s := range list {
		if change(s) == s {
			continue
		}
		changed := append([]string{}, list...)
		for j := i; j < len(changed); j++ {
			changed[j] = change(changed[j])
		}
		return changed
	}
	return list
}
