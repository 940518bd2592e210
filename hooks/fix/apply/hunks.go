// What a person chooses of a patch: files, and hunks of files.

package apply

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// An aim is what one path is to become.
type aim struct {
	path          string
	before, after *fix.Content     // as the record has them
	group         patch.PathPatch  // what the patch does to it
	parts         []bool           // what is chosen of that
	back          bool             // the way back
	edited        *patch.PathPatch // what a person made of group; nil: nothing
}

// ends are the contents that the path is to have before and after; those of an edited patch are not known yet.
func (a *aim) ends() (from, to *fix.Content) {
	if a.back {
		return a.after, a.before
	}
	return a.before, a.after
}

// aim gives w its aims and files.
func (w *work) aim(all []patch.PathPatch, chosen map[string][]bool) {
	for _, g := range all {
		parts, ok := chosen[g.Path]
		if !ok {
			continue
		}
		r := w.patched[g.Path]
		w.aims = append(w.aims, aim{path: g.Path, before: r.Before, after: r.After, group: g, parts: parts, back: w.what == toRevert})
		w.files = append(w.files, g.Path)
		if slices.Contains(parts, false) && w.what == toApply {
			w.Hunks = append(w.Hunks, fix.PartOf(g.Path, parts))
		}
	}
	slices.SortFunc(w.aims, func(a, b aim) int { return strings.Compare(a.path, b.path) })
	slices.SortFunc(w.Hunks, func(a, b fix.Part) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(w.files)
}

// every is n parts, all of them set.
func every(n int) []bool { return slices.Repeat([]bool{true}, n) }

// choose gives the parts of each path that are to be applied. A name is a path of the patch, or one as it is typed in
// o.Dir; with ./ or ../ before it the latter comes first. A name of nothing is ErrUse.
func choose(all []patch.PathPatch, o Options, top string) (map[string][]bool, error) {
	groups, chosen := map[string]patch.PathPatch{}, map[string][]bool{}
	for _, g := range all {
		groups[g.Path] = g
		if !o.some() {
			chosen[g.Path] = every(len(g.Parts()))
		}
	}
	names := slices.Sorted(maps.Keys(groups))
	for _, typed := range o.Files {
		name := inPatch(names, o, top, typed)
		if name == "" {
			return nil, misused("--files %q is not in the patch; it touches: %s", typed, english.List(names, 10))
		}
		chosen[name] = every(len(groups[name].Parts()))
	}
	for _, typed := range o.Hunks {
		name, n, err := hunkOf(groups, names, o, top, typed)
		if err != nil {
			return nil, err
		}
		if chosen[name] == nil {
			chosen[name] = make([]bool, len(groups[name].Parts()))
		}
		chosen[name][n-1] = true
	}
	if len(chosen) == 0 {
		return nil, misused("no file is chosen; the patch touches: %s", english.List(names, 10))
	}
	return chosen, nil
}

// inPatch is the path of the patch that a person typed; empty when there is none.
func inPatch(names []string, o Options, top, typed string) string {
	spellings := []string{path.Clean(filepath.ToSlash(typed)), below(top, o.Dir, typed)}
	if strings.HasPrefix(typed, ".") {
		slices.Reverse(spellings)
	}
	n := slices.IndexFunc(spellings, func(name string) bool { return slices.Contains(names, name) })
	if n < 0 {
		return ""
	}
	return spellings[n]
}

// hunkOf reads PATH:N, or N alone where the patch has one file.
func hunkOf(groups map[string]patch.PathPatch, names []string, o Options, top, typed string) (name string, n int, err error) {
	file, number := "", typed
	if i := strings.LastIndexByte(typed, ':'); i >= 0 {
		file, number = typed[:i], typed[i+1:]
	}
	n, err = strconv.Atoi(number)
	switch {
	case err != nil:
		return "", 0, misused("--hunk %q: want PATH:N, N counted from 1; the patch touches: %s", typed, english.List(names, 10))
	case file == "" && len(names) > 1:
		return "", 0, misused("--hunk %q: the patch has several files, say of which: PATH:%d; it touches: %s", typed, n, english.List(names, 10))
	case file == "":
		name = names[0]
	default:
		if name = inPatch(names, o, top, file); name == "" {
			return "", 0, misused("--hunk %q: %q is not in the patch; it touches: %s", typed, file, english.List(names, 10))
		}
	}
	parts := groups[name].Parts()
	if len(parts) == 1 && parts[0] == "mode" {
		return "", 0, misused("--hunk %q: %s has no hunk, only another mode; --files takes it", typed, name)
	}
	if n < 1 || n > len(parts) {
		var have []string
		for i, p := range parts {
			have = append(have, fmt.Sprintf("%d (%s)", i+1, p))
		}
		return "", 0, misused("--hunk %q: %s has: %s", typed, name, english.List(have, 10))
	}
	return name, n, nil
}

// below is a path that was typed in dir, relative to top and slash-separated; empty when it is none below top.
func below(top, dir, typed string) string {
	if !filepath.IsAbs(typed) {
		if dir == "" {
			return ""
		}
		typed = filepath.Join(dir, typed)
	}
	// Only the folder is resolved: the file itself may be a link, or not there yet.
	if real, err := filepath.EvalSymlinks(filepath.Dir(typed)); err == nil {
		typed = filepath.Join(real, filepath.Base(typed))
	}
	rel, err := filepath.Rel(top, typed)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// holdsParts says which parts of the patch a path holds; false when it is not the base with some of them.
func (w *work) holdsParts(a *aim, h held) ([]bool, bool) {
	if h.dir || h.other || h.long {
		return nil, false
	}
	isBase := func(f *patch.File) bool { return (held{file: f}).holds(a.before) }
	n := len(a.parts)
	// What is recorded comes first: two sets of hunks can make one text.
	if s := w.stood[fix.AsStored(a.path)]; s.Any() {
		parts := s.Hunks
		if s.All {
			parts = every(n)
		}
		if len(parts) == n {
			if base, err := a.group.Splice(h.file, parts, make([]bool, n)); err == nil && isBase(base) {
				return parts, true
			}
		}
	}
	return a.group.Holds(h.file, isBase)
}

// with are the parts of has with those of more, or without them.
func with(has, more []bool, without bool) []bool {
	sum := slices.Clone(has)
	for i, set := range more {
		if set {
			sum[i] = !without
		}
	}
	return sum
}
