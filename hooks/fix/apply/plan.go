package apply

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// Kinds of plan, as the journal has them.
const (
	toApply  = "apply"
	toRevert = "revert"
)

// A plan is an apply or a revert that passed every check: what is to be written, and where.
type plan struct {
	*record
	kind        string // apply | revert
	by          string
	threeWay    bool
	secrets     *redact.Set
	tree        *worktree
	targets     []target
	files       []string // the paths of targets, sorted
	accepted    []string // ids of flags
	fix.Details          // for the record
	dirty       []string // paths with uncommitted changes that are overwritten
	since       []string // paths that hold what was applied, and were edited elsewhere since
	found       []string // paths that were as the patch makes them before the apply
	moves       []move   // what is not in place yet, sorted by path; empty: nothing is to be written
}

// A move is one path that is written.
type move struct {
	entry
	path    string // FullPath()
	was, to *patch.File
}

// planApply makes every check of an apply. The caller closes the plan's tree.
func (t Tree) planApply(ctx context.Context, p *fix.Proposal, o Options) (*plan, error) {
	r, chosen, err := t.selection(ctx, p, &o)
	if err != nil {
		return nil, err
	}
	pl := newPlan(r, toApply, o, chosen)
	if o.Edited != nil {
		if err := pl.edit(o.Edited); err != nil {
			return nil, err
		}
	}
	return pl.checked(func() error { return pl.checkApply(ctx, t.Fixes, o) })
}

// selection checks the record for an apply, and what o names of it. It splits o.Accept at commas.
func (t Tree) selection(ctx context.Context, p *fix.Proposal, o *Options) (*record, selection, error) {
	r, err := t.record(ctx, p, toApply)
	if err != nil {
		return nil, nil, err
	}
	if o.Accept, err = namedFlags(p, o.Accept); err != nil {
		return nil, nil, err
	}
	chosen, err := choose(r.groups, *o, r.top)
	return r, chosen, err
}

// checked opens the tree and makes the checks that look at it.
func (p *plan) checked(check func() error) (_ *plan, err error) {
	if p.tree, err = openWorktree(p.top); err != nil {
		return nil, err
	}
	if err := check(); err != nil {
		p.tree.close()
		return nil, err
	}
	return p, nil
}

func newPlan(r *record, kind string, o Options, chosen selection) *plan {
	p := &plan{record: r, kind: kind, by: o.By, threeWay: o.ThreeWay, secrets: o.Secrets}
	for _, g := range r.groups {
		parts, ok := chosen[g.Path]
		if !ok {
			continue
		}
		f := r.touched[g.Path]
		p.targets = append(p.targets, target{
			record: r, path: g.Path, before: f.Before, after: f.After, group: g, parts: parts,
			back: kind == toRevert, threeWay: o.ThreeWay,
		})
		p.files = append(p.files, g.Path)
		if slices.Contains(parts, false) && kind == toApply {
			p.Hunks = append(p.Hunks, fix.PartOf(g.Path, parts))
		}
	}
	return p
}

// checkApply compares the tree with the patch, then checks flags, uncommitted changes and permissions.
func (p *plan) checkApply(ctx context.Context, fixes *fix.Store, o Options) error {
	if err := p.compare(ctx, fixes); err != nil {
		return err
	}
	var err error
	p.accepted, err = acceptedFlags(p.Proposal, p.files, o)
	if len(p.moves) == 0 {
		return nil // it is in the tree: a flag is no longer a question
	}
	if err != nil {
		return err
	}
	if err := p.clean(ctx); err != nil && !o.AllowDirty {
		return err
	}
	return p.writable()
}

// compare finds what is still to be written. A file that is as it is to be is done. Every other one must be as the
// fix found it, but for hunks that it has already, or it is merged where that was asked for.
func (p *plan) compare(ctx context.Context, fixes *fix.Store) error {
	var c conflicting
	folders := map[string]bool{} // paths to be added where a folder is
	for i := range p.targets {
		t := &p.targets[i]
		now, err := p.tree.readFor(t)
		if err != nil {
			return refused("%w", err)
		}
		if from, to := t.ends(); from == nil && now.dir && to != nil {
			folders[t.path] = true
		}
		o, err := t.outcome(ctx, now)
		if err != nil {
			return err
		}
		switch {
		case o.why != "":
			c = append(c, Conflict{Path: t.path, Why: o.why, Clashes: o.clashes})
		case !o.there:
			p.move(t, now, o)
		case o.since:
			p.since = append(p.since, t.path)
		case o.before:
			p.found = append(p.found, t.path)
		case p.kind == toApply && !t.recorded() && !now.dir:
			p.noteFound(t, now)
		}
	}
	var blocked []string
	for _, m := range p.moves {
		at, err := p.tree.blocked(m.path)
		if err != nil {
			return refused("%w", err)
		}
		if at != "" && !p.deletes(at) {
			blocked = append(blocked, fmt.Sprintf("%s (%s is no folder)", m.path, at))
		}
		if folders[m.path] {
			if other, err := p.staysBelow(m.path); err != nil {
				return refused("%w", err)
			} else if other != "" {
				c = append(c, Conflict{Path: m.path, Why: "a folder that contains " + other})
			}
		}
	}
	if len(blocked) > 0 {
		return refused("a link or file is on the way to: %s; move it away, or run heal again",
			english.List(blocked, 10))
	}
	if len(c) == 0 {
		return nil
	}
	return p.conflict(ctx, fixes, c)
}

