package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/leftovers"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A gcCall is one `gc`.
type gcCall struct {
	h     *program
	dry   bool
	keep  int // sealed runs to keep; below 1: all
	store *record.Store

	done []view.Removal
	left []string // what was not removed, and why
}

func (h *program) gcCommand() *cobra.Command {
	g := &gcCall{h: h}
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove old runs, unused copies and caches, what killed runs left",
		Long: `Ends processes and removes scratch copies that killed runs of this root left,
after keeping what agents had changed in them; removes kept base copies and
build caches of roots that are gone or that nobody used for 30 days; and removes
old runs: all but the newest N of --keep N or keep_runs of PIPELINE.hcl, never
one with an open proposal, a damaged one, or one that is ahead of the clock.
Where neither says how many to keep, no run is removed.`,
		Example: `  async-pipeline gc --dry-run
  async-pipeline gc
  async-pipeline gc --keep 20`,
		Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("keep") && g.keep < 1 {
				return exit.Misused("--keep %d: at least one run is kept", g.keep)
			}
			return g.gc()
		},
	}
	c.Flags().BoolVar(&g.dry, "dry-run", false, "say what would be removed, and remove nothing")
	c.Flags().IntVar(&g.keep, "keep", 0, "keep the newest `N` runs (default: keep_runs of PIPELINE.hcl, else all)")
	h.varFlag(c)
	return c
}

func (g *gcCall) gc() error {
	h := g.h
	if h.Env(hooks.Mark) != "" {
		return exit.Refuse("this process was started by a hook (%s is set): what is alive here belongs to who started it", hooks.Mark)
	}
	root, err := h.Root()
	if err != nil {
		return err
	}
	if !g.dry {
		if err := h.settle(root); err != nil {
			return err
		}
	}
	g.store = record.At(root)
	if _, err := g.store.IDs(); err != nil {
		return exit.Refuse("%v", err)
	}
	unknown := ""
	if g.keep == 0 {
		g.keep, unknown = g.configured()
	}
	errs := []error{g.processes(), g.leftovers(), g.runs(unknown), g.kept(), g.probes()}
	h.Results().Removed(g.done, g.left, g.dry)
	return errors.Join(errs...)
}

// configured is keep_runs, or why it is not known.
func (g *gcCall) configured() (int, string) {
	file, err := hclfile.Find(g.store.Root)
	if err != nil {
		return 0, "there is no PIPELINE.hcl that says how many to keep, and no --keep"
	}
	c, err := g.h.read(file)
	switch {
	case err != nil:
		return 0, "PIPELINE.hcl has faults (async-pipeline validate shows them), so keep_runs is not known; --keep N says it too"
	case c.KeepRuns == 0:
		return 0, "neither keep_runs in PIPELINE.hcl nor --keep says how many to keep"
	}
	return c.KeepRuns, ""
}

func (g *gcCall) removed(what, why string, bytes int64) {
	g.done = append(g.done, view.Removal{What: what, Why: why, Bytes: bytes})
}

