package cache

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/reads"
)

// A views looks at the tree during one run, as seldom as is right: after a task ran the tree may have changed. Its methods
// may be called by several goroutines at once.
type views struct {
	config *pipeline.Config
	needs  *needs // of config
	memory files.Memory
	peek   bool // nothing is removed

	mu    sync.Mutex      // guards what follows and memory
	whole *files.View     // of the last walk of all of the tree; nil: there was none
	since map[string]bool // the tasks of ended that ended after it
	seen  *files.View     // whole; nil: the tree may have changed since
	parts int             // how often a part of the tree was walked since it may have changed
	ended map[string]bool // tasks of this run that were carried out, or whose outputs were put back
}

// mostParts is after how many walks of parts all of the tree is walked: where a run answers much from the cache, that
// answers all tasks until the next one runs.
const mostParts = 16

// of returns a view of what a task has to do with, as every task that has ended left it.
func (w *views) of(ctx context.Context, t *pipeline.Task) (*files.View, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.look(ctx, t)
}

// look is of. w.mu is locked.
func (w *views) look(ctx context.Context, t *pipeline.Task) (*files.View, error) {
	if w.seen != nil {
		return w.seen, nil
	}
	of := scopeOf(t)
	for _, d := range w.needs.of(t) {
		of.Makes = append(of.Makes, files.ParseAll(d.Outputs)...)
	}
	for _, p := range slices.Concat(of.In, of.Makes) {
		if !p.Not {
			of.Paths = append(of.Paths, p.Folder)
		}
	}
	if t.Auto {
		of.Paths = append(of.Paths, "")
	}
	defer w.removeAbandoned()
	if w.parts++; w.parts <= mostParts {
		if v, ok, err := w.memory.Part(ctx, of); ok || err != nil {
			return v, err
		}
	}
	return w.walk(ctx)
}

// walk walks all of the tree. w.mu is locked.
func (w *views) walk(ctx context.Context) (*files.View, error) {
	v, err := w.memory.Look(ctx)
	if err != nil {
		return nil, err
	}
	w.whole, w.seen, w.since = v, v, map[string]bool{}
	return v, nil
}

// renew walks all of the tree.
func (w *views) renew(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.removeAbandoned()
	_, err := w.walk(ctx)
	return err
}

// removeAbandoned removes what a killed run had not restored in full, where a walk found it. w.mu is locked.
func (w *views) removeAbandoned() {
	abandoned := w.memory.Abandoned()
	if w.peek {
		return
	}
	for _, p := range abandoned {
		_ = os.Remove(filepath.Join(w.config.Root, filepath.FromSlash(p))) // it is no file of anybody's
	}
}

// earlier returns the last view of all of the tree, where the tree may have changed since, but no task that t depends on, and
// not t, has ended since. nil: there is none.
func (w *views) earlier(t *pipeline.Task) *files.View {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen != nil || w.whole == nil || w.since[t.Name] ||
		slices.ContainsFunc(w.needs.of(t), func(d *pipeline.Task) bool { return w.since[d.Name] }) {
		return nil
	}
	return w.whole
}

// ran notes that a task has ended which may have changed the tree.
func (w *views) ran(t *pipeline.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = map[string]bool{}
	}
	w.ended[t.Name] = true
	if w.since != nil {
		w.since[t.Name] = true
	}
	w.seen, w.parts = nil, 0
}

// ranBefore returns the names of those that t depends on and that ran, or got their outputs back, in this run, a line each.
func (w *views) ranBefore(t *pipeline.Task) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	if len(w.ended) > 0 {
		for _, d := range w.needs.of(t) {
			if w.ended[d.Name] {
				names = append(names, d.Name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// inputs returns the files of a view that patterns choose: see files.View.Inputs.
func (w *views) inputs(v *files.View, patterns, own []string) ([]reapi.File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return v.Inputs(w.config.Root, patterns, own)
}

// read returns what a task that has ended read, by what was seen of it. With inputs = auto the next walk must find that, and
// git tell what of it is ignored.
func (w *views) read(ctx context.Context, t *pipeline.Task, seen *reads.Accesses) (reads.Seen, error) {
	own := files.ParseAll(t.Outputs)
	end := func() reads.Seen {
		return seen.End(w.memory.Ignores, func(p string) bool { return files.Matches(own, p) })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := end()
	if !t.Auto {
		return s, nil
	}
	all := files.ParseAll(s.Patterns())
	w.memory.Want(slices.DeleteFunc(slices.Clone(all), func(p files.Pattern) bool { return p.Folder == "" }), all)
	if _, err := w.look(ctx, t); err != nil {
		return reads.Seen{}, err
	}
	return end(), nil
}

// known reports whether the tree was looked at.
func (w *views) known() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.memory.Known()
}

// save stores what was learned of the tree, for the next run.
func (w *views) save() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.memory.Save()
}

// scopeOf returns what a task has to do with by itself.
func scopeOf(t *pipeline.Task) files.Scope {
	of := files.Scope{Makes: files.ParseAll(t.Outputs)}
	if t.HasInputs() {
		of.In = append(files.ParseAll(t.Inputs), files.ParseAll(files.EscapeAll(t.Reads))...)
	}
	return of
}
