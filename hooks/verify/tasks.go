package verify

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
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
	f := q.Failure
	for _, t := range q.before(f.Task.Name) {
		if q.changes(t) || slices.Contains(q.Ahead, t.Name) {
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
			if !made || q.changes(t) {
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

// changes reports whether the patch can have changed what t makes: it touches t's declared inputs, or t declares
// none.
func (q *Request) changes(t *pipeline.Task) bool {
	if len(t.Inputs) == 0 {
		return true
	}
	for _, c := range q.Changes {
		rel := c.Path
		if q.Base.Sub != "." {
			var below bool
			if rel, below = strings.CutPrefix(c.Path, q.Base.Sub+"/"); !below {
				continue
			}
		}
		if matches(t.Inputs, rel) {
			return true
		}
	}
	return false
}

// matches reports whether globs name p. The last glob that matches decides; "!" excludes.
func matches(globs []string, p string) bool {
	in := false
	for _, g := range globs {
		g, not := strings.CutPrefix(g, "!")
		if ok, err := doublestar.Match(path.Clean(g), p); err == nil && ok {
			in = !not
		}
	}
	return in
}

// Needs returns how long a verification will take, as far as it was measured: what comes before the check, as in the
// run, and the check twice, one after the other, and once more where tests are asked for by name. Before it an agent
// that does not stop by itself is ended.
func (q *Request) Needs() time.Duration {
	need := sandbox.Grace + 2*q.Took
	if argv, _ := q.goTest(); argv != nil || q.asksNames() {
		need += q.Took
	}
	for _, t := range q.before(q.Failure.Task.Name) {
		if r := q.Failure.Run.Task(t.Name); r != nil && r.DurationMS != nil {
			need += time.Duration(*r.DurationMS) * time.Millisecond
		}
	}
	return need
}
