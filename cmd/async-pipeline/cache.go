// What the command line says of the cache of results.
package main

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// cacheFlags has the flags of `run` about the cache.
type cacheFlags struct {
	off, force  bool
	checkInputs bool // what tasks read is compared with their inputs
	dir         string
	dirTyped    func() bool
}

func (f *cacheFlags) flags(c *cobra.Command) {
	c.Flags().BoolVar(&f.off, "no-cache", false, "run every task, and store no result")
	c.Flags().BoolVar(&f.force, "force", false, "run every task, and store the results")
	c.Flags().BoolVar(&f.checkInputs, "check-inputs", false, "say what tasks read that is not among their inputs (Linux)")
	c.Flags().StringVar(&f.dir, "cache-dir", "", "keep results in `DIR` (default: ASYNC_PIPELINE_CACHE_DIR, else .async/cache)")
	f.dirTyped = func() bool { return c.Flags().Changed("cache-dir") }
}

func (f *cacheFlags) check() error {
	switch {
	case f.off && f.force:
		return exit.Misused("--no-cache cannot be used with --force")
	case f.off && f.checkInputs:
		return exit.Misused("--check-inputs cannot be used with --no-cache")
	case f.off && f.dirTyped():
		return exit.Misused("--no-cache cannot be used with --cache-dir")
	case f.dirTyped() && f.dir == "":
		return exit.Misused("--cache-dir has an empty path: is a variable not set?")
	}
	return nil
}

// reason returns why there is no cache, or "".
func (f *cacheFlags) reason() string {
	if f.off {
		return "--no-cache"
	}
	return ""
}

// cacheDirVariable names the folder of the cache where --cache-dir does not.
const cacheDirVariable = "ASYNC_PIPELINE_CACHE_DIR"

// open returns the cache of a run, or nil.
func (f *cacheFlags) open(prog *program, c *pipeline.Config) *cache.Cache {
	if f.off {
		return nil
	}
	return &cache.Cache{Dir: f.place(prog, c.Root), Force: f.force, CheckInputs: f.checkInputs}
}

// know fills in what the tasks read; see cache.Know.
func (f *cacheFlags) know(prog *program, c *pipeline.Config) {
	dir := ""
	if !f.off {
		dir = f.place(prog, c.Root)
	}
	cache.Know(c, dir, taskRunner(prog, c).Describe)
}

// place returns the folder of the cache.
func (f *cacheFlags) place(prog *program, root string) string {
	dir := cmp.Or(f.dir, prog.Env(cacheDirVariable))
	switch {
	case dir == "":
		return cache.Place(root)
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join(prog.Dir, dir)
}

// fits returns an error where the folder of the cache cannot be one.
func (f *cacheFlags) fits(prog *program, root string) error {
	if f.off {
		return nil
	}
	if err := cache.Unfit(root, f.place(prog, root)); err != nil {
		return exit.Misused("%v (--cache-dir, ASYNC_PIPELINE_CACHE_DIR)", err)
	}
	return nil
}

// peek returns a cache that writes nothing, to look what a run would do.
func (f *cacheFlags) peek(prog *program, c *pipeline.Config) *cache.Cache {
	k := f.open(prog, c)
	if k != nil {
		k.Config, k.Describe, k.Peek = c, taskRunner(prog, c).Describe, true
	}
	return k
}

// predict fills in what the cache is expected to do for each task of a plan. What a task that runs will make is not
// known, so a task after it is looked at as if that stayed the same, which is said.
func predict(prog *program, c *pipeline.Config, f *cacheFlags, plan []view.Planned) {
	k := f.peek(prog, c)
	runs := map[string]bool{}
	for i := range plan {
		p := &plan[i]
		if k == nil {
			if p.Task.HasInputs() {
				p.Cache = "runs: " + f.reason()
			}
			continue
		}
		e := k.Look(context.Background(), p.Task)
		after := ""
		for _, d := range p.After {
			if d := c.Task(d); d != nil && runs[d.Name] && (len(d.Outputs) > 0 || !d.HasInputs()) && after == "" {
				after = view.TaskName(d.Name)
			}
		}
		switch {
		case p.Task.Service != nil:
			p.Cache = "starts when a task that needs it runs"
		case e == nil && p.Task.Agent != nil:
			p.Cache = "asks the agent: it has no cache { enabled = true }"
			runs[p.Task.Name] = true
		case e == nil:
			runs[p.Task.Name] = true
		case e.Result == cache.Hit && after == "":
			p.Cache = "cached"
		case e.Result == cache.Hit:
			p.Cache = "cached, unless " + after + " changes what it reads"
			runs[p.Task.Name] = true
		case e.Result == cache.Forced:
			p.Cache = "runs: --force"
			runs[p.Task.Name] = true
		default:
			p.Cache = "runs: " + prog.Secrets.String(e.Reason())
			runs[p.Task.Name] = true
		}
	}
}

// receiptOf returns what the cache would do for a task, if those of the tasks before it that would run change nothing.
func receiptOf(prog *program, c *pipeline.Config, t *pipeline.Task) record.Cache {
	k := (&cacheFlags{}).peek(prog, c)
	if g, err := pipeline.Select(c, []string{t.Name}, false); err == nil && t.HasInputs() {
		for _, d := range g.Ancestors(t.Name) { // what is restored of them is an input
			k.Look(context.Background(), d)
		}
	}
	e := k.Look(context.Background(), t)
	r := record.Cache{Result: cache.Off}
	if t.Service != nil {
		r.Reason = new("it is a service, which starts when a task that needs it runs")
		return r
	}
	if e == nil && t.Agent != nil {
		r.Reason = new("an agent does it, and it has no cache { enabled = true }")
		return r
	}
	if e == nil {
		r.Reason = new("it has no inputs, so it runs every time")
		return r
	}
	r.Result = e.Result
	if e.Key != "" {
		r.Key = new("sha256:" + e.Key)
	}
	if why := e.Reason(); why != "" {
		r.Reason = new(prog.Secrets.String(why))
	}
	return r
}
