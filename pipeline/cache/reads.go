package cache

// What a task was seen to read of the tree: the inputs of one with inputs = auto, and what strict = true compares with
// those that are declared.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/reads"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// readSets are the newest sets of a task. Which one counts depends on the contents of the files: a branch may read
// others.
type readSets struct {
	Version int         `json:"schema_version"`
	Sets    []reads.Set `json:"sets"` // the newest first
}

const (
	readSetsVersion = 1
	mostSets        = 4
	limitReadSets   = 256 << 20 // bytes
)

// readsPath returns the path of the sets of a task in the cache in dir.
func readsPath(dir, task string) string {
	return filepath.Join(dir, "reads", filename.Of(task)+".json")
}

// readSetsOf returns the sets of a task; nil if there are none.
func readSetsOf(dir, task string) []reads.Set { return readSetsIn(readsPath(dir, task)) }

// readSetsIn returns the sets of a file; nil if it has none.
func readSetsIn(path string) []reads.Set {
	b, err := recordfile.Read(path, limitReadSets)
	var all readSets
	if err != nil || json.Unmarshal(b, &all) != nil || all.Version != readSetsVersion {
		return nil
	}
	for _, set := range all.Sets {
		for _, p := range slices.Concat(set.Files, set.Names, set.Listed, set.Made) {
			if p != "" && !files.Local(p) {
				return nil // not ours
			}
		}
	}
	return all.Sets
}

// setsOf returns the sets of a task: first the one that was in the key of a pass, with which a miss is compared, then the
// newest ones.
func (c *Cache) setsOf(t *pipeline.Task, pass *record.MadeOf) (all []*reads.Set) {
	for i := range c.sets[t.Name] {
		if s := &c.sets[t.Name][i]; s.Digest() == pass.Platform["reads"] {
			all = slices.Insert(all, 0, s)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// putReadSet makes a set the newest of a task.
func putReadSet(dir, task string, set reads.Set) error {
	all := readSets{Version: readSetsVersion, Sets: []reads.Set{set}}
	digest := set.Digest()
	for _, old := range readSetsOf(dir, task) {
		if len(all.Sets) < mostSets && old.Digest() != digest {
			all.Sets = append(all.Sets, old)
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "reads"), 0o750); err != nil {
		return err
	}
	return recordfile.Write(readsPath(dir, task), b, false)
}

// gathered returns what a task that has ended was seen to read; nil if nobody looked.
func (c *Cache) gathered(ctx context.Context, e *Entry) (*reads.Seen, error) {
	if e.reads == nil {
		return nil, nil
	}
	s, err := c.views.read(ctx, e.task, e.reads)
	if err != nil {
		return nil, err
	}
	if e.task.Auto {
		for _, p := range slices.Concat(s.Files, s.Names, s.Listed, s.Made) {
			if name, found := c.Secrets.Find([]byte(p)); found {
				s.WhyNot = cmp.Or(s.WhyNot, fmt.Sprintf("it uses a path that has the value of the secret %s in it", name))
			}
		}
	}
	return &s, nil
}

// inputsOf returns what counts as inputs of a task that was seen, nil for those that it declares.
func inputsOf(e *Entry, s *reads.Seen) *reads.Set {
	if !e.task.Auto {
		return nil
	}
	return &s.Set
}

// rekey gives a task that has passed the key that belongs to what it read. It returns why that could not be stored, or "".
func (c *Cache) rekey(ctx context.Context, e *Entry, s *reads.Seen, inputs []reapi.File, root reapi.Digest) string {
	d, err := c.Describe(e.task)
	if err != nil {
		return err.Error()
	}
	if e.made, err = c.describe(ctx, e.task, d, root, &s.Set, nil); err != nil {
		return err.Error()
	}
	e.Key, e.set, e.inputs, e.root = e.made.Key, &s.Set, inputs, root
	if err := putReadSet(c.Dir, e.task.Name, s.Set); err != nil {
		return err.Error()
	}
	return ""
}

// mostUndeclared bounds the paths that are recorded of a task.
const mostUndeclared = 100

// undeclared returns what a task read that is not among its inputs; nil if nobody looked, or what it reads is its inputs.
func (c *Cache) undeclared(e *Entry, s *reads.Seen, inputs []reapi.File) *record.Undeclared {
	if s == nil || e.task.Auto {
		return nil
	}
	u := &record.Undeclared{Paths: []string{}}
	d, err := c.Describe(e.task)
	switch {
	case s.WhyNot != "":
		u.Reason = &s.WhyNot
		return u
	case err != nil:
		u.Reason = new(err.Error())
		return u
	}
	declared := map[string]bool{}
	for _, f := range inputs {
		declared[f.Path] = true
	}
	for _, p := range d.Programs { // they are part of the key
		if rel, err := filepath.Rel(c.Config.Root, p.Path); err == nil {
			declared[filepath.ToSlash(rel)] = true
		}
	}
	for _, p := range s.Opened {
		switch {
		case declared[p]:
		case len(u.Paths) < mostUndeclared:
			u.Paths = append(u.Paths, p)
		default:
			u.More++
		}
	}
	return u
}
