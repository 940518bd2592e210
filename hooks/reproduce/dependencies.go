package reproduce

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A check may need what the tasks make that it depends on: a compiled program in a folder that git ignores, say. Where
// that is missing in a copy, or older than what it is made from, they run there before the check.

// dependencies returns the tasks that the failed task waits for, in order, but for those that an agent does: what they
// wrote is in the base.
func (q *Request) dependencies() []*pipeline.Task {
	g, err := pipeline.Select(q.Failure.Config, []string{q.Failure.Task.Name}, false)
	if err != nil {
		return nil
	}
	return pipeline.WithoutAgents(g.Ancestors(q.Failure.Task.Name))
}

// stale returns the dependencies that the run did not run and that may have made something from other inputs than
// those of now, and all that come after the first of them.
func (q *Request) stale() []*pipeline.Task {
	all := q.dependencies()
	for i, t := range all {
		if r := q.Failure.Run.Task(t.Name); (r == nil || r.Status != record.Passed && r.Status != record.Cached) &&
			!q.upToDate(t) {
			return all[i:]
		}
	}
	return nil
}

// unmade returns all dependencies, where one of them makes something that base does not have, as far as is known.
func (q *Request) unmade(base *scratch.Base) []*pipeline.Task {
	all := q.dependencies()
	for _, t := range all {
		if len(below(base, t.Outputs)) == 0 {
			return all
		}
	}
	return nil
}

// upToDate reports whether the outputs of a task are in the tree and none is older than an input. It is not known of
// a task that does not declare both.
func (q *Request) upToDate(t *pipeline.Task) bool {
	times := func(globs []string) (oldest, newest time.Time) {
		for _, p := range below(q.Base, globs) {
			info, err := os.Lstat(filepath.Join(q.Failure.Config.Root, filepath.FromSlash(p)))
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if at := info.ModTime(); oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
			if at := info.ModTime(); at.After(newest) {
				newest = at
			}
		}
		return oldest, newest
	}
	_, changed := times(t.Inputs)
	made, _ := times(t.Outputs)
	return !changed.IsZero() && !made.IsZero() && !made.Before(changed)
}

// below returns the paths of base that globs name, relative to the folder of PIPELINE.hcl.
func below(base *scratch.Base, globs []string) (paths []string) {
	if len(globs) == 0 {
		return nil
	}
	for _, e := range base.Manifest.Entries {
		p := e.Path
		if base.Sub != "." && base.Sub != "" {
			var ok bool
			if p, ok = strings.CutPrefix(p, base.Sub+"/"); !ok {
				continue
			}
		}
		if failedtask.Among(globs, path.Clean(p)) && !e.Mode.IsDir() {
			paths = append(paths, p)
		}
	}
	return paths
}
