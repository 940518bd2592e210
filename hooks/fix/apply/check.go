// The checks before an apply: all of them, before anything is written.

package apply

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A work is an apply or a revert that passed every check: what there is to write, and where.
type work struct {
	tree        Tree
	proposal    *fix.Proposal
	what        string // apply | revert
	by          string
	place       *place
	repo        *git.Repo // nil: no git
	sub         string    // the root relative to the place
	top         string
	threeWay    bool
	patched     map[string]fix.PatchFile // all that the patch touches
	aims        []aim
	files       []string // the paths of aims, sorted
	accepted    []string // ids of flags
	decisions   []fix.StateChange
	disposition string // before this
	stood       map[string]fix.Extent
	history     map[string][]fix.Wrote
	fix.Details          // for the record
	dirty       []string // uncommitted edits that are gone over
	since       []string // paths that hold what was applied, and were edited elsewhere since
	moves       []move   // what is not there yet; empty: nothing is to be written
	written     bool     // every file is in its place
	secrets     *redact.Set
}

// A move is one path that is written.
type move struct {
	path          string
	before, after *fix.Content
	was, to       *patch.File
	perm          uint32 // permission bits it had
}

// Kinds of work, as the journal has them.
const (
	toApply  = "apply"
	toRevert = "revert"
)

// refused is an error of a check.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fix.ErrRefused}, args...)...)
}

// misused is an error of what a person named.
func misused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fix.ErrUse}, args...)...)
}

// check makes every check of an apply.
func (t Tree) check(ctx context.Context, p *fix.Proposal, o Options) (*work, error) {
	w := &work{tree: t, proposal: p, what: toApply, by: o.By, threeWay: o.ThreeWay}
	parsed, err := w.believe(ctx)
	if err != nil {
		return nil, err
	}
	if o.Accept, err = namedFlags(p, o.Accept); err != nil {
		return nil, err
	}
	all := parsed.Paths()
	sel, err := choose(all, o, w.top)
	if err != nil {
		return nil, err
	}
	w.aim(all, sel)
	if o.Edited != nil {
		if err := w.edit(o.Edited); err != nil {
			return nil, err
		}
	}
	if w.place, err = openPlace(w.top); err != nil {
		return nil, err
	}
	if err := w.compare(ctx, o); err != nil {
		w.place.close()
		return nil, err
	}
	return w, nil
}

// believe checks the record: it is whole, of its run, made here, and a proposal that may be worked with. It fills in what w
// knows of the fix and of its tree.
func (w *work) believe(ctx context.Context) (*patch.Patch, error) {
	t, p := w.tree, w.proposal
	if p.Name == "" {
		return nil, refused("the proposal was not read from the store")
	}
	if err := p.CheckFolders(); err != nil {
		return nil, refused("%w", err)
	}
	decisions, err := fix.ReadState(p.StatePath(), p.Digest)
	if err != nil {
		return nil, refused("%w", err)
	}
	w.decisions = decisions
	w.disposition, _ = fix.DispositionOf(&p.Fix, decisions)
	switch {
	case p.State != fix.Proposed || p.Patch == nil:
		return nil, refused("the healing of task %s in run %s ended as %s; there is no patch", p.Task, p.Run, p.State)
	case recordfile.Digest(p.Diff) != p.Patch.Digest:
		return nil, refused("%w: the patch is not the one that was proposed; heal again", fix.ErrDamaged)
	}
	if err := w.barred(); err != nil {
		return nil, err
	}
	w.stood, w.history = fix.Extents(&p.Fix, decisions), historyOf(&p.Fix, decisions)
	if err := fix.Consistent(&p.Fix); err != nil {
		return nil, refused("%w: %w; heal again", fix.ErrDamaged, err)
	}
	if err := p.CheckRun(); err != nil {
		return nil, refused("%w", err)
	}
	parsed, recorded, err := p.ParseDiff()
	if err != nil {
		return nil, refused("%w", err)
	}
	w.patched = recorded
	if w.top, w.repo, err = t.top(ctx, p); err != nil {
		return nil, err
	}
	if w.sub, err = t.under(w.top); err != nil {
		return nil, err
	}
	if w.repo != nil {
		came, err := tracked(ctx, w.repo, w.sub)
		if err != nil {
			return nil, err
		}
		if came {
			return nil, refused("%w", ErrForeign)
		}
	}
	if p.Base != nil && p.Base.Sub != nil && *p.Base.Sub != w.sub {
		return nil, refused("the fix was made with the pipeline's folder at %q of its work tree, now it is at %q; heal again", *p.Base.Sub, w.sub)
	}
	return parsed, nil
}

