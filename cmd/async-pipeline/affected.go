// What --affected of run and graph chooses.
package main

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// An affectedFlag is --affected[=BASE].
type affectedFlag struct {
	asked bool
	base  string // empty: found
	empty bool   // --affected= was typed
}

// noBase stands for --affected without a value. It is what help shows behind the flag.
const noBase = "BASE"

func (f *affectedFlag) flag(c *cobra.Command) {
	c.Flags().VarPF(f, "affected", "", "only tasks that changes since BASE may have changed").NoOptDefVal = noBase
}

func (f *affectedFlag) String() string { return f.base }
func (f *affectedFlag) Type() string   { return "bool" } // for help: the value may be left out

func (f *affectedFlag) Set(s string) error {
	f.asked, f.base, f.empty = true, s, s == ""
	if s == noBase {
		f.base = ""
	}
	return nil
}

// choose returns those tasks of a graph that are affected, and what they depend on, or nil for none. why has the
// affected ones with the reason.
func (f *affectedFlag) choose(prog *program, c *pipeline.Config, g *pipeline.Graph, k *cacheFlags, only bool) (
	chosen *pipeline.Graph, since *record.Affected, why map[string]string, err error,
) {
	if f.empty {
		return nil, nil, nil, exit.Misused("--affected has an empty base: is a variable not set?")
	}
	ctx := context.Background()
	repo, err := git.Find(ctx, c.Root)
	if err != nil {
		return nil, nil, nil, exit.Refuse("--affected asks git what changed: %v", err)
	}
	root, err := filepath.EvalSymlinks(c.Root)
	if err != nil {
		return nil, nil, nil, err
	}
	changes, err := files.Since(ctx, repo, f.base, root)
	if err != nil {
		return nil, nil, nil, exit.Refuse("--affected: %v", err)
	}
	since = &record.Affected{Base: changes.Base, Commit: changes.Commit}
	unseen := &cache.Unseen{Doubtful: changes.Doubtful, Ignored: func(paths []string) (map[string]bool, error) {
		return ignoredOf(ctx, repo, root, paths)
	}}
	if peek := k.peek(prog, c); peek != nil {
		unseen.IsCached = func(t *pipeline.Task) bool {
			e := peek.Look(ctx, t)
			return e != nil && e.Result == cache.Hit
		}
	}
	why, err = cache.AffectedSince(c, g.Tasks(), changes, definingFiles(prog, c, root), unseen)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(why) == 0 {
		return nil, since, why, nil
	}
	var names []string
	for _, t := range g.Tasks() {
		if why[t.Name] != "" {
			names = append(names, t.Name)
		}
	}
	chosen, err = selectTasks(prog, c, names, only)
	return chosen, since, why, err
}

// ignoredOf returns which of paths, relative to root, git ignores.
func ignoredOf(ctx context.Context, repo *git.Repo, root string, paths []string) (map[string]bool, error) {
	below, ok := files.InRoot(repo.Top, root)
	if !ok {
		return nil, fmt.Errorf("%s is not in the repository %s", root, repo.Top)
	}
	full := make([]string, len(paths))
	for i, p := range paths {
		full[i] = path.Join(below, p)
	}
	unseen, err := repo.Unseen(ctx, full)
	ignored := map[string]bool{}
	for i, p := range paths {
		ignored[p] = unseen[full[i]]
	}
	return ignored, err
}

// definingFiles returns PIPELINE.hcl in both forms, what it includes and what gives it values, relative to the real
// path of the root, as far as they are in it.
func definingFiles(prog *program, c *pipeline.Config, root string) (all []string) {
	for _, file := range append(c.Files(), prog.VarFiles...) {
		at, err := prog.Path(file)
		if err == nil {
			at, err = filepath.EvalSymlinks(at)
		}
		rel, ok := files.InRoot(root, at)
		if err != nil || !ok {
			continue
		}
		all = append(all, rel)
		switch dir, name := path.Split(rel); name {
		case hclfile.Name:
			all = append(all, dir+hclfile.NameJSON)
		case hclfile.NameJSON:
			all = append(all, dir+hclfile.Name)
		}
	}
	return all
}
