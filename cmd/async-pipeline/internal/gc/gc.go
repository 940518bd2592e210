// Package gc removes what is no longer used any more: old runs, unused copies and caches, and what killed runs left.
package gc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/leftovers"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/rmtree"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Options are what is removed, and who is told.
type Options struct {
	DryRun bool
	Keep   int    // sealed runs to keep; below 1: all
	WhyAll string // why Keep is not known, as a clause
	Cache  string // the folder of the cache of results

	Note  func(string)        // called with what was done about what killed runs left
	Shown func(string) string // returns a path as it is shown
}

// A collection is one call of Collect.
type collection struct {
	Options
	*project.Project
	store *record.Store
	done  []view.Removal
	left  []string
}

// Collect removes what it can, or says in a dry run what it would. left are sentences on what was not removed, and
// why. After an error the rest is done all the same.
func Collect(p *project.Project, store *record.Store, o Options) (done []view.Removal, left []string, err error) {
	g := &collection{Options: o, Project: p, store: store}
	err = errors.Join(g.processes(), g.leftovers(), g.strays(), g.runs(), g.kept(), g.results(), g.probes())
	return g.done, g.left, err
}

func (g *collection) removed(what, why string, bytes int64) {
	g.done = append(g.done, view.Removal{What: what, Why: why, Bytes: bytes})
}

// processes ends orphans of this root, and those whose root is not known.
func (g *collection) processes() error {
	here := run.OrphansOf(g.store)
	ours := func(p sandbox.Process) bool { return here(p) || run.RootAbove(p.Dir) == "" }
	look := sandbox.Orphans
	if g.DryRun {
		look = run.LastingOrphans
	}
	all, err := look()
	if err == nil && !g.DryRun && slices.ContainsFunc(all, ours) {
		_, err = sandbox.EndOrphansOf(ours)
	}
	for _, p := range all {
		if !ours(p) {
			g.left = append(g.left, fmt.Sprintf("Process %d is not ended: a killed run left it elsewhere%s; gc there ends it.", p.PID, view.StartedIn(p.Dir, g.Shown)))
			continue
		}
		if err != nil { // it may still be there
			continue
		}
		why := "a killed run left it"
		if p.Hook != "" {
			why += ", in the hook of " + p.Hook
		}
		g.removed(fmt.Sprintf("process %d", p.PID), why, -1)
	}
	if err != nil {
		return fmt.Errorf("looking for processes of a killed run: %w", err)
	}
	return nil
}

// leftovers stores what agents of killed runs had changed, and removes their copies.
func (g *collection) leftovers() error {
	ctx := context.Background()
	caches := cachedir.Existing(g.Env)
	if len(caches) == 0 {
		return nil
	}
	before, unseen := leftovers.Find(ctx, g.store, caches...)
	sizes := map[string]int64{}
	for _, c := range before.Copies {
		sizes[c.Dir] = tree.Size(c.Dir)
	}
	if !g.DryRun && (len(before.Copies) > 0 || len(before.Fixes) > 0) {
		said, err := leftovers.Settle(ctx, g.store, caches[0], g.Secrets, nil, caches[1:]...)
		for _, s := range said {
			g.Note(s)
		}
		if err != nil {
			unseen = errors.Join(unseen, fmt.Errorf("settling what a killed run left: %w", err))
		}
	}
	n, bytes := 0, int64(0)
	for _, c := range before.Copies {
		if _, err := os.Lstat(c.Dir); g.DryRun || errors.Is(err, fs.ErrNotExist) {
			n, bytes = n+1, bytes+sizes[c.Dir]
		}
	}
	if n > 0 {
		g.removed(english.Count(n, "scratch folder"), "killed runs left them", bytes)
	}
	if n < len(before.Copies) && unseen == nil {
		g.left = append(g.left, english.Count(len(before.Copies)-n, "scratch folder")+
			" kept: a fix is being made here.")
	}
	if len(before.Rescued) > 0 {
		g.left = append(g.left, "Not touched: "+english.Count(len(before.Rescued), "copy")+" in "+
			filepath.Dir(before.Rescued[0])+" whose changes could not be stored as a patch; remove them when you have what you need.")
	}
	return unseen
}

