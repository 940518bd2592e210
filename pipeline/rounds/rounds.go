// Package rounds decides which tasks each round of run --watch runs. A round is a run of its own; the caller carries it
// out. The first one has all tasks:
//
//	Open → Begin → the run → end → Changed → Reading → Next → Begin → …
//
// rounds.go has what a round runs, changes.go which changes begin or end one.
package rounds

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/watch"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A Watch is one run --watch. Its fields are set before Open. Its methods are called from one goroutine; a second one,
// which Open starts, takes the changes, and a timer lets rounds begin.
type Watch struct {
	Root string    // the real path of the root
	Repo *git.Repo // that Root is in; nil: nothing is ignored

	// Know fills in what tasks read: see cache.Know.
	Know func(*pipeline.Config)
	// Loops is told of a file that changed in each of so many rounds in a row: its changes begin no round until they rest.
	// It is told once until then, by the goroutine that takes the changes, and must not call the Watch.
	Loops func(path string, rounds int)

	root    fs.FileInfo // of Root, when it was opened
	watcher *watch.Watcher
	over    chan struct{} // closed by Close
	changed chan struct{} // has one element if changes are pending

	mu        sync.Mutex // guards what follows
	count     int        // rounds that were chosen
	config    *pipeline.Config
	tasks     []*pipeline.Task // that are watched
	files     []string         // PIPELINE.hcl, what it includes and what gives it values
	inputs    []string         // patterns of all tasks, as the watcher knows them
	pending   watch.Changes    // since the last round was chosen
	ended     map[string]record.Task
	redefined bool               // one of files changed since Reading
	current   []*pipeline.Task   // of the round that is at work
	cancel    context.CancelFunc // ends that round; nil: none is at work
	last      time.Time          // when a round ended last
	history   map[string]*fileChanges
	left      map[string]bool // changed files that began no round, because they change in each
	extra     int             // rounds that began for such files, since a change by itself began one
	extraAt   time.Time       // when the last of them began
	resting   *time.Timer     // of awaitRest
}

// Open begins to watch the tasks of g, which the first round runs: no change since is missed. files are PIPELINE.hcl,
// what it includes and what gives it values, relative to the root. polls is why all files are looked at each second; empty:
// the kernel tells what changes.
func (w *Watch) Open(c *pipeline.Config, g *pipeline.Graph, files []string) (polls string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over, w.changed = make(chan struct{}), make(chan struct{}, 1)
	w.ended, w.history, w.left = map[string]record.Task{}, map[string]*fileChanges{}, map[string]bool{}
	w.use(c, g, files)
	if w.root, err = os.Stat(w.Root); err != nil {
		return "", err
	}
	w.inputs = w.patterns()
	if w.watcher, err = watch.Open(w.Root, w.skips()); err != nil {
		return "", err
	}
	go w.follow()
	return w.watcher.Polls, nil
}

// Gone reports whether Root was removed or moved since Open. Then no change is noticed any more.
func (w *Watch) Gone() bool {
	if w.watcher == nil {
		return false
	}
	now, err := os.Stat(w.Root)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return w.watcher.Polls == "" && !os.SameFile(w.root, now) // else another folder in its place is watched
}

// Close ends the watching. Without Open it does nothing.
func (w *Watch) Close() {
	if w.watcher == nil {
		return
	}
	close(w.over)
	_ = w.watcher.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.resting != nil {
		w.resting.Stop()
	}
}

// Changed receives when there are changes that the next round has to answer.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Reading tells that PIPELINE.hcl is about to be read for a round.
func (w *Watch) Reading() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.redefined = false
}

