package apply

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A selection is which parts of each path of a patch are to be applied; a part is a hunk, or all of a file without
// hunks.
type selection map[string][]bool

// all returns n parts, every one selected.
func all(n int) []bool { return slices.Repeat([]bool{true}, n) }

// A selector reads what a person typed to select parts of a patch.
type selector struct {
	groups map[string]patch.PathPatch
	names  []string // sorted
	dir    string   // absolute: what was typed is relative to it; empty: to nothing
	top    string   // where the paths of the patch begin
}

// sorted returns a patch path by path, sorted.
func sorted(p *patch.Patch) []patch.PathPatch {
	return slices.SortedFunc(slices.Values(p.Paths()), func(a, b patch.PathPatch) int {
		return strings.Compare(a.Path, b.Path)
	})
}

// choose returns what o selects of a patch. A name that the patch does not have is ErrUse.
func choose(paths []patch.PathPatch, o Options, top string) (selection, error) {
	s := selector{groups: map[string]patch.PathPatch{}, dir: o.Dir, top: top}
	chosen := selection{}
	for _, g := range paths {
		s.groups[g.Path], s.names = g, append(s.names, g.Path)
		if !o.some() {
			chosen[g.Path] = all(len(g.Parts()))
		}
	}
	for _, typed := range o.Files {
		name := s.path(typed)
		if name == "" {
			return nil, misused("--files %q is not in the patch; it touches: %s", typed, s.touches())
		}
		chosen[name] = all(len(s.groups[name].Parts()))
	}
	for _, typed := range o.Hunks {
		name, n, err := s.hunk(typed)
		if err != nil {
			return nil, err
		}
		if chosen[name] == nil {
			chosen[name] = make([]bool, len(s.groups[name].Parts()))
		}
		chosen[name][n-1] = true
	}
	if len(chosen) == 0 {
		return nil, misused("no file is chosen; the patch touches: %s", s.touches())
	}
	return chosen, nil
}

func (s *selector) touches() string { return english.List(s.names, 10) }

// path returns the path of the patch that was typed, or "". It is a path of the patch, or one relative to dir; with
// ./ or ../ before it the latter comes first.
func (s *selector) path(typed string) string {
	spellings := []string{path.Clean(filepath.ToSlash(typed)), below(s.top, s.dir, typed)}
	if strings.HasPrefix(typed, ".") {
		slices.Reverse(spellings)
	}
	n := slices.IndexFunc(spellings, func(name string) bool { return slices.Contains(s.names, name) })
	if n < 0 {
		return ""
	}
	return spellings[n]
}

// hunk reads PATH:N, or N alone where the patch has one file.
func (s *selector) hunk(typed string) (name string, n int, err error) {
	file, number := "", typed
	if i := strings.LastIndexByte(typed, ':'); i >= 0 {
		file, number = typed[:i], typed[i+1:]
	}
	n, err = strconv.Atoi(number)
	switch {
	case err != nil:
		return "", 0, misused("--hunk %q: want PATH:N, N counted from 1; the patch touches: %s", typed, s.touches())
	case file == "" && len(s.names) > 1:
		return "", 0, misused("--hunk %q: the patch has several files, say of which: PATH:%d; it touches: %s", typed, n,
			s.touches())
	case file == "":
		name = s.names[0]
	default:
		if name = s.path(file); name == "" {
			return "", 0, misused("--hunk %q: %q is not in the patch; it touches: %s", typed, file, s.touches())
		}
	}
	parts := s.groups[name].Parts()
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

// below returns a path that was typed in dir, relative to top and slash-separated, or "" when it is not below top.
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

// quoted returns a word for a shell.
func quoted(word string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@"
	if strings.Trim(word, bare) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Selected returns the text of what o selects of the patch, for an editor. It checks the record as Apply does, but
// not the tree.
func (t Tree) Selected(ctx context.Context, p *fix.Proposal, o Options) ([]byte, error) {
	_, chosen, err := t.selection(ctx, p, &o)
	if err != nil {
		return nil, err
	}
	return patch.Select(p.Diff, func(path string, n int) bool {
		parts := chosen[path]
		return n < len(parts) && parts[n]
	})
}

// edit replaces what was selected by an edited patch. It may touch only selected paths. Of each file that it touches all
// that was selected counts as applied, whatever hunks it has.
func (p *plan) edit(text []byte) error {
	counted, err := patch.Recount(text)
	if err != nil {
		return refused("the edited patch: %w", err)
	}
	parsed, err := patch.Parse(counted)
	if err != nil {
		return refused("the edited patch: %w", err)
	}
	if len(parsed.Files) == 0 {
		return refused("nothing is left of the edited patch")
	}
	var targets []target
	var files []string
	for _, g := range sorted(parsed) {
		n := slices.Index(p.files, g.Path) // files and targets have one order
		if n < 0 {
			return refused("the edited patch touches %q, which was not chosen; it may touch: %s", g.Path,
				english.List(p.files, 10))
		}
		t := p.targets[n]
		t.edited = &g
		targets, files = append(targets, t), append(files, g.Path)
	}
	p.targets, p.files = targets, files
	p.Hunks = slices.DeleteFunc(p.Hunks, func(h fix.Part) bool {
		return !slices.ContainsFunc(files, func(f string) bool { return fix.AsStored(f) == h.Path })
	})
	p.Edited, p.PatchDigest = true, recordfile.Digest(counted)
	return nil
}

// outcomeEdited is outcome for an edited patch, which is made for what the fix found.
func (t *target) outcomeEdited(ctx context.Context, now node) (outcome, error) {
	base, ok := now.file, now.is(t.before)
	if !ok {
		base, ok = t.contents(t.before)
	}
	if !ok {
		return outcome{why: notKept}, nil
	}
	n := len(t.edited.Parts())
	to, err := t.edited.Splice(base, make([]bool, n), all(n))
	if err != nil {
		return outcome{}, refused("the edited patch: %w", err)
	}
	switch {
	case now.is(fix.ContentOf(to)):
		return outcome{there: true}, nil
	case now.is(t.before), t.before == nil && now.dir:
		return outcome{to: to}, nil
	case !t.threeWay && !t.continues(now):
		return outcome{why: difference(now, t.before)}, nil
	}
	return t.merge(ctx, now, &edited{to})
}
