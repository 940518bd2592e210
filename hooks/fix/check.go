// The checks before an apply: all of them, before anything is written.

package fix

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// A work is an apply that passed every check: what there is to write, and where.
type work struct {
	proposal    *Proposal
	by          string
	place       *place
	sub         string // the root relative to the place
	files       []string
	accepted    []string // ids of flags
	disposition string   // before this apply
	applied     []string // before this apply
	moves       []move   // what is not there yet; empty: nothing is to be written
	written     bool     // every file is in its place
}

// A move is one path that is written.
type move struct {
	path          string
	before, after *Content
	was, to       *patch.File
	perm          uint32 // permission bits it had
}

// refused is an error of a check.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}

func (s *Store) check(ctx context.Context, p *Proposal, o Options) (*work, error) {
	if p.name == "" {
		return nil, refused("the proposal was not read from the store")
	}
	if err := p.real(); err != nil {
		return nil, refused("%w", err)
	}
	decisions, err := readDecisions(p.statePath(), p.digest)
	if err != nil {
		return nil, refused("%w", err)
	}
	w := &work{proposal: p, by: o.By}
	w.disposition, w.applied = disposition(&p.Fix, decisions)
	switch {
	case p.State != Proposed || p.Patch == nil:
		return nil, refused("the healing of task %s in run %s ended as %s; there is nothing to apply", p.Task, p.Run, p.State)
	case w.disposition == rejected || w.disposition == superseded:
		return nil, refused("this fix was %s at %s; heal again, or apply %s with git apply", w.disposition, decisions[len(decisions)-1].At, p.patchPath())
	case digest(p.Diff) != p.Patch.Digest:
		return nil, refused("%w: the patch is not the one that was proposed; heal again", ErrDamaged)
	}
	if err := consistent(&p.Fix); err != nil {
		return nil, refused("%w: %w; heal again", ErrDamaged, err)
	}
	if err := p.ofItsRun(); err != nil {
		return nil, refused("%w", err)
	}
	parsed, recorded, err := p.readDiff()
	if err != nil {
		return nil, err
	}
	top, repo, err := s.top(ctx, p)
	if err != nil {
		return nil, err
	}
	if w.sub, err = s.under(top); err != nil {
		return nil, err
	}
	if repo != nil {
		came, err := tracked(ctx, repo, w.sub)
		if err != nil {
			return nil, err
		}
		if came {
			return nil, refused("%w", ErrForeign)
		}
	}
	if w.files, err = chosen(recorded, o, top); err != nil {
		return nil, err
	}
	if p.Base != nil && p.Base.Sub != nil && *p.Base.Sub != w.sub {
		return nil, refused("the fix was made with the pipeline's folder at %q of its work tree, now it is at %q; heal again", *p.Base.Sub, w.sub)
	}
	if w.place, err = openPlace(top); err != nil {
		return nil, err
	}
	if err := w.compare(ctx, parsed, recorded, repo, o); err != nil {
		w.place.close()
		return nil, err
	}
	return w, nil
}

// compare checks the tree against the patch.
func (w *work) compare(ctx context.Context, parsed *patch.Patch, recorded map[string]PatchFile, repo *git.Repo, o Options) error {
	if err := w.present(ctx, recorded, repo); err != nil {
		return err
	}
	var err error
	w.accepted, err = w.proposal.acceptedFlags(w.files, o)
	if len(w.moves) == 0 {
		return nil // it is in the tree: a flag is no longer a question
	}
	if err != nil {
		return err
	}
	if repo != nil && !o.AllowDirty {
		var paths []string
		for _, m := range w.moves {
			paths = append(paths, m.path)
		}
		dirty, err := repo.Dirty(ctx, paths...)
		if err != nil {
			return err
		}
		if len(dirty) > 0 {
			return refused("%w: %s; commit or stash them, or say --allow-dirty", ErrDirty, list(dirty))
		}
	}
	if err := w.writable(); err != nil {
		return err
	}
	return w.target(parsed)
}

// writable says which folder of a file that is to be written takes no new names.
func (w *work) writable() error {
	seen := map[string]bool{}
	for _, m := range w.moves {
		dir, err := w.place.nearest(m.path)
		if err != nil {
			return refused("%w", err)
		}
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if err := w.place.writable(dir); err != nil {
			return refused("%s could not be written: %w", m.path, advice.Writing(err, filepath.Join(w.place.top.Name(), filepath.FromSlash(dir))))
		}
	}
	return nil
}

func (p *Proposal) patchPath() string { return filepath.Join(p.Dir, filepath.FromSlash(p.Patch.Path)) }

