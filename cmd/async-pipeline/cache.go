// What the command line says of the cache of results.
package main

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// cacheFlags has the flags of `run` about the cache. Other verbs have only --cache-dir.
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
	f.dirFlag(c, "keep results in")
}

// dirFlag adds --cache-dir. does is what the verb does there.
func (f *cacheFlags) dirFlag(c *cobra.Command, does string) {
	c.Flags().StringVar(&f.dir, "cache-dir", "", does+" `DIR` (default: ASYNC_PIPELINE_CACHE_DIR, else .async/cache)")
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

// folder returns the folder that a verb other than run looks at, or why it cannot be one.
func (f *cacheFlags) folder(prog *program, root string) (string, error) {
	err := f.check()
	if err == nil {
		err = f.fits(prog, root)
	}
	return f.place(prog, root), err
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

// A forecast tells what the cache would do for tasks, each after those that it depends on. What a task that runs will
// write is not known, whatever outputs it declares, so a task after it is looked at as if that stayed the same.
type forecast struct {
	cache *cache.Cache
	runs  map[string]string // of the tasks that run, or may, and of services behind one: which that is

	without func(*pipeline.Task) *cache.Entry // run.WithoutService; nil: the run has all services
}

// look returns what the cache knows of a task. Where one of those before it runs and may change that, unless says so.
func (f *forecast) look(t *pipeline.Task, before []string) (e *cache.Entry, unless string) {
	if f.without != nil && t.Service == nil {
		e = f.without(t)
	}
	if e == nil {
		e = f.cache.Look(context.Background(), t)
	}
	i := slices.IndexFunc(before, func(d string) bool { return f.runs[d] != "" })
	if i >= 0 && e != nil && (e.Result == cache.Hit || e.OfOutputs && !f.cache.Force) {
		unless = "unless " + view.TaskName(f.runs[before[i]]) + " changes what it reads"
	}
	switch {
	case t.Service != nil && i >= 0:
		f.runs[t.Name] = f.runs[before[i]]
	case t.Service == nil && (e == nil || e.Result != cache.Hit || i >= 0):
		f.runs[t.Name] = t.Name
	}
	return e, unless
}

// predict fills in what the run is expected to do with each task of a plan. named: the command line names tasks.
func predict(prog *program, s *selection, named bool, f *cacheFlags, plan []view.Planned) {
	k := f.peek(prog, s.config)
	told := forecast{cache: k, runs: map[string]string{}}
	var endless []*pipeline.Task
	if slices.ContainsFunc(s.config.Tasks, func(t *pipeline.Task) bool { return t.Service != nil }) {
		told.without = func(t *pipeline.Task) *cache.Entry { return run.WithoutService(s.config, s.graph, t) }
		endless = run.Endless(s.config, s.graph, named)
	}
	for i := range plan {
		p := &plan[i]
		if slices.Contains(endless, p.Task) {
			p.Cache = "starts, and the run goes on until it ends"
			continue
		}
		if k == nil {
			if p.Task.HasInputs() {
				p.Cache = "runs: " + f.reason()
			}
			continue
		}
		e, unless := told.look(p.Task, p.After)
		switch {
		case p.Task.Service != nil:
			p.Cache = "starts when a task that needs it runs"
		case e == nil && p.Task.Agent != nil:
			p.Cache = "asks the agent: it has no cache { enabled = true }"
		case e == nil:
		case e.Result == cache.Hit && unless == "":
			p.Cache = "cached"
		case e.Result == cache.Hit:
			p.Cache = "cached, " + unless
		case e.Result == cache.Forced:
			p.Cache = "runs: --force"
		default:
			p.Cache = "runs: " + prog.Secrets.String(joined(e.Reason(), unless))
		}
	}
}

// joined returns why a task runs, and on what that depends, or "".
func joined(why, unless string) string {
	if unless == "" {
		return why
	}
	return why + ", " + unless
}

// receiptOf returns what the cache would do for a task. A hit has a reason where a task before it runs, which may change
// that.
func receiptOf(prog *program, f *cacheFlags, c *pipeline.Config, t *pipeline.Task) record.Cache {
	told := forecast{cache: f.peek(prog, c), runs: map[string]string{}}
	if g, err := pipeline.Select(c, []string{t.Name}, false); err == nil && t.HasInputs() {
		for _, d := range g.Ancestors(t.Name) { // what is restored of them is an input
			told.look(d, g.DependsOn(d.Name))
		}
	}
	e, unless := told.look(t, t.DependsOn)
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
	why := unless
	if e.Result != cache.Hit {
		why = joined(e.Reason(), unless)
	}
	if why != "" {
		r.Reason = new(prog.Secrets.String(why))
	}
	return r
}
