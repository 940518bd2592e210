package agent

// What models think before they answer, where it arrives as a part of the text.

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// thinkingTags matches whole names: <analysisResult> may be an element of a file. Some models leave the > out, where
// the tag ends with its line.
var thinkingTags = lazily.Regexp(`(?i)^\s*<(think|thinking|reasoning|reflection|analysis)(?:\s[^<>\n]*)?[>\n]`)

// WithoutThinking returns text after a thinking block at its very start that is closed and is not all there is, and
// the name of its tag as it is written. rest is the end of text.
func WithoutThinking(text string) (rest, tag string, ok bool) {
	m := thinkingTags().FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	rest, ok = behindClose(text[len(m[0]):], m[1])
	if !ok || strings.TrimSpace(rest) == "" {
		return "", "", false
	}
	for { // blank lines behind it belong to it, an indentation does not
		line, more, ended := strings.Cut(rest, "\n")
		if !ended || strings.TrimSpace(line) != "" {
			return rest, m[1], true
		}
		rest = more
	}
}

// behindClose returns what follows the first closing tag of that name, in whatever case.
func behindClose(text, tag string) (rest string, ok bool) {
	for at := range text {
		name := text[at:]
		if n := len("</" + tag); len(name) > n && name[:2] == "</" && strings.EqualFold(name[2:n], tag) {
			end := strings.TrimLeft(name[n:], " \t\r")
			if end == "" || end[0] != '>' && end[0] != '\n' {
				return "", false
			}
			return end[1:], true
		}
	}
	return "", false
}
