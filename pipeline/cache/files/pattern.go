package files

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
)

// A Pattern is one entry of inputs or outputs.
type Pattern struct {
	text   string
	Not    bool   // it takes away
	Folder string // the part before the first wildcard, without what follows the last slash; of a text without wildcards, all
	suffix string // where the text is folder/**/*suffix: what a name must end with
	All    bool   // the text is folder/**
	Plain  bool   // it has no wildcard: it matches a file, or a folder with all that is in it
	exact  bool   // of those, it matches the path and nothing else
	flat   bool   // the text is folder/*
	levels int    // how many levels below Folder a match is at the most; 0: any number
}

// Parse reads a pattern, which is clean (see pipeline/hclfile).
func Parse(text string) Pattern {
	p := Pattern{}
	p.text, p.Not = strings.CutPrefix(text, "!")
	if p.text == "." {
		p.text = "**"
	}
	base, rest := doublestar.SplitPattern(p.text)
	if !strings.ContainsAny(p.text, `*?[{\`) {
		p.Plain, p.Folder = true, p.text
		return p
	}
	if base != "." {
		p.Folder = base
	}
	p.All, p.flat = rest == "**", rest == "*"
	if !strings.Contains(rest, "**") && !strings.Contains(rest, "{") { // braces may hold slashes
		p.levels = strings.Count(rest, "/") + 1
	}
	if s, ok := strings.CutPrefix(rest, "**/*"); ok && !strings.ContainsAny(s, `*?[{\/`) && s != "" {
		p.suffix = s
	}
	return p
}

// Exactly returns a pattern that matches one path only, whatever characters it has.
func Exactly(path string) Pattern { return Pattern{text: path, Plain: true, exact: true, Folder: path} }

// match reports whether a path matches.
func (p *Pattern) match(name string) bool {
	switch {
	case p.Plain:
		return name == p.text || !p.exact && Within(name, p.text)
	case p.Folder != "" && !Within(name, p.Folder):
		return false
	case p.All:
		return true
	case p.flat:
		return name != p.Folder && Parent(name) == p.Folder
	case p.suffix != "":
		return strings.HasSuffix(name, p.suffix) && name != p.Folder
	}
	ok, err := doublestar.Match(p.text, name)
	return ok && err == nil
}

// MayMatchIn reports whether the pattern may match a folder, or something in it.
func (p *Pattern) MayMatchIn(dir string) bool {
	switch {
	case Within(p.Folder, dir):
		return true
	case p.exact || !Within(dir, p.Folder):
		return false
	}
	return p.match(dir) || p.reaches(dir)
}

// reaches reports whether the pattern may match something in a folder, which is in p.Folder.
func (p *Pattern) reaches(dir string) bool {
	return p.levels == 0 || depth(dir)-depth(p.Folder) < p.levels
}

// depth returns how many names a path has.
func depth(name string) int {
	if name == "" {
		return 0
	}
	return strings.Count(name, "/") + 1
}

// Within reports whether name is dir or below it. Everything is within "".
func Within(name, dir string) bool {
	return dir == "" || strings.HasPrefix(name, dir) && (len(name) == len(dir) || name[len(dir)] == '/')
}

// ParseAll reads patterns that are relative to the root.
func ParseAll(texts []string) []Pattern {
	all := make([]Pattern, 0, len(texts))
	for _, t := range texts {
		clean, not := strings.CutPrefix(t, "!")
		clean = path.Clean(clean)
		if not {
			clean = "!" + clean
		}
		all = append(all, Parse(clean))
	}
	return all
}

// Matches reports whether the last pattern that matches name is one without !.
func Matches(all []Pattern, name string) bool {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].match(name) {
			return !all[i].Not
		}
	}
	return false
}

// OnPurpose reports whether one of the patterns of inputs names a path on purpose that outputs match, too: it matches no
// more than the outputs do, as src/** and src/**, or go.sum. inputs = ["**"] and outputs = ["dist/**"] mean the inputs
// but for what is made of them.
func OnPurpose(inputs, outputs []Pattern, name string) bool {
	for i := range inputs {
		p := &inputs[i]
		wider := func(o Pattern) bool { return o.match(name) && !p.within(&o, name) }
		if !p.Not && p.match(name) && !slices.ContainsFunc(outputs, wider) {
			return true
		}
	}
	return false
}

// within reports whether it is clear that p matches no more than o does, of what is near name.
func (p *Pattern) within(o *Pattern, name string) bool {
	return p.text == name || p.text == o.text || Within(p.Folder, o.Folder) && (o.All || o.Plain || p.Folder != o.Folder)
}

// An index finds the patterns that may match a path without trying them all.
type index struct {
	at    map[string][]Pattern // by folder
	ways  map[string]bool      // folders on the way to one of at, and those themselves
	texts string               // of all, a line each
}

// newIndex indexes patterns, but for those that take away.
func newIndex(all []Pattern) index {
	x := index{at: map[string][]Pattern{}, ways: map[string]bool{}}
	seen := map[string]bool{}
	var texts strings.Builder
	for _, p := range all {
		if p.Not || seen[p.text] {
			continue
		}
		seen[p.text] = true
		x.at[p.Folder] = append(x.at[p.Folder], p)
		texts.WriteString(p.text + "\n")
		for dir := p.Folder; dir != "" && !x.ways[dir]; dir = Parent(dir) {
			x.ways[dir] = true
		}
	}
	x.texts = texts.String()
	return x
}

// Parent returns the folder of a path; of one in the root, "".
func Parent(name string) string {
	return name[:max(0, strings.LastIndexByte(name, '/'))]
}

// some reports whether ok is true of a pattern whose folder is name, or a folder that name is in.
func (x *index) some(name string, ok func(p *Pattern) bool) bool {
	for dir := name; ; dir = Parent(dir) {
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

// wants reports whether a pattern matches a path, or may match what is below it: of something else than a folder too, as it
// may be a link to one.
func (x *index) wants(name string, isDir bool) bool {
	return x.ways[name] || x.some(name, func(p *Pattern) bool { return p.match(name) || isDir && !p.Plain && p.reaches(name) })
}

// chosen reports whether a pattern matches a path.
func (x *index) chosen(name string) bool {
	return x.some(name, func(p *Pattern) bool { return p.match(name) })
}

// names reports whether a pattern names a path or what may be below it: by a folder that holds it, or altogether.
func (x *index) names(name string, isDir bool) bool {
	return isDir && x.ways[name] || x.some(name, func(p *Pattern) bool { return p.Folder != "" && p.reaches(name) || p.match(name) })
}

// Local reports whether p is a clean path below the root, and not of our own folder or git's.
func Local(p string) bool { return reapi.IsLocal(p) && !Ours(p) }

// Ours reports whether p is in the .async or .git of the root, of an included pipeline or of a repository in it.
func Ours(p string) bool {
	for more := p != ""; more; {
		var name string
		if name, p, more = strings.Cut(p, "/"); name == ".async" || name == ".git" {
			return true
		}
	}
	return false
}

// AskedFor returns patterns of what file functions of PIPELINE.hcl were asked for: filesets are patterns, names are
// files.
func AskedFor(filesets, names []string) []Pattern {
	all := ParseAll(filesets)
	for _, name := range names {
		all = append(all, Exactly(name))
	}
	return all
}

// EscapeAll returns patterns that match only the files of these names.
func EscapeAll(names []string) []string {
	special := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `\`, `\\`)
	all := make([]string, 0, len(names))
	for _, name := range names {
		clean := special.Replace(name)
		if strings.HasPrefix(clean, "!") {
			clean = `\` + clean
		}
		all = append(all, clean)
	}
	return all
}
