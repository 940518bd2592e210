package failedtask

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// CleanTail returns the end of a log, fit to be read by a model: without terminal control and without characters that
// hide or reorder text. The root's own path becomes ".", so that nobody follows it back to the tree.
func CleanTail(text, root string, limit int) string {
	text = agent.Clean(text)
	text = RootPath(root).ReplaceAllString(text, ".$1")
	return LastText(text, limit)
}

// RootPath matches a path where a name ends, so that /srv/shop is not found in /srv/shop-api. The first group is the
// character after it. Bytes of the path that are no UTF-8 match U+FFFD, or nothing where the text was cleaned.
func RootPath(root string) *regexp.Regexp {
	name := strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(root, "\uFFFD")), "\uFFFD", "\uFFFD*")
	return regexp.MustCompile(name + `([^-_.0-9A-Za-z\x80-\x{10FFFF}]|[.]?(?:$|\s))`)
}

// LastText returns the last bytes of text, from the start of a line where there is one, else of a character.
func LastText(text string, limit int) string {
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

// CommandLine returns a task's command in one line, without the values of secrets. They are left out here because a
// redactor does not find what is quoted.
func CommandLine(t *pipeline.Task) string {
	if t.Run.Argv == nil {
		return t.Run.Shell.Show()
	}
	words := make([]string, len(t.Run.Argv))
	for i, a := range t.Run.Argv {
		words[i] = a.Show()
		if strings.ContainsAny(words[i], " \t\n\"'\\$") || words[i] == "" {
			words[i] = fmt.Sprintf("%q", words[i])
		}
	}
	return strings.Join(words, " ")
}
