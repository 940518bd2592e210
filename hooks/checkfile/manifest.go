package checkfile

// Manifests: files that are judged by their parts, because parts of production and of the check are in one file.

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A Part is a piece of a manifest that a change touched.
type Part struct {
	Name  string // "scripts.test"
	Line  int    // in the file after the change; 0 when it was removed
	Check bool   // it is restored; else it is the version of a dependency
	Test  bool   // it is a test in a source
}

const (
	maxRestored  = 2_000    // pieces that are restored one by one; with more, the file is restored as a whole
	maxInserted  = 5 << 20  // pieces that are looked at to insert others between them; with more, likewise
	maxPieceText = 16 << 20 // bytes of the names and values of pieces that say what is around them; with more, likewise
)

// Meanings of pieces.
const (
	plain      = iota // part of production, or without a meaning
	decides           // part of the check
	dependency        // a version; part of the check too when it now comes from another place
)

// A piece is one entry of a manifest. The texts of all pieces, in their order, are the manifest; those of JSON and
// CMake have no text.
type piece struct {
	section string // the heading above it
	name    string // "" for comments, blank lines and headings of production
	text    string
	alone   string // its text outside of the section, where that differs
	value   string // two pieces with one value are equal
	line    int
	is      int
}

// A meaning returns what an entry means by its name: plain, decides or dependency. heading: it is a table, which
// counts only where all of it is part of the check.
type meaning func(name string, heading bool) int

// meaningOf returns a meaning by two lists of names with blanks between. What is below a name means the same.
func meaningOf(check, dependencies string) meaning {
	checks, depends := strings.Fields(check), strings.Fields(dependencies)
	return func(name string, heading bool) int {
		switch {
		case under(name, heading, checks):
			return decides
		case under(name, true, depends):
			return dependency
		}
		return plain
	}
}

// A manifestKind splits and restores manifests of one kind.
type manifestKind struct {
	split func(src string) (list []piece, ok bool)
	// restore returns after with the pieces of the names in back as base has them. It is nil where the order of
	// pieces counts: the file is restored as a whole.
	restore func(base, after string, back map[string]bool) (text string, ok bool)
	tests   bool // it is a source with tests in it
}

// IsManifest reports whether p is judged by its parts.
func IsManifest(p string) bool { return manifestOf(p) != nil }

// manifestOf returns the kind of a manifest, nil for any other file.
func manifestOf(p string) *manifestKind {
	switch base := path.Base(p); {
	case foreign(p):
		return nil
	case lang.Matches("requirements*.txt", base), lang.Matches("constraints*.txt", base):
		return lineKind(splitRequirements)
	case isCMake(p):
		return &manifestKind{split: splitCMake}
	default:
		return manifestKinds[base]
	}
}

// manifestKinds are the manifests whose names are fixed.
var manifestKinds = map[string]*manifestKind{
	"package.json":        jsonKind(nodeMeaning),
	"composer.json":       jsonKind(composerMeaning),
	"deno.json":           jsonKind(denoMeaning),
	"pyproject.toml":      tomlKind(pyprojectMeaning),
	"Cargo.toml":          tomlKind(cargoMeaning),
	"Pipfile":             tomlKind(pipfileMeaning),
	"setup.cfg":           lineKind(splitINI),
	"go.mod":              lineKind(splitGoMod),
	"pnpm-workspace.yaml": lineKind(splitWorkspace),
}

// Parts returns the pieces that a change touched of a manifest, or of a source with tests in it, by line; nil for any
// other file.
func (c *Checks) Parts(change patch.Change) []Part {
	kind := c.partsOf(change.Path)
	if class := c.Class(change.Path); kind == nil || class > 0 {
		return nil
	}
	before, after, ok := texts(change)
	if !ok {
		return []Part{{Name: "the file as a whole", Line: 0, Check: true, Test: kind.tests}}
	}
	old, okOld := kind.split(before)
	now, okNow := kind.split(after)
	if !okOld || !okNow {
		return []Part{{Name: "the file as a whole", Line: min(1, len(after)), Check: true, Test: kind.tests}}
	}
	var list []Part
	for _, d := range differences(old, now) {
		if d.is != plain {
			list = append(list, Part{Name: d.name, Line: d.line, Check: d.is == decides, Test: kind.tests})
		}
	}
	return list
}

