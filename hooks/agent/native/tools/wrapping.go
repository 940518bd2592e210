package tools

// What models put around the content of a file: their thinking, and a fence. It is removed only where it cannot be
// meant; everything else is written byte for byte.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// thinkingTags matches whole names: <analysisResult> may be an element of the file. Some models leave the > out, where
// the tag ends with its line.
var thinkingTags = lazily.Regexp(`^\s*<(think|thinking|reasoning|reflection|analysis)(?:\s[^<>\n]*)?[>\n]`)

var fenceLine = lazily.Regexp("^(```+)[ \t]*([A-Za-z0-9_+.#-]*)[ \t]*$")

// markdown and markup are the ends of names of files in which a fence, or an element of any name, is content.
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
	if rest, tag, ok := withoutThinking(body); ok && !endsIn(name, markup()) && !endsIn(name, markdown()) {
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

// withoutThinking returns content after a thinking block that is closed and is not all there is.
func withoutThinking(content string) (rest, tag string, ok bool) {
	m := thinkingTags().FindStringSubmatch(content)
	if m == nil {
		return "", "", false
	}
	_, rest, ok = strings.Cut(content[len(m[0]):], "</"+m[1])
	end := strings.TrimLeft(rest, " \t\r")
	if !ok || strings.TrimSpace(rest) == "" || end[0] != '>' && end[0] != '\n' {
		return "", "", false
	}
	if rest = end[1:]; strings.TrimSpace(rest) == "" {
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
