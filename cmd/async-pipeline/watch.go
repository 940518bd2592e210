// run --watch: rounds of the same tasks, each a run with a record of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/watch"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A watching is one run --watch.
type watching struct {
	prog   *program
	root   string    // its real path
	repo   *git.Repo // nil: nothing is ignored
	woken  chan struct{}
	count  int            // rounds
	signal syscall.Signal // that came while the last round was at work; 0: none
	close  func()         // ends the watching
	know   func()         // fills in the inputs of tasks with inputs = auto

	mu      sync.Mutex // guards what follows
	config  *pipeline.Config
	tasks   []*pipeline.Task // that are watched
	files   []string         // PIPELINE.hcl, what it includes and what gives it values
	pending watch.Changes    // since the last round was chosen
	ended   map[string]record.Task
	current []*pipeline.Task   // of the round that is at work
	cancel  context.CancelFunc // ends that round; nil: none is at work
	last    time.Time          // when a round ended last
	changed map[string]*fileChanges
}

// Rounds that the change of one file begins at once, one after the other, are most likely caused by a task that writes it.
const (
	mostAtOnce = 5
	atOnce     = 300 * time.Millisecond // after the end of a round
	fast       = 2 * time.Second        // for a round: where they take longer, a person may have made the changes
)

// fileChanges are those of one file.
type fileChanges struct {
	round  int       // the last one that it changed in
	inARow int       // rounds before that one
	since  time.Time // when the first of them began
	told   bool
}

// watchable returns an error for what cannot be typed together with --watch.
func (r *runFlags) watchable() error {
	switch {
	case r.dryRun || r.json || r.trace != "":
		return exit.Misused("--watch cannot be used with --dry-run, --json or --trace")
	case r.only || r.affected.asked || r.resume != "":
		return exit.Misused("--watch cannot be used with --only, --affected or --resume")
	}
	r.noHeal = r.noHeal || !r.heal.asked
	return nil
}

// watchTasks runs rounds until a signal comes.
func watchTasks(prog *program, r *runFlags, names []string) error {
	file, err := prog.settledFile()
	if err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return err
	}
	w := &watching{prog: prog, root: root, woken: make(chan struct{}, 1), close: func() {}, ended: map[string]record.Task{}, changed: map[string]*fileChanges{}}
	repo, err := git.Find(context.Background(), root)
	if err == nil {
		w.repo = repo
	}
	r.rounds = w
	defer func() { w.close() }()
	for {
		code := prog.code(runTasks(prog, r, names))
		if w.config == nil { // there is nothing that could be watched
			return exit.With(code)
		}
		if code >= exit.Signal || prog.Out.Problem() != nil { // a round that changes ended has no such code
			return exit.With(code)
		}
		if w.signal != 0 {
			return exit.With(exit.Signal + int(w.signal))
		}
		if w.waits() {
			prog.Results().Line("Watching %s. Ctrl-C ends.", english.Count(len(w.tasks), "task"))
			prog.Out.Flush()
		}
		<-w.woken
	}
}

// open begins to watch, before the first task of the first round starts: no change is missed.
func (w *watching) open() error {
	watcher, err := watch.Open(w.root, w.skips())
	if err != nil {
		return exit.Refuse("%v", err)
	}
	if watcher.Polls != "" {
		w.prog.Messages().Notice("all files are looked at each second: " + watcher.Polls)
	}
	over := make(chan struct{})
	w.close = func() {
		close(over)
		_ = watcher.Close()
	}
	go func() {
		for {
			select {
			case <-over:
				return
			case c := <-watcher.C:
				w.take(c)
			}
		}
	}()
	return nil
}

