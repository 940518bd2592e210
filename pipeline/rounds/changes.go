package rounds

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/watch"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// Rounds that the change of one file begins at once, one after the other, are most likely caused by a task that writes it.
const (
	mostAtOnce = 5
	atOnce     = 300 * time.Millisecond // after the end of a round
	fast       = 2 * time.Second        // for a round: where they take longer, a person may have made the changes
	rest       = 2 * time.Second        // without a round and such changes, until one more round runs what was left out
	again      = 5 * rest               // from one such round to the next while a service keeps a round at work
	mostDouble = 8                      // how often the time to the next one doubles where no service does: up to 9 minutes
)

// fileChanges are those of one file.
type fileChanges struct {
	round  int       // the last one that it changed in
	inARow int       // rounds before that one
	since  time.Time // when the first of them began
	told   bool
}

// follow takes changes until Close.
func (w *Watch) follow() {
	for {
		select {
		case <-w.over:
			return
		case c := <-w.watcher.C:
			w.take(c)
		}
	}
}

// take notes changes, and ends the round that is at work if they touch one of its tasks, or if it would not end by itself.
func (w *Watch) take(c watch.Changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.Paths = slices.DeleteFunc(w.concerning(c.Paths), func(path string) bool {
		if !w.looping(path) {
			delete(w.left, path)
			return false
		}
		w.left[path] = true
		return true
	})
	w.awaitRest()
	if len(c.Paths) == 0 && !c.Lost {
		return
	}
	w.extra = 0
	w.redefined = w.redefined || slices.ContainsFunc(c.Paths, func(p string) bool {
		return slices.Contains(w.files, p) || cache.Defines(w.config, p)
	})
	w.begin(c)
	if w.cancel != nil && (c.Lost || w.hasOpenService() || len(cache.Affected(w.config, w.current, c.Paths, w.files, true)) > 0) {
		w.cancel()
	}
}

// closed reports whether Close was called.
func (w *Watch) closed() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// hasOpenService reports whether the round at work has a service that nothing depends on: it goes on until that ends. w.mu is locked.
func (w *Watch) hasOpenService() bool {
	return slices.ContainsFunc(w.current, func(s *pipeline.Task) bool {
		return s.Service != nil && !slices.ContainsFunc(w.current, func(t *pipeline.Task) bool { return slices.Contains(t.DependsOn, s.Name) })
	})
}

