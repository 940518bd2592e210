package tools

// Placeholders: lines that replace code which was left out. The model is warned, and never refused. The review of a
// patch has a rule of the same name, which reads comments as their language has them; the model is warned of what
// that rule flags in a comment on a line of its own.

import (
	"fmt"
	"path"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	// Of a line in lower case. The words by which models say it, whatever is around them.
	placeholderWords = lazily.Regexp(`(?:\.\.\.|…)\s*\(?\s*(?:the\s+)?(?:rest|remaining|remainder|existing|previous|original|other|same)\b|` +
		`\b(?:rest|remainder) of (?:the |this |your )?(?:\w+ )?(?:code|file|function|class|implementation|method|module|content|logic|component|tests?)s?\b.*\b(?:unchanged|same|here|remains?|omitted|stays?|as before|goes)\b|` +
		`\b(?:rest|remainder) (?:is |was )?omitted\b|\bimplementation (?:follows|continues|unchanged)\b|` +
		`\b(?:existing|previous|original|other|remaining) (?:code|methods?|functions?|implementation|logic|imports?|tests?|content) (?:here|unchanged|remains?|stays?|goes here|as before|omitted)\b|` +
		`\bcode omitted\b|\bomitted for brevity\b|\bsame as before\b|\(unchanged\)|` +
		`^\W*(?:\.\.\.|…)?\s*\(?(?:unchanged|omitted|snip(?:ped)?|no changes? (?:here|below|above))\)?\s*(?:\.\.\.|…)?\W*$|` +
		`\b(?:your|add|insert|put) (?:\w+ ){0,2}(?:code|logic|implementation) (?:goes )?here\b|` +
		`\b(?:todo|fixme|xxx)\b\W*\s*(?:implement|fill (?:this )?in|complete (?:the |this )?implementation|actual implementation)`)
	// What needs no comment around it: it is nothing else. Behind code it must be all that its comment says.
	placeholderAlone = lazily.Regexp(`^(?://+|/\*+|<!--)\s*(?:\.\.\.|…)?\s*snip\b|^<(?:unchanged|omitted)\b[^<>]*>$|` +
		`[^:](?://+|/\*+|<!--)\W*snip(?:ped)?[^\w/]*(?:\*/|-->|$)`)
	blanks = lazily.Regexp(`\s+`)
)

var commentLeads = []string{"//", "#", "/*", "--", "<!--", ";", "%", "*"}

// placeholders returns the lines, counted from 1, that are placeholders.
func placeholders(name, content string) []int {
	prose := endsIn(name, []string{".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc"})
	var all []int
	n := 0
	for line := range strings.SplitSeq(content, "\n") {
		n++
		if len(line) <= 400 && placeholder(line, prose) {
			all = append(all, n)
		}
	}
	return all
}

// placeholder reports whether a line is one. In prose only a comment that is not shown can be: a # is a heading
// there.
func placeholder(line string, prose bool) bool {
	line = blanks().ReplaceAllString(strings.ToLower(strings.TrimSpace(line)), " ")
	switch {
	case line == "":
		return false
	case prose:
		return strings.HasPrefix(line, "<!--") && (placeholderWords().MatchString(line) ||
			placeholderAlone().MatchString(line))
	case placeholderAlone().MatchString(line):
		return true
	}
	for _, lead := range commentLeads {
		if body, ok := strings.CutPrefix(line, lead); ok {
			return placeholderWords().MatchString(strings.TrimSpace(body))
		}
	}
	return false
}

// warnPlaceholders warns of placeholders that the file did not have before.
func warnPlaceholders(o *Outcome, at, before, after string, shrank bool) {
	had := map[string]int{}
	old := strings.Split(before, "\n")
	for _, n := range placeholders(at, before) {
		had[strings.TrimSpace(old[n-1])]++
	}
	lines := strings.Split(after, "\n")
	var fresh []string
	for _, n := range placeholders(at, after) {
		s := strings.TrimSpace(lines[n-1])
		if had[s] > 0 {
			had[s]--
			continue
		}
		if len(fresh) < 5 {
			fresh = append(fresh, fmt.Sprintf("line %d, %s", n, quoted(s)))
		}
	}
	if len(fresh) == 0 {
		return
	}
	consequence := "write out what it stands for"
	if before != "" && shrank {
		consequence = "the file had no such line and is shorter now: what it stands for is lost, put it back"
	}
	o.warn("%s looks like a placeholder (%s): %s", path.Base(at), strings.Join(fresh, "; "), consequence)
}
