// What run --resume takes over from an earlier run.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A resumption is what is left of an earlier run.
type resumption struct {
	from     string           // id of that run
	status   string           // how it ended
	config   *pipeline.Config // with the arguments that tasks had there
	recorded record.Resumed
	again    map[string]string // tasks that run, with the reason
	why      map[string]string // of again, those that had passed
	unknown  int               // of recorded.Passed: whether they would pass now is not known
	cached   map[string]bool   // tasks that the cache answers, so that their outputs are as they were
}

// record returns what the record of the new run says.
func (r *resumption) record() *record.Resumed {
	if r == nil {
		return nil
	}
	return &r.recorded
}

// reason returns why a task runs, for a plan.
func (r *resumption) reason(task string) string { return cmp.Or(r.again[task], "for its outputs") }

// graph returns the tasks that run: those that are left, or without a resumption those that are named. nil: none is
// left.
func (r *resumption) graph(prog *program, c *pipeline.Config, names []string, only bool) (*pipeline.Graph, error) {
	if r == nil {
		return selectTasks(prog, c, names, only)
	}
	names = nil
	for _, t := range c.Tasks {
		if r.again[t.Name] != "" || r.cached[t.Name] {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return selectTasks(prog, c, c.WithServices(names), true)
}

// resumable returns an error for what cannot be typed together with --resume.
func (r *runFlags) resumable(names []string) error {
	switch {
	case r.resume == "":
		return exit.Misused("--resume has an empty run: is a variable not set?")
	case len(names) > 0 || len(r.args) > 0:
		return exit.Misused("--resume runs what is left of its run: name no tasks, and no arguments")
	case r.only || r.affected.asked:
		return exit.Misused("--resume cannot be used with --only or --affected")
	}
	return nil
}

// past is what is known of the tasks of a run, and of those that it took over itself.
type past struct {
	names   []string // of the run itself
	tasks   map[string]record.Task
	prints  map[string]string // fingerprints
	dirs    map[string]string // of the run in which the task ended
	status  string
	visited map[string]bool
}

// take adds a run. Only named tasks are added, if there are names.
func (p *past) take(store *record.Store, e record.Entry, only []string) error {
	p.visited[e.ID] = true
	ended := map[string]record.Task{}
	var names []string
	var resumes *record.Resumed
	dir := e.Dir
	if e.Err != nil {
		return e.Err
	}
	if s := e.Sealed; s != nil {
		dir = s.Dir
	}
	if err := whole(e, dir); err != nil {
		return err
	}
	args := map[string]record.Args{}
	if s := e.Sealed; s != nil {
		resumes, dir, p.status = s.Resumes, s.Dir, s.Status
		for _, t := range s.Tasks {
			names = append(names, t.Name)
			ended[t.Name] = t
		}
	} else {
		story, err := store.Story(e.ID)
		if err != nil {
			return err
		}
		names, ended, resumes, p.status = story.Names, story.Ended, story.Resumes, "interrupted"
		args = story.Args
		if len(names) == 0 {
			return errors.New("it was ended before it had a task")
		}
	}
	graph, err := record.ReadGraph(dir)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, name := range only {
		wanted[name] = true
	}
	for _, name := range names {
		if len(only) > 0 && !wanted[name] {
			continue
		}
		if _, known := p.tasks[name]; known {
			continue
		}
		t, ok := ended[name]
		if !ok {
			t = record.Task{Name: name, Status: record.Cancelled, Args: args[name].Args, ArgsHidden: args[name].Hidden}
		}
		p.tasks[name], p.dirs[name] = t, dir
		for _, n := range graph {
			if n.Name == name {
				p.prints[name] = n.Fingerprint
			}
		}
	}
	if len(only) == 0 {
		p.names = names
	}
	if resumes == nil {
		return nil
	}
	// What it had taken over is part of it. A run that is gone cannot tell: such a task runs again.
	status := p.status
	defer func() { p.status = status }()
	if len(only) == 0 {
		p.names = append(p.names, resumes.Passed...)
	}
	before := store.Entry(resumes.Run)
	if len(resumes.Passed) == 0 || p.visited[before.ID] {
		return nil
	}
	err = p.take(store, before, resumes.Passed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// resumed returns the run to resume. latest is the newest one that does not go on, with a verdict or killed.
func resumed(store *record.Store, id string) (record.Entry, error) {
	if id != "latest" {
		return lookRun(store, id)
	}
	ids, err := store.IDs()
	if err != nil {
		return record.Entry{}, err
	}
	for _, id := range ids {
		if e := store.Entry(id); !e.Live {
			return e, nil
		}
	}
	return record.Entry{}, exit.Refuse("there is no run here that could be resumed: async-pipeline runs lists them")
}

// whole returns an error if a record is not as it was written.
func whole(e record.Entry, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	r := journal.NewReport(root)
	if e.Sealed != nil {
		e.Sealed.Audit(r)
	} else {
		r.Chain("events.jsonl", "the run", nil, nil, false)
	}
	if len(r.Faults) == 0 {
		return nil
	}
	f := r.Faults[0]
	return fmt.Errorf("its record is damaged: %s, %s: %s expected, found %s; async-pipeline doctor shows more", f.File, f.Where, f.Expected, f.Found)
}

// resume finds out what is left of a run.
func resume(prog *program, r *runFlags, c *pipeline.Config) (*resumption, error) {
	store := record.At(c.Root)
	e, err := resumed(store, r.resume)
	if err != nil {
		return nil, err
	}
	if e.Live {
		return nil, exit.Refuse("run %s goes on: wait for it, or end it", e.ID)
	}
	p := &past{tasks: map[string]record.Task{}, prints: map[string]string{}, dirs: map[string]string{}, visited: map[string]bool{}}
	if err := p.take(store, e, nil); err != nil {
		return nil, exit.Refuse("run %s cannot be resumed: %v", e.ID, err)
	}
	var there record.Run
	var names []string
	for _, name := range p.names {
		if _, known := p.tasks[name]; !known {
			p.tasks[name] = record.Task{Name: name} // the run in which it passed is gone
		}
		there.Tasks = append(there.Tasks, p.tasks[name])
		if c.Task(name) != nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, exit.Refuse("run %s cannot be resumed: PIPELINE.hcl has none of its tasks", e.ID)
	}
	for _, t := range there.Tasks {
		if err := repeatable(prog, &there, t.Name); err != nil {
			return nil, err
		}
	}
	left := &resumption{
		from: e.ID, status: p.status, config: withRecordedArgs(c, &there),
		recorded: record.Resumed{Run: e.ID, Passed: []string{}},
		again:    map[string]string{}, why: map[string]string{}, cached: map[string]bool{},
	}
	return left, left.choose(prog, r, p, names)
}

// choose decides which tasks run. Dependencies are decided first.
func (l *resumption) choose(prog *program, r *runFlags, p *past, names []string) error {
	g, err := selectTasks(prog, l.config, names, false)
	if err != nil {
		return err
	}
	k := (&cacheFlags{dir: r.cache.dir}).peek(prog, l.config) // also with --no-cache
	fresh := map[string]bool{}                                // not in that run, and needed by a task that changed
	changed := map[string]bool{}
	var need func(t *pipeline.Task)
	need = func(t *pipeline.Task) {
		for _, name := range t.DependsOn {
			if _, was := p.tasks[name]; !was && !fresh[name] {
				fresh[name] = true
				need(l.config.Task(name))
			}
		}
	}
	for _, t := range g.Tasks() {
		if _, was := p.tasks[t.Name]; !was {
			continue
		}
		print, err := run.Fingerprint(t, prog.Secrets)
		if err != nil {
			return err
		}
		if changed[t.Name] = print != p.prints[t.Name]; changed[t.Name] {
			need(t)
		}
	}
	for _, t := range g.Tasks() {
		then, was := p.tasks[t.Name]
		passed := then.Status == record.Passed || then.Status == record.Cached
		if t.Service != nil { // what needs it starts it
			continue
		}
		var why string
		switch {
		case !was && fresh[t.Name]:
			why = "new"
		case !was: // it was left out then, too
			continue
		case !passed && then.Status == "":
			why = "its run is gone"
		case !passed:
			why = strings.ReplaceAll(then.Status, "_", " ") + " there"
		case changed[t.Name]:
			why = "its definition changed"
		default:
			if why, err = l.stale(prog, k, p, t); err != nil {
				return err
			}
		}
		if l.cached[t.Name] {
			continue
		}
		if why == "" {
			l.recorded.Passed = append(l.recorded.Passed, t.Name)
			continue
		}
		l.again[t.Name] = why
		if passed {
			l.why[t.Name] = why
		}
	}
	return nil
}

// stale returns why a task runs again that passed and is defined as it was, or "".
func (l *resumption) stale(prog *program, k *cache.Cache, p *past, t *pipeline.Task) (string, error) {
	for _, d := range t.DependsOn {
		if l.again[d] != "" {
			return view.TaskName(d) + " runs again", nil
		}
	}
	switch missing, err := run.MissingOutput(l.config.Root, t); {
	case err != nil:
		return "", err
	case missing != "":
		return fmt.Sprintf("output %s missing", missing), nil
	}
	r, err := record.ReadReceipt(p.dirs[t.Name], t.Name)
	switch {
	case !t.HasInputs() || t.Cache.Disabled:
		l.unknown++
		return "", nil
	case errors.Is(err, fs.ErrNotExist) || err == nil && r.MadeOf == nil:
		return "what it was made of is not recorded", nil
	case err != nil:
		return err.Error(), nil //nolint:nilerr // a reason to run again
	case r.Unchanged != nil && !*r.Unchanged:
		return "what it was made of changed while it ran", nil
	}
	changed, err := k.Against(context.Background(), t, r.MadeOf)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // a reason to run again
	}
	if len(changed) == 0 && len(t.Outputs) > 0 {
		e := k.Look(context.Background(), t)
		l.cached[t.Name] = e != nil && e.Result == cache.Hit
	}
	return prog.Secrets.String((&cache.Entry{Why: changed}).Reason()), nil
}