// Next returns the tasks of the next round, in the order of the graph, and the paths whose changes begin it, sorted. Where what
// defines the tasks changed since Reading it returns none, and Changed receives again. From now on the tasks of g are watched;
// files are as in Open. Services that the tasks need are not added. changed are the
// services among tasks that changed files concern, or what they depend on, and not only a task that needs them.
func (w *Watch) Next(c *pipeline.Config, g *pipeline.Graph, files []string) (tasks, paths, changed []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.redefined {
		return nil, nil, nil
	}
	select { // what is pending is taken now
	case <-w.changed:
	default:
	}
	paths, lost := w.pending.Paths, w.pending.Lost
	w.pending = watch.Changes{}
	w.use(c, g, files)
	w.watchAnew(paths)
	runs := map[string]bool{}
	for name := range cache.Affected(c, w.tasks, paths, files, true) {
		runs[name] = true
	}
	for before := -1; before != len(runs); {
		before = len(runs)
		w.spread(runs, lost)
	}
	for _, t := range w.tasks {
		if runs[t.Name] {
			tasks = append(tasks, t.Name)
		}
	}
	changed = w.changedServices(runs, paths, lost)
	for i := range paths {
		paths[i] = shown(paths[i])
	}
	slices.Sort(paths)
	return tasks, slices.Compact(paths), changed
}

// changedServices returns the services of a round that run because of themselves. w.mu is locked.
func (w *Watch) changedServices(runs map[string]bool, paths []string, lost bool) (names []string) {
	touched := cache.Affected(w.config, w.tasks, paths, nil, true)
	for _, t := range w.tasks {
		after := slices.ContainsFunc(t.DependsOn, func(name string) bool {
			d := w.config.Task(name)
			return runs[name] && d != nil && d.Service == nil
		})
		if t.Service != nil && (touched[t.Name] != "" || lost && t.HasInputs() || after) {
			names = append(names, t.Name)
		}
	}
	return names
}

// use takes over what was read for a round. w.mu is locked.
func (w *Watch) use(c *pipeline.Config, g *pipeline.Graph, files []string) {
	w.Know(c)
	w.config, w.tasks, w.files = c, g.Tasks(), files
	w.count++
}

// spread adds to runs what has to run with them: what they depend on and is not there, and what depends on them.
// w.mu is locked.
func (w *Watch) spread(runs map[string]bool, lost bool) {
	for _, t := range w.tasks { // dependencies come first
		was, known := w.ended[t.Name]
		left := was.Status == record.Skipped && was.Reason != nil &&
			(*was.Reason == string(pipeline.FailFast) || *was.Reason == string(pipeline.Signal)) // its round ended before it
		if lost && t.HasInputs() || !known || was.Status == record.Cancelled || left ||
			slices.ContainsFunc(t.DependsOn, func(d string) bool { return runs[d] }) {
			runs[t.Name] = true
		}
	}
	for _, t := range slices.Backward(w.tasks) {
		for _, name := range t.DependsOn {
			d := w.config.Task(name)
			if !runs[t.Name] || d == nil {
				continue
			}
			missing, err := run.MissingOutput(w.config.Root, d)
			was := w.ended[name].Status
			if err == nil && missing != "" || was != record.Passed && was != record.Cached {
				runs[name] = true
			}
		}
	}
}

// Begin tells that a round is at work, with the tasks of g. The context ends when changes touch one of them. Where a service
// keeps the round at work it ends when there are any changes, also since Next. It has ended if what defines the tasks changed
// since Reading. end must be called with the record of the round, or with nil where there is none: another run was at work, or nothing could be
// recorded. Then the next round has these tasks, too.
func (w *Watch) Begin(ctx context.Context, g *pipeline.Graph) (_ context.Context, end func(*record.Sealed)) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current, w.cancel = g.Tasks(), cancel
	if w.redefined || (len(w.pending.Paths) > 0 || w.pending.Lost) && w.hasOpenService() {
		cancel()
	}
	return ctx, func(sealed *record.Sealed) {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cancel, w.last = nil, time.Now()
		w.awaitRest()
		w.Know(w.config)
		w.watchAnew(nil)
		if sealed == nil {
			for _, t := range g.Tasks() {
				w.ended[t.Name] = record.Task{Name: t.Name, Status: record.Cancelled}
			}
			return
		}
		for _, t := range sealed.Tasks {
			w.ended[t.Name] = t
		}
	}
}