// begin lets changes begin the next round. w.mu is locked.
func (w *Watch) begin(c watch.Changes) {
	w.pending.Paths, w.pending.Lost = append(w.pending.Paths, c.Paths...), w.pending.Lost || c.Lost
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// awaitRest lets one more round begin once all is at rest, if changes were left out: the last state of each file is run.
// w.mu is locked.
func (w *Watch) awaitRest() {
	if len(w.left) == 0 || w.closed() {
		return
	}
	if w.resting != nil {
		w.resting.Stop()
	}
	w.resting = time.AfterFunc(rest, w.rested)
}

// rested begins the round of awaitRest. A round that a service keeps at work is ended for it; the end of another one waits
// anew. Where a file changes in that round, too, a task may have written it, or a person: each further round comes twice
// as late as the one before, until a change begins a round by itself. While a service keeps a round at work, no change
// that a person makes can begin one by itself, so that time does not grow.
func (w *Watch) rested() {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := w.cancel != nil && w.hasOpenService()
	if len(w.left) == 0 || w.closed() || !open && w.cancel != nil {
		return
	}
	apart := rest << min(w.extra, mostDouble)
	if open {
		apart = again
	}
	if wait := apart - time.Since(w.extraAt); w.extra > 0 && wait > 0 {
		w.resting = time.AfterFunc(wait, w.rested)
		return
	}
	if w.extraAt = time.Now(); open {
		w.extra = 1
	} else {
		w.extra++
	}
	w.begin(watch.Changes{Paths: slices.Collect(maps.Keys(w.left))})
	clear(w.left)
	if open {
		w.cancel()
	}
}

// looping reports whether a file changes again and again while, or just after, a round is at work: most likely a task
// writes it. Such a change begins no round. w.mu is locked.
func (w *Watch) looping(path string) bool {
	c := w.history[path]
	if c == nil {
		c = &fileChanges{round: w.count}
		w.history[path] = c
	}
	switch {
	case w.cancel == nil && time.Since(w.last) > atOnce:
		*c = fileChanges{round: w.count}
	case c.round == w.count: // counted already
	case c.round == w.count-1:
		c.round, c.inARow = w.count, c.inARow+1
	default:
		*c = fileChanges{round: w.count}
	}
	if c.inARow == 0 {
		c.since = time.Now()
	}
	if c.inARow < mostAtOnce || !c.told && time.Since(c.since) > mostAtOnce*fast {
		return false
	}
	if !c.told {
		c.told = true
		w.Loops(shown(path), mostAtOnce)
	}
	return true
}

// shown returns a path for people: of a new folder, too.
func shown(path string) string { return strings.TrimSuffix(path, cache.NewFolder("")) }

// concerning returns those of paths that may affect a task. w.mu is locked.
func (w *Watch) concerning(paths []string) (all []string) {
	var asked []string
	for _, p := range paths {
		if p == ".async" || strings.HasPrefix(p, ".async/") || p == ".git" || strings.HasPrefix(p, ".git/") {
			continue
		}
		if slices.Contains(w.files, p) {
			all = append(all, p)
			continue
		}
		if dir, isNew := strings.CutSuffix(p, "/"); isNew {
			p = cache.NewFolder(dir)
		} else if _, err := os.Lstat(filepath.Join(w.Root, filepath.FromSlash(p))); errors.Is(err, fs.ErrNotExist) {
			p += "/" // it may have been a folder
			if cache.Concerns(w.config, w.tasks, strings.TrimSuffix(p, "/"), "") {
				p = strings.TrimSuffix(p, "/")
			}
		}
		if cache.Concerns(w.config, w.tasks, p, "") {
			asked = append(asked, p)
		}
	}
	if w.Repo == nil || len(asked) == 0 {
		return append(all, asked...)
	}
	ignored := w.ignored(asked)
	for _, p := range asked {
		if at := ignored[p]; at == "" || cache.Concerns(w.config, w.tasks, p, at) {
			all = append(all, p)
		}
	}
	return all
}

// ignored returns for those of paths that git ignores the topmost folder, or the path itself, that it ignores.
func (w *Watch) ignored(paths []string) map[string]string {
	var names []string
	inRepo := map[string]string{}
	for _, p := range paths {
		for at := p; at != "." && at != "/"; at = path.Dir(at) {
			if rel, ok := files.InRoot(w.Repo.Top, filepath.Join(w.Root, filepath.FromSlash(at))); ok && inRepo[at] == "" {
				inRepo[at] = rel
				names = append(names, rel)
			}
		}
	}
	found, err := w.Repo.IgnoredOf(context.Background(), names)
	if err != nil {
		return nil // a round too many at worst
	}
	ignored := map[string]string{}
	for _, p := range paths {
		for at := p; at != "." && at != "/"; at = path.Dir(at) {
			if found[inRepo[at]] {
				ignored[p] = at
			}
		}
	}
	return ignored
}

// watchAnew watches folders that were skipped and have inputs by now, or that git ignores no longer. paths have changed. w.mu
// is locked.
func (w *Watch) watchAnew(paths []string) {
	if w.watcher == nil { // as in Close
		return
	}
	if inputs := w.patterns(); slices.ContainsFunc(paths, files.IsRules) || !slices.Equal(inputs, w.inputs) {
		w.inputs = inputs
		w.watcher.Skip(w.skips())
	}
}

// patterns returns the inputs of all tasks, what they were seen to read, and what file functions asked for. w.mu is
// locked.
func (w *Watch) patterns() (all []string) {
	all = slices.Concat(w.config.Filesets, w.config.Asked)
	for _, t := range w.config.Tasks {
		all = slices.Concat(all, t.Inputs, t.Seen)
	}
	return all
}

// skips returns which folders are not watched: those of git and of the records, and what git ignores, unless w.inputs are in
// it. In a folder that is ignored since, changes are dropped one by one. w.mu is locked.
func (w *Watch) skips() func(dir string) bool {
	ignored := map[string]bool{}
	if w.Repo != nil {
		all, err := w.Repo.Ignored(context.Background())
		for _, p := range all {
			if dir, folder := strings.CutSuffix(p, "/"); err == nil && folder {
				if rel, ok := files.InRoot(w.Root, filepath.Join(w.Repo.Top, filepath.FromSlash(dir))); ok {
					ignored[rel] = true
				}
			}
		}
	}
	inputs := w.inputs
	return func(dir string) bool {
		switch filepath.Base(dir) {
		case ".git", ".async":
			return true
		}
		return ignored[dir] && !slices.ContainsFunc(inputs, func(in string) bool { return strings.HasPrefix(in, dir+"/") })
	}
}
