package checkfile

// What a check finds by itself: the files that its commands, scripts and tests list, and read.

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	listsFiles = lazily.Regexp(`(?i)read_?dir|glob|walk|listdir|scandir|iterdir|ls-files|\bfind\b|\*\.\w`)
	// readsFiles is what opens files, or starts a program that does. A check that only lists may forbid what it finds.
	readsFiles = lazily.Regexp(`(?i)read_?(?:text|file|bytes|all|line|to_string)|\bopen\b|load|parse|xargs|\b(?:cat|grep|awk|sed|jq|yq)\s|lint|shellcheck|sh -n|json\.tool|\bcheck\b`)
	deepLists  = lazily.Regexp(`(?i)\*\*|rglob|walk|recursive|is_?dir|\bfind\b|ls-files|globstar`)
)

// Listings are the parts of a check that list files and read them.
type Listings struct {
	of    *Checks
	texts []string
}

// Listings returns the parts of the check that list files and read them.
func (c *Checks) Listings() Listings {
	texts := slices.Clone(c.refs.texts)
	for _, by := range c.refs.checkers {
		texts = append(texts, c.Text(by.path))
	}
	for _, p := range c.FailingTests() {
		texts = append(texts, c.Text(p))
	}
	return Listings{c, slices.DeleteFunc(texts, func(text string) bool {
		return !listsFiles().MatchString(text) || !readsFiles().MatchString(text)
	})}
}

// Size returns how many bytes PassOver reads at the most.
func (l Listings) Size() (n int) {
	for _, text := range l.texts {
		n += len(text)
	}
	return n + len(l.of.found.files)
}

// PassOver reports whether a file of the base is listed by its folder and the end of its name, and would not be found under
// the path that it has now.
func (l Listings) PassOver(was, now string) bool {
	return l.of.found.passesOver(was, now) || slices.ContainsFunc(l.texts, func(text string) bool { return listsEnd(text, was) && l.of.passesOver(text, was, now) })
}

// foundFiles are Found and Sets of a Scope, and the folder of PIPELINE.hcl.
type foundFiles struct {
	files, sets []string
	sub         string
}

// passesOver reports whether a file was found, and would not be under the path that it has now.
func (f foundFiles) passesOver(was, now string) bool {
	if !slices.Contains(f.files, was) {
		return false
	}
	rel, in := now, true
	if f.sub != "." {
		rel, in = strings.CutPrefix(now, f.sub+"/")
	}
	return !in || !slices.ContainsFunc(f.sets, func(set string) bool { return doublestar.MatchUnvalidated(set, rel) })
}

// listsEnd reports whether a text has the extension of a file as a pattern, or what names are compared with.
func listsEnd(text, file string) bool {
	ext := strings.TrimPrefix(path.Ext(file), ".")
	if ext == "" {
		return false
	}
	re, err := regexp.Compile(`["'\x60*\\(|,{]\.?` + regexp.QuoteMeta(ext) + `(?:["'\x60$)|,}\s;/]|$)`)
	return err == nil && re.MatchString(text)
}

// passesOver is Listings.PassOver of one text that lists was.
func (c *Checks) passesOver(text, was, now string) bool {
	if end := path.Ext(now); end != path.Ext(was) {
		other := lang.Words(strings.TrimPrefix(end, "."))
		inClass := strings.Contains(text, "]"+path.Ext(was)[1:]) || strings.Contains(text, "]?"+path.Ext(was)[1:]) // [cm]?js
		return !inClass && (len(other) == 0 || !lang.HasWord(text, other))
	}
	from, to := path.Dir(was), path.Dir(now)
	if from == to {
		return false
	}
	deep := deepLists().MatchString(text)
	listed := false
	for dir := from; dir != "." && dir != "/"; dir = path.Dir(dir) {
		listed = listed || (deep || dir == from) && c.namesFolder(text, dir)
	}
	if !listed {
		return false
	}
	for dir := to; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if (deep || dir == to) && c.namesFolder(text, dir) {
			return false
		}
	}
	return true
}

var folderName = lazily.Regexp(`[\w.@-]+(?:/[\w.@-]+)*`)

// namesFolder reports whether a text has the path of a folder, seen from the top or the folder of PIPELINE.hcl, whole or
// each part of it.
func (c *Checks) namesFolder(text, dir string) bool {
	dir = c.tree.Rel(dir)
	names := folderName().FindAllString(text, -1)
	return slices.ContainsFunc(names, func(name string) bool {
		name = path.Clean(name)
		return name == dir || strings.HasPrefix(name, dir+"/")
	}) || strings.Contains(dir, "/") && !slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return !slices.Contains(names, part) })
}

// marks are words in strings of a checker, or of a command, that look like what a comment says to it.
var (
	markToken  = lazily.Regexp(`(?:(?://|#|/\*)[ ]?|-- )?@?[A-Za-z][\w:@-]*[A-Za-z\d]`)
	markWords  = lazily.Words(`disable disabled ignore ignored ignores suppress suppressed nolint noqa nocheck allow allowed exempt waive waived skip skipped exclude excluded ok`)
	shellTexts = lazily.Regexp(`(?m)^[ \t]*#.*$`)
)

// Marks returns what comments may say to the scripts of the check so that these let pass what is marked: lint-disable-line,
// // skip. One word alone counts with the beginning of a comment only.
func (c *Checks) Marks() (marks []string) {
	add := func(text string) {
		for _, m := range markToken().FindAllString(text, -1) {
			word := strings.TrimLeft(m, "/#-* ")
			words := lang.Words(word)
			if lang.HasWord(word, markWords()) && (len(words) > 1 || word != m || words[0] == "nolint" || words[0] == "noqa" || words[0] == "nocheck") {
				marks = append(marks, m)
			}
		}
	}
	for _, text := range c.refs.texts {
		add(shellTexts().ReplaceAllString(text, ""))
	}
	for _, by := range c.refs.checkers {
		src := c.Text(by.path)
		kinds := lang.Mark(lang.Of(by.path, src), src)
		for from := 0; from < len(src); {
			to := from + 1
			for to < len(src) && kinds[to] == kinds[from] {
				to++
			}
			if kinds[from] == lang.InString {
				add(src[from:to])
			}
			from = to
		}
	}
	return set(marks)
}
