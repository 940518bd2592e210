package tools

// What models put around the content of a file: their thinking, and a fence. It is removed only where it cannot be
// meant; everything else is written byte for byte.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var fenceLine = lazily.Regexp("^(```+)[ \t]*([A-Za-z0-9_+.#-]*)[ \t]*$")

// markdown and markup are the ends of names of files in which a fence is content, or an element of a name that is not
// only a model's.
var (
	markdown = lazily.Words(".md .markdown .mdown .mkd .mdx .qmd .rmd .adoc .asciidoc .rst .txt .golden .snap")
	markup   = lazily.Words(".xml .html .htm .xhtml .svg .vue .svelte .jsx .tsx .xsd .xsl .xslt .xaml .plist .csproj " +
		".rss .atom .wsdl .tmpl .erb .ejs")
)

func endsIn(name string, ends []string) bool {
	return slices.Contains(ends, strings.ToLower(path.Ext(name)))
}

// stripWrapping removes one thinking block from the very start of content, and a fence that is its first and last
// line. said describes what was removed; it is empty if nothing was.
func stripWrapping(name, content string) (body, said string) {
	body = content
	var did []string
	if rest, tag, ok := agent.WithoutThinking(body); ok && (onlyAModels(tag) ||
		!endsIn(name, markup()) && !endsIn(name, markdown())) {
		body = rest
		did = append(did, "a <"+tag+"> block at its start")
	}
	if inner, ok := withoutFence(body); ok && !endsIn(name, markdown()) {
		body = inner
		did = append(did, "the fence around it")
	}
	if len(did) == 0 {
		return content, ""
	}
	if body = strings.TrimRight(body, "\r\n"); body != "" {
		if strings.Contains(content, "\r\n") {
			body += "\r"
		}
		body += "\n"
	}
	return body, strings.Join(did, " and ") + " was taken off: content is the file and nothing else"
}

// onlyAModels reports whether no file begins with an element of that name.
func onlyAModels(tag string) bool {
	return slices.Contains([]string{"think", "thinking", "reasoning"}, strings.ToLower(tag))
}

// withoutFence returns what is between a first and a last line that are one fence. With another fence line in between
// they may be two.
func withoutFence(content string) (inner string, ok bool) {
	first, rest, more := strings.Cut(content, "\n")
	m := fenceLine().FindStringSubmatch(strings.TrimSuffix(first, "\r"))
	if m == nil {
		return "", false
	}
	if !more || strings.TrimSpace(rest) == "" {
		return "", m[2] == "" // a fence and nothing in it
	}
	trimmed := strings.TrimRight(rest, " \t\r\n")
	from := strings.LastIndexByte(trimmed, '\n') + 1
	if trimmed[from:] != m[1] {
		return "", false
	}
	inner = rest[:from]
	for line := range strings.SplitSeq(inner, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), m[1]) {
			return "", false
		}
	}
	return inner, true
}