// processes ends those of this root, and those of which nobody can say whose they are.
func (g *gcCall) processes() error {
	here := run.OrphansOf(g.store)
	ours := func(p sandbox.Process) bool { return here(p) || run.RootAbove(p.Dir) == "" }
	look := sandbox.Orphans
	if g.dry {
		look = staying
	}
	all, err := look()
	if err == nil && !g.dry && slices.ContainsFunc(all, ours) {
		_, err = sandbox.EndOrphansOf(ours)
	}
	for _, p := range all {
		if !ours(p) {
			g.left = append(g.left, fmt.Sprintf("Process %d is not ended: a killed run left it elsewhere%s; gc there ends it.", p.PID, g.h.startedIn(p)))
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

// leftovers ends the healings of killed runners: their work is kept, their copies are removed.
func (g *gcCall) leftovers() error {
	ctx := context.Background()
	caches := cachedir.Existing(g.h.Env)
	if len(caches) == 0 {
		return nil
	}
	cache := caches[0]
	before, unseen := leftovers.Find(ctx, g.store, cache)
	sizes := map[string]int64{}
	for _, c := range before.Copies {
		sizes[c.Dir] = sizeOf(c.Dir)
	}
	if !g.dry && (len(before.Copies) > 0 || len(before.Fixes) > 0) {
		said, err := leftovers.Settle(ctx, g.store, cache, g.h.Secrets)
		for _, s := range said {
			g.h.Messages().Note(s)
		}
		if err != nil {
			unseen = fmt.Errorf("settling what a killed run left: %w", err)
		}
	}
	n, bytes := 0, int64(0)
	for _, c := range before.Copies {
		if _, err := os.Lstat(c.Dir); g.dry || errors.Is(err, fs.ErrNotExist) {
			n, bytes = n+1, bytes+sizes[c.Dir]
		}
	}
	if n > 0 {
		g.removed(folders(n, "scratch folder"), "killed runs left them", bytes)
	}
	if n < len(before.Copies) && unseen == nil {
		g.left = append(g.left, folders(len(before.Copies)-n, "scratch folder")+" stay while somebody heals here.")
	}
	if len(before.Rescued) > 0 {
		g.left = append(g.left, "Not touched: "+folders(len(before.Rescued), "copy")+" in "+filepath.Dir(before.Rescued[0])+" whose changes could not be stored as a patch; remove them when you have what you need.")
	}
	return unseen
}

func folders(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case one == "copy":
		return fmt.Sprintf("%d copies", n)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// runs removes all but the newest sealed runs. unknown says why nobody knows how many to keep.
func (g *gcCall) runs(unknown string) error {
	if g.keep < 1 {
		g.left = append(g.left, "No run is removed: "+unknown+".")
		return nil
	}
	if held := g.store.Held(); len(held) > 0 {
		g.left = append(g.left, "No run is removed while "+holderText(held[0])+".")
		return nil
	}
	p := run.Prune(g.store, g.keep, "", g.h.fixes(g.store.Root).Keeps)
	ids, err := g.store.IDs()
	if err != nil {
		return err
	}
	sizes, would := map[string]int64{}, []string{}
	for _, id := range ids {
		if !p.Keeps(id) {
			sizes[id] = sizeOf(filepath.Join(g.store.Dir, "runs", id))
			would = append(would, id)
		}
	}
	gone := would
	if !g.dry && len(would) > 0 {
		gone, err = g.store.Prune(p.Keeps)
	}
	bytes := int64(0)
	for _, id := range gone {
		bytes += sizes[id]
	}
	if len(gone) > 0 {
		g.removed(count(len(gone), "run"), fmt.Sprintf("older than the newest %d", g.keep), bytes)
	}
	g.left = append(g.left, p.Needed()...)
	return err
}

// kept removes base copies and build caches that nobody needs.
func (g *gcCall) kept() error {
	var errs []error
	for _, cache := range cachedir.Existing(g.h.Env) {
		all, err := homes.AllKept(cache)
		errs = append(errs, err)
		for _, k := range all {
			if !k.Forgotten(time.Now()) {
				continue
			}
			if !g.dry {
				ok, err := homes.RemoveKept(k)
				errs = append(errs, err)
				if !ok || err != nil {
					continue
				}
			}
			what, why := keptThings(k)+" kept in "+k.Dir, "nobody used them since "+k.Used.Local().Format("2006-01-02")
			if k.Root != "" {
				what = keptThings(k) + " kept for " + k.Root
			}
			if k.Gone() {
				why = "that folder is gone"
			}
			g.removed(what, why, k.Bytes)
		}
	}
	return errors.Join(errs...)
}

// keptThings says what is kept, each with its size where there are both.
func keptThings(k homes.Kept) string {
	if k.BaseBytes == 0 {
		return "the build caches"
	}
	return fmt.Sprintf("the base copy (%s) and build caches (%s)", view.Size(k.BaseBytes), view.Size(k.Bytes-k.BaseBytes))
}

// probeTime is how old a probe's folder must be: a probe takes milliseconds.
const probeTime = time.Hour

// probes removes what a process that was killed while it tried the sandbox left.
func (g *gcCall) probes() error {
	n, errs := 0, []error(nil)
	for _, dir := range oldProbes() {
		if !g.dry {
			if err := os.RemoveAll(dir); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		n++
	}
	if n > 0 {
		g.removed(folders(n, "temporary folder"), "a trial of the sandbox was killed", -1)
	}
	return errors.Join(errs...)
}

// oldProbes are folders of this user among the temporary ones that no living process can need.
func oldProbes() []string {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), "async-pipeline-probe-*")) // the pattern is right
	var old []string
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < probeTime {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Getuid() {
			old = append(old, dir)
		}
	}
	return old
}

// sizeOf adds up the files below a folder, in bytes, as far as they can be seen.
func sizeOf(dir string) int64 {
	sum := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be seen is not counted
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
