package cache

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A pattern is one entry of inputs or outputs.
type pattern struct {
	text   string
	not    bool   // it takes away
	folder string // the part before the first wildcard, without what follows the last slash; of a text without wildcards, all
	suffix string // where the text is folder/**/*suffix: what a name must end with
	all    bool   // the text is folder/**
	plain  bool   // it has no wildcard
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
	p.all = rest == "**"
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