// strays removes copies that killed runs left of roots that are gone, and names those of other roots.
func (g *collection) strays() error {
	var errs []error
	for _, cache := range cachedir.Existing(g.Env) {
		all, err := homes.AllWork(cache)
		errs = append(errs, err)
		for _, w := range all {
			if !g.DryRun {
				_ = os.Remove(w.Dir) // if it is empty
			}
			if w.Of(g.store) {
				continue
			}
			copies, err := scratch.Leftovers(w.Dir)
			errs = append(errs, err)
			what := english.Count(len(copies), "scratch folder")
			switch {
			case len(copies) == 0:
			case w.Root == "":
				g.left = append(g.left, "Not touched: "+what+" in "+w.Dir+
					", which a killed run left; its project is not known.")
			case !w.Gone():
				g.left = append(g.left, "Not touched: "+what+" that a killed run left of "+g.Shown(w.Root)+"; gc there removes them.")
			default:
				size := tree.Size(w.Dir)
				if !g.DryRun {
					_, err = scratch.Sweep(w.Dir, nil)
					errs = append(errs, err)
					_ = os.Remove(w.Dir) // as above
				}
				if err == nil {
					g.removed(what+" of "+w.Root, "that folder is gone", size)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// runs removes all but the newest sealed runs.
func (g *collection) runs() error {
	if g.Keep < 1 {
		g.left = append(g.left, "No run is removed: "+g.WhyAll+".")
		return nil
	}
	if held := g.store.Held(); len(held) > 0 {
		g.left = append(g.left, "No run is removed while "+held[0].Sentence()+".")
		return nil
	}
	p := run.Prune(g.store, g.Keep, "", (&fix.Store{Root: g.store.Root, Dir: g.store.Dir}).Keeps)
	ids, err := g.store.IDs()
	if err != nil {
		return err
	}
	would, dirs := []string{}, []string{}
	for _, id := range ids {
		if !p.Keeps(id) {
			would, dirs = append(would, id), append(dirs, filepath.Join(g.store.Dir, "runs", id))
		}
	}
	gone, bytes := would, tree.Size(dirs...)
	if !g.DryRun && len(would) > 0 {
		gone, err = g.store.Prune(p.Keeps)
		bytes -= tree.Size(dirs...)
	}
	if len(gone) > 0 {
		g.removed(english.Count(len(gone), "run"), fmt.Sprintf("older than the newest %d", g.Keep), bytes)
	}
	g.left = append(g.left, p.Needed()...)
	return err
}

// kept removes base copies and build caches that nobody needs, and those beyond the limits.
func (g *collection) kept() error {
	var errs []error
	for _, cache := range cachedir.Existing(g.Env) {
		all, err := homes.AllKept(cache)
		if err != nil { // what somebody else put there is no fault of this root
			g.left = append(g.left, "Not touched: "+err.Error()+".")
		}
		for _, k := range homes.SurplusOf(all, "", time.Now()) {
			if !g.DryRun {
				ok, err := homes.RemoveKept(k.Kept)
				errs = append(errs, err)
				if !ok || err != nil {
					continue
				}
			}
			what := kinds(k.Kept) + " kept in " + k.Dir
			if k.Root != "" {
				what = kinds(k.Kept) + " kept for " + k.Root
			}
			g.removed(what, k.Why, k.Bytes)
		}
	}
	return errors.Join(errs...)
}

// results removes results of tasks that nobody used for long, and those beyond the limit of their cache.
func (g *collection) results() error {
	dir := g.Cache
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c, err := cache.Collect(dir, time.Now(), cache.MaxAge, cache.MaxBytes, g.DryRun)
	if c.Results > 0 || c.Bytes > 0 {
		g.removed(english.Count(c.Results, "result")+" of tasks", "not used for 30 days, or beyond 5 GiB, or not needed", c.Bytes)
	}
	return err
}

// kinds returns what is kept for a root, with sizes where there are both kinds.
func kinds(k homes.Kept) string {
	if k.BaseBytes == 0 {
		return "the build caches"
	}
	return fmt.Sprintf("the base copy (%s) and build caches (%s)", english.Size(k.BaseBytes),
		english.Size(k.Bytes-k.BaseBytes))
}

// probeTime is how old a folder of a sandbox probe must be whose name does not tell the process that made it: an earlier
// version did. A probe takes milliseconds.
const probeTime = time.Hour

// probes removes folders of sandbox probes that were killed.
func (g *collection) probes() error {
	n, errs := 0, []error(nil)
	for _, dir := range g.deadProbes() {
		if !g.DryRun {
			if err := rmtree.All(dir); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		n++
	}
	if n > 0 {
		g.removed(english.Count(n, "temporary folder"), "a trial of the sandbox was killed", -1)
	}
	return errors.Join(errs...)
}

// deadProbes returns the folders of probes of this user that no living process can need.
func (g *collection) deadProbes() []string {
	var dead []string
	look := func(dir, prefix string) {
		entries, _ := os.ReadDir(dir) // of a folder that cannot be read nothing can be removed
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
				continue
			}
			info, err := e.Info()
			if err != nil { // removed meanwhile
				continue
			}
			maker, known := process.MakerOf(e.Name(), prefix)
			st, ok := info.Sys().(*syscall.Stat_t)
			if ok && int(st.Uid) == os.Getuid() && !maker.Alive() && (known || time.Since(info.ModTime()) >= probeTime) {
				dead = append(dead, filepath.Join(dir, e.Name()))
			}
		}
	}
	look(os.TempDir(), sandbox.TierProbe)
	for _, dir := range append(cachedir.Existing(g.Env), os.TempDir()) {
		look(dir, sandbox.OverlayProbe)
	}
	return dead
}
