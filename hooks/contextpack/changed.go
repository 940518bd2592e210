package contextpack

import (
	"context"
	"path/filepath"
	"regexp"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// changed tells what changed since the task last passed, in the newest earlier run that is still kept.
type changed struct {
	Baseline     *string       `json:"baseline"` // that run; "none": it never passed; null: not known
	Commit       *string       `json:"commit"`   // git's, at that run
	Dirty        *bool         `json:"dirty"`    // not all that it ran on was committed: paths may list too much or too little
	Paths        []changedPath `json:"paths"`    // relative to git's top, sorted; null: not known
	More         int           `json:"more,omitempty"`
	Dependencies []string      `json:"dependencies"` // whose outputs changed; null: not known
}

type changedPath struct {
	Path   string  `json:"path"`
	Change string  `json:"change"` // added | removed | changed
	Digest *string `json:"digest"` // of the content now; null: none, or the file is too large
}

const (
	maxPaths    = 100     // listed of dirty files, and of changed ones
	maxDigested = 1 << 20 // bytes of a file of which a digest is made
	maxEarlier  = 200     // runs that are searched for a pass
	maxSearch   = time.Second
	neverPassed = "none"
)

// A place is what the context packs of one run have in common: the state of the tree.
type place struct {
	repo  *git.Repo // nil: in none
	dirty []string  // nil: not known
	roots []rename
	pass  map[string]*record.Run      // by task: the newest earlier run in which it passed, without its tasks
	all   bool                        // every earlier run was searched: a task that is not in pass never passed
	since map[string][]git.Difference // by commit; nil: git does not say
}

// A rename is a folder's absolute path, and what replaces it.
type rename struct {
	path *regexp.Regexp
	to   string
}

// placeOf reads the state of the tree, and searches earlier runs for a pass of tasks.
func (b *Builder) placeOf(ctx context.Context, run *record.Sealed, tasks ...string) *place {
	p := &place{since: map[string][]git.Difference{}}
	p.pass, p.all = lastPasses(b.Store, run.ID, tasks)
	known := map[string]bool{"": true, "/": true}
	add := func(dir, to string) {
		if !known[dir] {
			known[dir] = true
			p.roots = append(p.roots, rename{failedtask.RootPath(dir), to + "$1"})
		}
	}
	add(run.Root, ".")
	add(b.Config.Root, ".")
	real, err := filepath.EvalSymlinks(b.Config.Root)
	if err == nil {
		add(real, ".")
	}
	repo, err := git.Of(ctx, b.Config.Root)
	if err != nil {
		return p
	}
	p.repo = repo
	if up, err := filepath.Rel(real, repo.Top); err == nil { // for paths beside the root in the same work tree
		add(repo.Top, filepath.ToSlash(up))
	}
	if dirty, err := repo.Dirty(ctx); err == nil {
		p.dirty = append([]string{}, dirty...)
	}
	return p
}

// clean removes from outside text what controls a terminal or hides text, and replaces the root's own path by ".".
func (p *place) clean(text string) string {
	text = agent.Clean(text)
	for _, r := range p.roots {
		text = r.path.ReplaceAllString(text, r.to)
	}
	return text
}

// changedSince returns what changed since the newest earlier run in which task passed.
func (p *place) changedSince(ctx context.Context, task string) changed {
	passed := p.pass[task]
	switch {
	case passed == nil && p.all:
		return changed{Baseline: new(neverPassed)}
	case passed == nil:
		return changed{}
	}
	c := changed{Baseline: &passed.ID}
	if passed.Git == nil || passed.Git.Commit == nil {
		return c
	}
	c.Commit, c.Dirty = passed.Git.Commit, passed.Git.Dirty
	if p.repo == nil {
		return c
	}
	differ, known := p.since[*c.Commit]
	if !known {
		var err error
		if differ, err = p.repo.Since(ctx, *c.Commit); err == nil && differ == nil {
			differ = []git.Difference{}
		}
		p.since[*c.Commit] = differ
	}
	if differ == nil {
		return c
	}
	c.Paths = []changedPath{}
	for _, d := range differ[:min(len(differ), maxPaths)] {
		c.Paths = append(c.Paths, changedPath{d.Path, d.Change, digestOf(filepath.Join(p.repo.Top, d.Path))})
	}
	c.More = len(differ) - len(c.Paths)
	return c
}

// lastPasses returns, by task, the newest run before id in which it passed, without its tasks. all reports whether
// every earlier run was searched for those that are missing. Runs of many tasks are large, so each is read once.
func lastPasses(store *record.Store, id string, tasks []string) (passed map[string]*record.Run, all bool) {
	passed = map[string]*record.Run{}
	ids, err := store.IDs()
	if err != nil {
		return passed, false
	}
	started, searched := time.Now(), 0
	for _, earlier := range ids {
		if !record.After(id, earlier) {
			continue
		}
		if searched++; len(passed) == len(tasks) || searched > maxEarlier || time.Since(started) > maxSearch {
			return passed, false
		}
		run := store.Entry(earlier).Sealed
		if run == nil {
			continue
		}
		bare := run.Run
		bare.Tasks = nil
		for _, name := range tasks {
			if t := run.Task(name); t != nil && passed[name] == nil &&
				(t.Status == record.Passed || t.Status == record.Cached) {
				passed[name] = &bare
			}
		}
	}
	return passed, true
}

// digestOf returns the digest of a file; nil where there is none, or where it is too large.
func digestOf(path string) *string {
	text, err := recordfile.Read(path, maxDigested)
	if err != nil {
		return nil
	}
	return new(recordfile.Digest(text))
}