// looping reports whether a file changes again and again while, or just after, a round is at work: most likely a task
// writes it. Such a change begins no round. w.mu is locked.
func (w *watching) looping(path string) bool {
	c := w.changed[path]
	if c == nil {
		c = &fileChanges{round: w.count}
		w.changed[path] = c
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
	if c.inARow < mostAtOnce || time.Since(c.since) > mostAtOnce*fast {
		return false
	}
	if !c.told {
		c.told = true
		w.prog.Messages().Warning(fmt.Sprintf("%s changed in each of %d rounds in a row while tasks ran: it begins no round until they rest\ndeclare it as an output, or let git ignore it",
			view.Harmless(path), mostAtOnce))
	}
	return true
}

// waits reports whether nothing is to be run yet.
func (w *watching) waits() bool { return len(w.woken) == 0 }

// skips returns which folders are not watched: those of git and of the records, and what git ignores, unless inputs are
// in it. What is ignored is asked once; in a folder that is ignored since, changes are dropped one by one.
func (w *watching) skips() func(dir string) bool {
	ignored := map[string]bool{}
	if w.repo != nil {
		all, err := w.repo.Ignored(context.Background())
		for _, p := range all {
			if dir, folder := strings.CutSuffix(p, "/"); err == nil && folder {
				if rel, ok := relative(w.root, filepath.Join(w.repo.Top, filepath.FromSlash(dir))); ok {
					ignored[rel] = true
				}
			}
		}
	}
	var inputs []string
	for _, t := range w.config.Tasks {
		inputs = append(inputs, t.Inputs...)
	}
	return func(dir string) bool {
		switch filepath.Base(dir) {
		case ".git", ".async":
			return true
		}
		return ignored[dir] && !slices.ContainsFunc(inputs, func(in string) bool { return strings.HasPrefix(in, dir+"/") })
	}
}

// take notes changes. It ends the round that is at work if they touch one of its tasks.
func (w *watching) take(c watch.Changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.Paths = slices.DeleteFunc(w.concerning(c.Paths), w.looping)
	if len(c.Paths) == 0 && !c.Lost {
		return
	}
	w.pending.Paths, w.pending.Lost = append(w.pending.Paths, c.Paths...), w.pending.Lost || c.Lost
	select {
	case w.woken <- struct{}{}:
	default:
	}
	if w.cancel != nil && (c.Lost || len(cache.Affected(w.config, w.current, c.Paths, w.files, true)) > 0) {
		w.cancel()
	}
}

// concerning returns those of paths that may affect a task. w.mu is locked.
func (w *watching) concerning(paths []string) (all []string) {
	var asked []string
	for _, p := range paths {
		if p == ".async" || strings.HasPrefix(p, ".async/") || p == ".git" || strings.HasPrefix(p, ".git/") {
			continue
		}
		if slices.Contains(w.files, p) {
			all = append(all, p)
			continue
		}
		if _, err := os.Lstat(filepath.Join(w.root, filepath.FromSlash(p))); errors.Is(err, fs.ErrNotExist) {
			p += "/" // it may have been a folder
			if cache.Concerns(w.tasks, strings.TrimSuffix(p, "/"), "") {
				p = strings.TrimSuffix(p, "/")
			}
		}
		if cache.Concerns(w.tasks, p, "") {
			asked = append(asked, p)
		}
	}
	if w.repo == nil || len(asked) == 0 {
		return append(all, asked...)
	}
	ignored := w.ignored(asked)
	for _, p := range asked {
		if at := ignored[p]; at == "" || cache.Concerns(w.tasks, p, at) {
			all = append(all, p)
		}
	}
	return all
}

// ignored returns for those of paths that git ignores the topmost folder, or the path itself, that it ignores.
func (w *watching) ignored(paths []string) map[string]string {
	var names []string
	inRepo := map[string]string{}
	for _, p := range paths {
		for at := p; at != "." && at != "/"; at = path.Dir(at) {
			if rel, ok := relative(w.repo.Top, filepath.Join(w.root, filepath.FromSlash(at))); ok && inRepo[at] == "" {
				inRepo[at] = rel
				names = append(names, rel)
			}
		}
	}
	found, err := w.repo.IgnoredOf(context.Background(), names)
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

// choose returns the tasks of the next round, or nil for none.
func (w *watching) choose(prog *program, c *pipeline.Config, g *pipeline.Graph, screen *view.Screen) (*pipeline.Graph, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select { // what is pending is taken now
	case <-w.woken:
	default:
	}
	paths, lost := w.pending.Paths, w.pending.Lost
	w.pending = watch.Changes{}
	w.config, w.tasks, w.files = c, g.Tasks(), definingFiles(prog, c, w.root)
	w.count++
	if w.count == 1 {
		err := w.open()
		if err != nil {
			w.config = nil
		}
		return g, err
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	runs := map[string]bool{}
	for name := range cache.Affected(c, g.Tasks(), paths, w.files, true) {
		runs[name] = true
	}
	for before := -1; before != len(runs); {
		before = len(runs)
		w.spread(c, g, runs, lost)
	}
	var names []string
	for _, t := range g.Tasks() {
		if runs[t.Name] {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	what := "files"
	if len(paths) > 0 {
		what = english.List(paths, 3)
	}
	screen.Line("\n%s changed: %s", view.Harmless(what), english.Count(len(names), "task"))
	return selectTasks(prog, c, c.WithServices(names), true)
}

// spread adds to runs what has to run with them: what they depend on and is not there, and what depends on them.
// w.mu is locked.
func (w *watching) spread(c *pipeline.Config, g *pipeline.Graph, runs map[string]bool, lost bool) {
	for _, t := range g.Tasks() { // dependencies come first
		was, known := w.ended[t.Name]
		failFast := was.Reason != nil && *was.Reason == "fail_fast"
		if lost && t.HasInputs() || !known || was.Status == record.Cancelled || was.Status == record.Skipped && failFast ||
			slices.ContainsFunc(t.DependsOn, func(d string) bool { return runs[d] }) {
			runs[t.Name] = true
		}
	}
	for _, t := range slices.Backward(g.Tasks()) {
		for _, name := range t.DependsOn {
			d := c.Task(name)
			if !runs[t.Name] || d == nil {
				continue
			}
			missing, err := run.MissingOutput(c.Root, d)
			was := w.ended[name].Status
			if err == nil && missing != "" || was != record.Passed && was != record.Cached {
				runs[name] = true
			}
		}
	}
}

// begin tells that a round is at work. The context ends when changes touch one of its tasks; end must be called.
func (w *watching) begin(ctx context.Context, g *pipeline.Graph) (context.Context, func(*record.Sealed)) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current, w.cancel = g.Tasks(), cancel
	return ctx, func(sealed *record.Sealed) {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cancel, w.last = nil, time.Now()
		w.know()
		if sealed == nil { // another run was at work, or nothing could be recorded: the next round has these tasks, too
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