// because is why the last decision was made, in a message.
func because(all []fix.StateChange) string {
	if reason := all[len(all)-1].Reason; reason != "" {
		return fmt.Sprintf(" (%q)", reason)
	}
	return ""
}

// compare checks the tree against the patch.
func (w *work) compare(ctx context.Context, o Options) error {
	if err := w.present(ctx); err != nil {
		return err
	}
	var err error
	w.accepted, err = acceptedFlags(w.proposal, w.files, o)
	if len(w.moves) == 0 {
		return nil // it is in the tree: a flag is no longer a question
	}
	if err != nil {
		return err
	}
	if err := w.clean(ctx); err != nil && !o.AllowDirty {
		return err
	}
	return w.writable()
}

// clean finds files with uncommitted edits. What an apply of this fix wrote, and nobody edited since, is none.
func (w *work) clean(ctx context.Context) error {
	if w.repo == nil {
		return nil
	}
	var paths []string
	for _, m := range w.moves {
		steps := w.history[m.path]
		if n := len(steps); n == 0 || !(held{file: m.was}).holds(steps[n-1].After) {
			paths = append(paths, m.path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	var err error
	if w.dirty, err = w.repo.Dirty(ctx, paths...); err != nil {
		return err
	}
	if len(w.dirty) > 0 {
		return refused("%w: %s; commit or stash them, or say --allow-dirty", fix.ErrDirty, english.List(w.dirty, 10))
	}
	return nil
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

// acceptedFlags gives the ids of the flags that concern files, when each was accepted by id or rule.
func acceptedFlags(p *fix.Proposal, files []string, o Options) ([]string, error) {
	var ids, missing []string
	for _, f := range p.Flags {
		if f.Path != nil && o.some() && !slices.Contains(files, *f.Path) {
			continue // its file is not applied
		}
		if slices.Contains(o.Accept, f.ID) || slices.Contains(o.Accept, f.Rule) {
			ids = append(ids, f.ID)
			continue
		}
		missing = append(missing, flagName(&f))
	}
	if len(missing) > 0 {
		return nil, refused("%w: %s; look at each, then name it by its id or rule", fix.ErrFlagged, english.List(missing, 10))
	}
	return ids, nil
}

// namedFlags are the ids and rules of accept, each of which may be several with commas between them. One that no flag of the fix has
// is ErrUse.
func namedFlags(p *fix.Proposal, accept []string) ([]string, error) {
	var all, have []string
	for _, f := range p.Flags {
		have = append(have, flagName(&f))
	}
	for _, typed := range accept {
		for name := range strings.SplitSeq(typed, ",") {
			name = strings.TrimSpace(name)
			switch {
			case slices.ContainsFunc(p.Flags, func(f fix.Flag) bool { return f.ID == name || f.Rule == name }):
				all = append(all, name)
			case len(have) == 0:
				return nil, misused("--accept %q: nothing in this fix is flagged; leave it out", name)
			default:
				return nil, misused("--accept %q: this fix has no such flag; it has: %s", name, english.List(have, 10))
			}
		}
	}
	return all, nil
}

// flagName is a flag in a message: id, rule and place.
func flagName(f *fix.Flag) string {
	text := f.ID + " " + f.Rule
	if f.Path != nil {
		text += " " + *f.Path
		if f.Line != nil {
			text += fmt.Sprintf(":%d", *f.Line)
		}
	}
	return text
}

// top is the folder that the patch's paths start from: git's top, or the root where there is no git.
func (t Tree) top(ctx context.Context, p *fix.Proposal) (string, *git.Repo, error) {
	repo, err := git.Of(ctx, t.Fixes.Root)
	if err == nil {
		return repo.Top, repo, nil
	}
	if !errors.Is(err, git.ErrNone) {
		return "", nil, err
	}
	if p != nil && p.Base != nil && p.Base.Commit != nil {
		return "", nil, refused("the fix was made in a git work tree, at commit %s, but: %w; bring the repository back, or apply %s by hand", *p.Base.Commit, err, p.PatchPath())
	}
	top, err := filepath.EvalSymlinks(t.Fixes.Root)
	if err != nil {
		return "", nil, err
	}
	top, err = filepath.Abs(top)
	return top, nil, err
}

// under is the root relative to top, slash-separated.
func (t Tree) under(top string) (string, error) {
	root, err := filepath.EvalSymlinks(t.Fixes.Root)
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

// note says that a fix is not verified.
func note(p *fix.Proposal) string {
	verdict := "unverified"
	if p.Verdict != nil {
		verdict = *p.Verdict
	}
	if verdict == "verified" {
		return ""
	}
	note := "this fix is " + verdict
	if p.Verification != nil && p.Verification.Reason != nil {
		note += ": " + *p.Verification.Reason
	}
	return note
}