// readDiff parses the patch and holds it against what the record says of each file.
func (p *Proposal) readDiff() (*patch.Patch, map[string]PatchFile, error) {
	parsed, err := patch.Parse(p.Diff)
	if err != nil {
		return nil, nil, refused("%s: %w", p.patchPath(), err)
	}
	recorded := map[string]PatchFile{}
	for _, f := range p.Patch.Files {
		recorded[fullPath(f.Path, f.PathBytes)] = f
	}
	named := map[string]bool{}
	for _, f := range parsed.Files {
		if err := safePath(f.Path); err != nil {
			return nil, nil, refused("%s: %w", p.patchPath(), err)
		}
		if r, ok := recorded[f.Path]; !ok || r.Before == nil && r.After == nil {
			return nil, nil, refused("%w: the patch touches %q, of which the record says nothing", ErrDamaged, f.Path)
		}
		named[f.Path] = true
	}
	if len(named) != len(recorded) {
		return nil, nil, refused("%w: the record names files that the patch does not touch", ErrDamaged)
	}
	return parsed, recorded, nil
}

// chosen gives the paths of the patch that are to be applied, sorted. A name is a path of the patch, or one as it is
// typed in o.Dir; with ./ or ../ before it the latter comes first.
func chosen(recorded map[string]PatchFile, o Options, top string) ([]string, error) {
	all := slices.Sorted(maps.Keys(recorded))
	if o.Files == nil {
		return all, nil
	}
	var only []string
	for _, typed := range o.Files {
		names := []string{path.Clean(filepath.ToSlash(typed)), below(top, o.Dir, typed)}
		if strings.HasPrefix(typed, ".") {
			slices.Reverse(names)
		}
		n := slices.IndexFunc(names, func(name string) bool { return slices.Contains(all, name) })
		if n < 0 {
			return nil, refused("%q is not in the patch; it touches: %s", typed, list(all))
		}
		only = append(only, names[n])
	}
	slices.Sort(only)
	if only = slices.Compact(only); len(only) == 0 {
		return nil, refused("no file is chosen; the patch touches: %s", list(all))
	}
	return only, nil
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

// acceptedFlags gives the ids of the flags that concern files, when each was accepted by id or rule.
func (p *Proposal) acceptedFlags(files []string, o Options) ([]string, error) {
	var ids, missing []string
	for _, f := range p.Flags {
		if f.Path != nil && o.Files != nil && !slices.Contains(files, *f.Path) {
			continue // its file is not applied
		}
		if slices.Contains(o.Accept, f.ID) || slices.Contains(o.Accept, f.Rule) {
			ids = append(ids, f.ID)
			continue
		}
		where := ""
		if f.Path != nil {
			where = " " + *f.Path
			if f.Line != nil {
				where += fmt.Sprintf(":%d", *f.Line)
			}
		}
		missing = append(missing, fmt.Sprintf("%s %s%s", f.ID, f.Rule, where))
	}
	for _, a := range o.Accept {
		if !slices.ContainsFunc(p.Flags, func(f Flag) bool { return f.ID == a || f.Rule == a }) {
			return nil, refused("--accept %s: this fix has no such flag", a)
		}
	}
	if len(missing) > 0 {
		return nil, refused("%w: %s; look at each, then name it by its id or rule", ErrFlagged, list(missing))
	}
	return ids, nil
}

// top is the folder that the patch's paths start from: git's top, or the root where there is no git.
func (s *Store) top(ctx context.Context, p *Proposal) (string, *git.Repo, error) {
	repo, err := git.Of(ctx, s.Root)
	if err == nil {
		return repo.Top, repo, nil
	}
	if !errors.Is(err, git.ErrNone) {
		return "", nil, err
	}
	if p != nil && p.Base != nil && p.Base.Commit != nil {
		return "", nil, refused("the fix was made in a git work tree, at commit %s, but: %w; bring the repository back, or apply %s by hand", *p.Base.Commit, err, p.patchPath())
	}
	top, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return "", nil, err
	}
	top, err = filepath.Abs(top)
	return top, nil, err
}

// under is the root relative to top, slash-separated.
func (s *Store) under(top string) (string, error) {
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	sub, err := filepath.Rel(top, root)
	if err != nil || !filepath.IsLocal(sub) {
		return "", fmt.Errorf("%s does not lie below %s, the work tree that git names for it", root, top)
	}
	return filepath.ToSlash(sub), nil
}

// list is a list for a message.
func list(names []string) string {
	const most = 10
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}
