package review

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
)

// hasSecret reports whether a text has what looks like a key or a token.
func hasSecret(text string) bool {
	s := newSide("", strings.ReplaceAll(text, "\n", " "))
	return text != "" && slices.ContainsFunc(general(), func(m *matcher) bool {
		return m.Kind == rules.Secret && len(m.find(s, 0)) > 0
	})
}

// genuine tells a key from one of a manual: an example, or one character again and again.
func genuine(key string) bool {
	different := map[rune]bool{}
	for _, c := range key {
		different[c] = true
	}
	return len(different) >= 10 && !strings.Contains(strings.ToUpper(key), "EXAMPLE")
}