// texts returns both contents. ok is false where one is no regular file, or too large.
func texts(change patch.Change) (before, after string, ok bool) {
	get := func(f *patch.File) string {
		if f == nil {
			return ""
		}
		ok = ok && f.Mode&fs.ModeType == 0 && len(f.Data) <= maxReadSize
		return string(f.Data)
	}
	ok = true
	before = get(change.Before)
	after = get(change.After)
	return before, after, ok
}

// differences returns a piece for each name whose pieces differ, by line, then name.
func differences(old, now []piece) []piece {
	type sides struct {
		values [2][]string
		piece  piece
	}
	all := map[string]*sides{}
	for i, list := range [][]piece{old, now} {
		for _, p := range list {
			if p.name == "" {
				continue
			}
			s := all[p.name]
			if s == nil {
				s = &sides{piece: p}
				all[p.name] = s
				s.piece.line = 0
			}
			s.values[i] = append(s.values[i], p.value)
			if i == 1 && (s.piece.line == 0 || len(s.values[0]) >= len(s.values[1]) &&
				s.values[0][len(s.values[1])-1] != p.value) {
				s.piece.line = p.line
			}
			if p.is == decides {
				s.piece.is = decides
			}
		}
	}
	var list []piece
	for _, s := range all {
		if slices.Equal(s.values[0], s.values[1]) || registers(s.piece.name, s.values[0], s.values[1]) {
			continue
		}
		if s.piece.is == dependency {
			if now := origins(s.values[1]); len(now) > 0 && !slices.Equal(origins(s.values[0]), now) {
				s.piece.is = decides // no other version: another place
			}
		}
		list = append(list, s.piece)
	}
	slices.SortFunc(list, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.line, b.line),
			strings.Compare(a.name, b.name))
	})
	return list
}

// registers reports whether an entry lists the markers of pytest, and only got more of them: a marker selects nothing.
func registers(name string, was, now []string) bool {
	if !slices.Contains([]string{"pytest.markers", "tool:pytest.markers", "tool.pytest.ini_options.markers", "tool.pytest.markers"}, name) {
		return false
	}
	marks := func(values []string) (list []string) {
		for _, v := range values {
			for line := range strings.Lines(v) {
				if line = strings.Trim(line, " \t\r\n[],"); line != "" {
					list = append(list, line)
				}
			}
		}
		return list
	}
	has := marks(now)
	return !slices.ContainsFunc(marks(was), func(m string) bool { return !slices.Contains(has, m) })
}

// originForm matches the place that a dependency comes from: a URL or scheme, a key such as path, an owner/name, a
// path.
var originForm = lazily.Regexp(`(?i)\b(?:file|link|portal|patch|npm|git(?:\+\w+)?|https?|ssh|github|gitlab|bitbucket):[^\s"'#]*|` +
	`\b(?:path|git|url|registry|registry-index|index|editable|package|file)["']?\s*[=:]\s*(?:"[^"]*"|'[^']*')|` +
	`"[\w.-]+/[\w.-]+(?:#[^"]*)?"|"(?:\.{0,2}|~)/[^"]*"`)

// origins returns the places that a dependency comes from, without the version there.
func origins(values []string) []string {
	var list []string
	for _, value := range values {
		if !strings.ContainsAny(value, `:="'`) {
			continue
		}
		for _, m := range originForm().FindAllString(value, -1) {
			m, _, _ = strings.Cut(m, "#")
			if at := strings.LastIndexByte(m, '@'); at > strings.LastIndexByte(m, '/') {
				m = m[:at]
			}
			list = append(list, strings.TrimRight(m, `"'`))
		}
	}
	return set(list)
}