// move adds what is written to a path, and what a later apply or revert has to know of it.
func (p *plan) move(t *target, now node, o outcome) {
	w := fix.Wrote{
		Path: t.path, PathBytes: fix.RawPath(t.path), Before: fix.ContentOf(now.file), After: fix.ContentOf(o.to),
	}
	p.moves = append(p.moves, move{entry: entry{w, now.perm}, path: t.path, was: now.file, to: o.to})
	if o.merged {
		p.Merged = append(p.Merged, t.path)
	}
	if !t.back && (!equal(w.Before, t.before) || !equal(w.After, t.after)) {
		p.Wrote = append(p.Wrote, w)
	}
}

// noteFound notes that a path was as it is to be before: a revert leaves it so.
func (p *plan) noteFound(t *target, now node) {
	p.found = append(p.found, t.path)
	is := fix.ContentOf(now.file)
	p.Wrote = append(p.Wrote, fix.Wrote{Path: t.path, PathBytes: fix.RawPath(t.path), Before: is, After: is})
}

// recorded reports whether all that is selected is recorded as applied.
func (p *plan) recorded() bool {
	return p.kind == toApply && !slices.ContainsFunc(p.targets, func(t target) bool { return !t.recorded() })
}

// firstMove returns where the moves of name and of what sorts after it begin, and whether there is one of name.
func (p *plan) firstMove(name string) (at int, found bool) {
	return slices.BinarySearchFunc(p.moves, name, func(m move, name string) int { return strings.Compare(m.path, name) })
}

// deletes reports whether the plan removes a path.
func (p *plan) deletes(name string) bool {
	at, found := p.firstMove(name)
	return found && p.moves[at].After == nil
}

// staysBelow returns something below a folder that no deletion removes; "": the folder goes.
func (p *plan) staysBelow(dir string) (string, error) {
	names, err := p.tree.names(dir)
	if err != nil {
		return "", err
	}
	for _, base := range names {
		name := path.Join(dir, base)
		now, err := p.tree.read(name, 0)
		if err != nil {
			return "", err
		}
		if now.dir {
			if other, err := p.staysBelow(name); other != "" || err != nil {
				return other, err
			}
			if at, _ := p.firstMove(name + "/"); at == len(p.moves) || !strings.HasPrefix(p.moves[at].path, name+"/") {
				return name + "/", nil // an empty folder, which no deletion takes along
			}
		} else if !p.deletes(name) {
			return name, nil
		}
	}
	return "", nil
}

// clean refuses files with uncommitted changes, but for what an apply of this fix wrote and nobody edited since.
func (p *plan) clean(ctx context.Context) (err error) {
	if p.repo == nil {
		return nil
	}
	var paths []string
	for _, m := range p.moves {
		steps := p.history[m.path]
		if n := len(steps); n == 0 || !(node{file: m.was}).is(steps[n-1].After) {
			paths = append(paths, m.path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	if p.dirty, err = p.repo.Edited(ctx, paths...); err != nil {
		return err
	}
	if len(p.dirty) > 0 {
		return refused("%w: %s; commit or stash them, or add --allow-dirty", ErrDirty, english.List(p.dirty, 10))
	}
	return nil
}

// writable refuses what would be written to a folder that takes no new names.
func (p *plan) writable() error {
	seen := map[string]bool{}
	for _, m := range p.moves {
		dir, err := p.tree.nearest(m.path)
		if err != nil {
			return refused("%w", err)
		}
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if err := p.tree.writable(dir); err != nil {
			return refused("%s could not be written: %w", m.path, advice.Writing(err,
				filepath.Join(p.top, filepath.FromSlash(dir))))
		}
	}
	return nil
}

// acceptedFlags returns the ids of the flags on files. Each must be accepted, by its id or rule.
func acceptedFlags(p *fix.Proposal, files []string, o Options) ([]string, error) {
	var ids, missing []string
	for _, f := range p.Flags {
		if f.Path != nil && o.some() && !slices.ContainsFunc(files, func(p string) bool { return fix.AsStored(p) == *f.Path }) {
			continue // its file is not applied
		}
		if slices.Contains(o.Accept, f.ID) || slices.Contains(o.Accept, f.Rule) {
			ids = append(ids, f.ID)
			continue
		}
		missing = append(missing, flagName(&f))
	}
	if len(missing) > 0 {
		return nil, refused("%w: %s; look at each, then name it by its id or rule", ErrFlagged,
			english.List(missing, 10))
	}
	return ids, nil
}

// namedFlags splits accept at commas. An id or rule that no flag of the fix has is ErrUse.
func namedFlags(p *fix.Proposal, accept []string) ([]string, error) {
	var named, have []string
	for _, f := range p.Flags {
		have = append(have, flagName(&f))
	}
	for _, typed := range accept {
		for name := range strings.SplitSeq(typed, ",") {
			name = strings.TrimSpace(name)
			switch {
			case slices.ContainsFunc(p.Flags, func(f fix.Flag) bool { return f.ID == name || f.Rule == name }):
				named = append(named, name)
			case len(have) == 0:
				return nil, misused("--accept %q: nothing in this fix is flagged; leave it out", name)
			default:
				return nil, misused("--accept %q: this fix has no such flag; it has: %s", name, english.List(have, 10))
			}
		}
	}
	return named, nil
}

// flagName returns id, rule and place of a flag.
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
