package cache

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
)

// A pattern is one entry of inputs or outputs.
type pattern struct {
	text   string
	not    bool   // it takes away
	folder string // the part before the first wildcard, without what follows the last slash; of a text without wildcards, all
	suffix string // where the text is folder/**/*suffix: what a name must end with
	all    bool   // the text is folder/**
	plain  bool   // it has no wildcard
	flat   bool   // the text is folder/*
}

// parse reads a pattern, which is clean (see pipeline/hclfile).
func parse(text string) pattern {
	p := pattern{}
	p.text, p.not = strings.CutPrefix(text, "!")
	base, rest := doublestar.SplitPattern(p.text)
	if !strings.ContainsAny(p.text, `*?[{\`) {
		p.plain, p.folder = true, p.text
		return p
	}
	if base != "." {
		p.folder = base
	}
	p.all, p.flat = rest == "**", rest == "*"
	if s, ok := strings.CutPrefix(rest, "**/*"); ok && !strings.ContainsAny(s, `*?[{\/`) && s != "" {
		p.suffix = s
	}
	return p
}

// match reports whether a path matches.
func (p *pattern) match(name string) bool {
	switch {
	case p.plain:
		return name == p.text
	case p.folder != "" && !within(name, p.folder):
		return false
	case p.all:
		return true
	case p.flat:
		return name != p.folder && parent(name) == p.folder
	case p.suffix != "":
		return strings.HasSuffix(name, p.suffix) && name != p.folder
	}
	ok, err := doublestar.Match(p.text, name)
	return ok && err == nil
}

// within reports whether name is dir or below it. Everything is within "".
func within(name, dir string) bool {
	return dir == "" || strings.HasPrefix(name, dir) && (len(name) == len(dir) || name[len(dir)] == '/')
}

// parseAll reads patterns that are relative to the root.
func parseAll(texts []string) []pattern {
	all := make([]pattern, 0, len(texts))
	for _, t := range texts {
		clean, not := strings.CutPrefix(t, "!")
		clean = path.Clean(clean)
		if not {
			clean = "!" + clean
		}
		all = append(all, parse(clean))
	}
	return all
}

// matches reports what the last pattern that matches name says.
func matches(all []pattern, name string) bool {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].match(name) {
			return !all[i].not
		}
	}
	return false
}

// An index finds the patterns that may match a path without trying them all.
type index struct {
	at    map[string][]pattern // by folder
	ways  map[string]bool      // folders on the way to one of at, and those themselves
	texts string               // of all, a line each
}

// newIndex indexes patterns, but for those that take away.
func newIndex(all []pattern) index {
	x := index{at: map[string][]pattern{}, ways: map[string]bool{}}
	seen := map[string]bool{}
	var texts strings.Builder
	for _, p := range all {
		if p.not || seen[p.text] {
			continue
		}
		seen[p.text] = true
		x.at[p.folder] = append(x.at[p.folder], p)
		texts.WriteString(p.text + "\n")
		for dir := p.folder; dir != "" && !x.ways[dir]; dir = parent(dir) {
			x.ways[dir] = true
		}
	}
	x.texts = texts.String()
	return x
}

// parent returns the folder of a path; of one in the root, "".
func parent(name string) string {
	return name[:max(0, strings.LastIndexByte(name, '/'))]
}

// some reports whether ok is true of a pattern whose folder is name, or a folder that name is in.
func (x *index) some(name string, ok func(p *pattern) bool) bool {
	for dir := name; ; dir = parent(dir) {
		for i := range x.at[dir] {
			if ok(&x.at[dir][i]) {
				return true
			}
		}
		if dir == "" {
			return false
		}
	}
}

// wants reports whether a pattern matches a path, or may match what is below it.
func (x *index) wants(name string, isDir bool) bool {
	return isDir && x.ways[name] || x.some(name, func(p *pattern) bool { return p.match(name) || isDir && !p.plain && !p.flat })
}

// names reports whether a pattern names a path or what may be below it: by a folder that holds it, or altogether.
func (x *index) names(name string, isDir bool) bool {
	return isDir && x.ways[name] || x.some(name, func(p *pattern) bool { return p.folder != "" && !p.flat || p.match(name) })
}

// local reports whether p is a clean path below the root, and not of our own folder or git's.
func local(p string) bool { return reapi.IsLocal(p) && !ours(p) }

// ours reports whether p is in the .async or .git of the root, of an included pipeline or of a repository in it.
func ours(p string) bool {
	names := strings.Split(p, "/")
	return slices.Contains(names, ".async") || slices.Contains(names, ".git")
}