// restoreParts returns change with the check's parts of the manifest as they were. ok is false when nothing of the
// change is left.
func (k *manifestKind) restoreParts(change patch.Change) (patch.Change, bool) {
	before, after, ok := texts(change)
	if !ok {
		return change, false
	}
	old, okOld := k.split(before)
	now, okNow := k.split(after)
	if !okOld || !okNow {
		return change, false
	}
	back := map[string]bool{}
	for _, d := range differences(old, now) {
		if d.is == decides {
			back[d.name] = true
		}
	}
	if len(back) == 0 {
		return change, true
	}
	if k.restore == nil || change.After == nil {
		return change, false
	}
	text, ok := k.restore(before, after, back)
	if !ok || !k.restored(old, now, text, back) {
		return change, false
	}
	if change.Before != nil && text == before && change.Before.Mode == change.After.Mode {
		return change, false
	}
	change.After = &patch.File{Mode: change.After.Mode, Data: []byte(text)}
	return change, true
}

// restored reports whether text has the pieces of back as old has them, and all others as now has them.
func (k *manifestKind) restored(old, now []piece, text string, back map[string]bool) bool {
	got, ok := k.split(text)
	if !ok {
		return false
	}
	var want []piece
	for _, p := range old {
		if back[p.name] {
			want = append(want, p)
		}
	}
	for _, p := range now {
		if p.name != "" && !back[p.name] {
			want = append(want, p)
		}
	}
	return len(differences(want, got)) == 0
}

// lineKind returns the kind of manifests whose pieces are whole lines in sections. read needs not number them.
func lineKind(read func(string) ([]piece, bool)) *manifestKind {
	split := func(src string) ([]piece, bool) {
		list, ok := read(src)
		line := 1
		for i := range list {
			list[i].line = line
			line += strings.Count(list[i].text, "\n")
		}
		return list, ok
	}
	return &manifestKind{split: split, restore: func(base, after string, back map[string]bool) (string, bool) {
		old, _ := split(base)
		now, _ := split(after)
		was := map[string][]piece{}
		for _, p := range old {
			if back[p.name] {
				was[p.name] = append(was[p.name], p)
			}
		}
		var out []piece
		for _, p := range now {
			if back[p.name] {
				if len(was[p.name]) == 0 {
					continue
				}
				p.text, p.value = was[p.name][0].text, was[p.name][0].value
				was[p.name] = was[p.name][1:]
			}
			out = append(out, p)
		}
		added := 0
		for _, p := range old { // what the change took away
			if left := was[p.name]; len(left) == 0 || left[0].line != p.line {
				continue
			}
			if added++; added > maxRestored || added*len(out) > maxInserted {
				return "", false
			}
			was[p.name] = was[p.name][1:]
			p.text = cmp.Or(p.alone, p.text)
			out = slices.Insert(out, insertAt(out, p), p)
		}
		var text []byte
		for _, p := range out {
			if len(text) > 0 && text[len(text)-1] != '\n' {
				text = append(text, '\n')
			}
			text = append(text, p.text...)
		}
		return string(text), true
	}}
}

// insertAt returns where a piece that the change removed is inserted: after the piece of its name, else last in its
// section, else at the end.
func insertAt(list []piece, p piece) int {
	named, last := -1, -1
	for i, o := range list {
		if o.name == p.name {
			named = i
		}
		if o.section == p.section && strings.TrimSpace(o.text) != "" {
			last = i
		}
	}
	switch {
	case p.alone != "":
		return len(list)
	case named >= 0:
		return named + 1
	case last >= 0:
		return last + 1
	case p.section == "":
		return 0
	}
	return len(list)
}

// under reports whether name is one of prefixes or below one. A value that holds all of a prefix counts too: tool =
// {…}.
func under(name string, heading bool, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return name == prefix || strings.HasPrefix(name, prefix+".") || !heading && len(prefix) > len(name) && prefix[len(name)] == '.' && strings.HasPrefix(prefix, name)
	})
}
