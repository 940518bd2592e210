package verify

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// tasks returns the tasks to run, in order: dependencies that the changes can have changed or that have to run in
// each copy, the failed task, and, with also, what verify names together with what that waits for and no run has
// made. Never what depends on the failed task.
func (q *Request) tasks(also bool) []*pipeline.Task {
	var tasks []*pipeline.Task
	seen := map[string]bool{}
	add := func(t *pipeline.Task) {
		if t != nil && !seen[t.Name] {
			seen[t.Name] = true
			tasks = append(tasks, t)
		}
	}
	f, known := q.Failure, map[string]bool{}
	for _, t := range q.before(f.Task.Name) {
		if q.changes(t, known) || slices.Contains(q.Ahead, t.Name) {
			add(t)
		}
	}
	add(f.Task)
	if !also {
		return tasks
	}
	for _, name := range q.Also {
		for _, t := range q.before(name) {
			r := f.Run.Task(t.Name)
			made := r != nil && (r.Status == record.Passed || r.Status == record.Cached)
			if !made || q.changes(t, known) {
				add(t)
			}
		}
		add(f.Config.Task(name))
	}
	return tasks
}

// before returns what a task waits for, dependencies first, but for what an agent does.
func (q *Request) before(name string) []*pipeline.Task {
	g, err := pipeline.Select(q.Failure.Config, []string{name}, false)
	if err != nil {
		return nil
	}
	return pipeline.WithoutAgents(g.Ancestors(name))
}

// changes reports whether the patch can have changed what t makes: it touches what t is made from, or what a task is
// made from that t depends on, also indirectly. known has the answers so far, by name.
func (q *Request) changes(t *pipeline.Task, known map[string]bool) bool {
	changed, ok := known[t.Name]
	if !ok {
		changed = q.touches(t) || slices.ContainsFunc(t.DependsOn, func(name string) bool {
			d := q.Failure.Config.Task(name)
			return d != nil && q.changes(d, known)
		})
		known[t.Name] = changed
	}
	return changed
}

// touches reports whether the patch changes a file that t is made from, as the cache sees it, or one that t makes: a
// run makes that again. All that is made from files which are not known counts as touched. An agent's task is not
// carried out again, so only what it wrote counts.
func (q *Request) touches(t *pipeline.Task) bool {
	if t.Agent == nil && len(t.Inputs) == 0 {
		return true
	}
	inputs, outputs := slices.Concat(files.ParseAll(t.Inputs), files.AskedFor(t.Filesets, t.Asked)), files.ParseAll(t.Outputs)
	for _, p := range slices.Concat(t.Reads, t.Dotenv) {
		inputs = append(inputs, files.Exactly(p))
	}
	c := commandOf(q.Base.Sub, t)
	named := words(c)
	return slices.ContainsFunc(q.Changes, func(change patch.Change) bool {
		rel := change.Path
		if q.Base.Sub != "." {
			var below bool
			if rel, below = strings.CutPrefix(rel, q.Base.Sub+"/"); !below {
				return false
			}
		}
		if files.Matches(outputs, rel) {
			return true
		}
		return t.Agent == nil && (files.Matches(inputs, rel) ||
			slices.ContainsFunc(named, func(word string) bool { return path.Join(c.Dir, word) == change.Path }))
	})
}

// Needs returns how long a verification will take, as far as it was measured: what comes before the check, as in the
// run, and the check twice, one after the other, and once more where tests are asked for by name. A quarter and a second
// are added, because nothing takes the same time twice. Before it an agent that does not stop by itself is ended.
func (q *Request) Needs() time.Duration {
	need := 2 * q.Took
	if argv, _ := q.goTest(); argv != nil || q.asksNames() {
		need += q.Took
	}
	for _, t := range q.before(q.Failure.Task.Name) {
		if r := q.Failure.Run.Task(t.Name); r != nil && r.DurationMS != nil {
			need += time.Duration(*r.DurationMS) * time.Millisecond
		}
	}
	return sandbox.Grace + need + need/4 + time.Second
}
