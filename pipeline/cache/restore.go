package cache

// What a hit does to the tree, and what clean_outputs does.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// Restore makes the outputs of a hit what they were, and returns what the task printed then, the run in which it did,
// and how long it took. After an error the entry is no hit any more: the task must run.
func (c *Cache) Restore(ctx context.Context, e *Entry) (log []byte, run string, took time.Duration, err error) {
	if e.early && !c.inPlace(e) {
		if err := c.lookNow(ctx, e); err != nil {
			e.off(err.Error())
			return nil, "", 0, err
		}
		if e.Result != Hit {
			return nil, "", 0, errors.New(e.Reason())
		}
	}
	if e.found.Log.Size > 0 {
		log, err = c.store.Get(e.found.Log)
	}
	e.Given = map[string][]byte{}
	for _, f := range e.found.Beside {
		if err == nil {
			e.Given[f.Path], err = c.store.Get(f.Digest)
		}
	}
	if err == nil {
		err = c.restore(ctx, e)
	}
	if err != nil {
		c.Refuse(ctx, e, err)
		return nil, "", 0, err
	}
	return log, e.found.Run, time.Duration(e.found.Took) * time.Millisecond, nil
}

func (c *Cache) restore(ctx context.Context, e *Entry) error {
	c.mu.Lock()
	err := c.claim(e.task, e.found.Files)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.store.Used(e.Key)
	if c.isMade(e) {
		return nil
	}
	v, err := c.views.of(ctx, e.task)
	if err != nil {
		return err
	}
	last := c.baselines.last(e.task)
	if why := lost(v, e, last); why != "" {
		return errors.New(why)
	}
	wrote, changed, err := c.replace(v, e, last)
	if changed {
		c.Ran(e.task)
	}
	if err != nil {
		return err
	}
	if last == nil || last.Key != e.Key || changed {
		e.made.Made = madeOf(e.found.Files, func(f reapi.File) bool {
			return wrote[f.Path] || last != nil && last.Made[f.Path] != ""
		})
		addFolders(e.made.Made, e.task, func(dir string) bool {
			return wrote[dir] || last != nil && last.Made[dir] == madeFolder
		})
		_ = c.baselines.putLast(e.task, &e.made) // without it a miss cannot be explained
	} else {
		c.baselines.notePass(e.task, e.Key)
	}
	return nil
}

// isMade reports whether the outputs of a hit were there when it was looked at, and are those of the last pass.
func (c *Cache) isMade(e *Entry) bool {
	return c.baselines.passKey(e.task) == e.Key && c.asMade(e.view, e)
}

// inPlace reports whether isMade is true and the outputs are still there, unchanged.
func (c *Cache) inPlace(e *Entry) bool {
	return c.isMade(e) && !slices.ContainsFunc(e.found.Files, func(f reapi.File) bool { return !e.view.IsThere(c.Config.Root, f.Path) })
}

// asMade reports whether the outputs of a hit are there as they were made, and no others.
func (c *Cache) asMade(v *files.View, e *Entry) bool {
	there, _ := v.Outputs(e.task.Outputs)
	return slices.EqualFunc(there, e.found.Files, func(a, b reapi.File) bool { return a.Path == b.Path && a.Same(b) })
}

// replace removes what an earlier run of the task made and this result lacks, and writes what differs. What nobody
// knows to be made by the task is kept. wrote has the paths of the files and folders that it made.
func (c *Cache) replace(v *files.View, e *Entry, last *baseline) (wrote map[string]bool, changed bool, err error) {
	wrote = map[string]bool{}
	root, err := os.OpenRoot(c.Config.Root)
	if err != nil {
		return wrote, false, err
	}
	defer func() { _ = root.Close() }()
	dirs := folders{root: root, closed: e.found.Closed, ready: map[string]bool{".": true}, made: wrote}
	gone := map[string]bool{} // what was removed
	if last != nil {
		want := map[string]reapi.File{}
		for _, f := range e.found.Files {
			want[f.Path] = f
		}
		for _, p := range slices.Backward(slices.Sorted(maps.Keys(last.Made))) {
			now, ok := v.Find(p)
			f, wanted := want[p]
			folder := last.Made[p] == madeFolder
			if !files.Local(p) || wanted && folder == f.Folder || folder && files.HasBelow(e.found.Files, p) {
				continue
			}
			if folder && (now.Folder || v.HasBelow(p)) { // what the task made in it is removed by now
				if err := dirs.make(path.Dir(p)); err == nil && root.Remove(p) == nil { // else somebody put something there
					changed, gone[p] = true, true
				}
				continue
			}
			if !ok || madeDigest(now) != last.Made[p] {
				continue
			}
			if v.Outdated(c.Config.Root, p) {
				return wrote, changed, errors.New(p + " changed meanwhile")
			}
			changed = true
			if err := dirs.make(path.Dir(p)); err != nil {
				return wrote, true, err
			}
			if err := root.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return wrote, true, err
			}
			gone[p] = true
		}
	}
	var contents []reapi.File
	for _, f := range e.found.Files {
		now, ok := v.Find(f.Path)
		if ok && now.Same(f) || f.Folder && v.HasBelow(f.Path) {
			continue
		}
		if what := inTheWay(v, f, now, gone); what != "" {
			return wrote, changed, errors.New(what)
		}
		if !gone[f.Path] && v.Outdated(c.Config.Root, f.Path) {
			return wrote, changed, errors.New(f.Path + " changed meanwhile")
		}
		changed, wrote[f.Path] = true, true
		if err := dirs.make(path.Dir(f.Path)); err != nil {
			return wrote, true, err
		}
		switch {
		case f.Folder:
			err = dirs.make(f.Path)
		case f.Link != "":
			if err = root.Remove(f.Path); err == nil || errors.Is(err, fs.ErrNotExist) {
				err = root.Symlink(f.Link, f.Path)
			}
		default:
			contents = append(contents, f)
		}
		if err != nil {
			return wrote, true, err
		}
	}
	err = c.store.Extract(contents, root)
	if err == nil {
		err = dirs.close()
	}
	return wrote, changed, err
}

// lost returns why a result must not be restored over the outputs that are in the tree, or "". A file that no run of the task made is
// somebody's, and is not replaced. One that may be an input, too, is to be read by the task if it is new or was edited:
// some tasks edit files in place.
func lost(v *files.View, e *Entry, last *baseline) string {
	made := map[string]string{}
	if last != nil {
		made = last.Made
	}
	in := files.ParseAll(e.task.Inputs)
	mayRead := func(f reapi.File) bool { return e.task.Auto || files.Matches(in, f.Path) }
	stored := map[string]bool{}
	for _, f := range e.found.Files {
		stored[f.Path] = true
		now, ok := v.Find(f.Path)
		switch {
		case !ok || f.Folder || now.Folder || now.Same(f):
		case made[f.Path] == "":
			return f.Path + " is there, and it did not make that"
		case madeDigest(now) != made[f.Path] && mayRead(now) && !v.Ignored(f.Path):
			return f.Path + " was edited, and may be an input of it"
		}
	}
	there, _ := v.Outputs(e.task.Outputs)
	for _, f := range there {
		if !f.Folder && !stored[f.Path] && made[f.Path] == "" && mayRead(f) && !v.Ignored(f.Path) {
			return f.Path + " is new, and may be an input of it"
		}
	}
	return ""
}

// folders makes the folders of a result. One that keeps something from its group or others does so from the beginning;
// what it keeps from its owner waits until all is written.
type folders struct {
	root   *os.Root
	closed []reapi.File    // of the result
	ready  map[string]bool // they are there and can be written
	made   map[string]bool // they were not there before
	later  []reapi.File    // folders with the modes that close gives them, each before those in it
}

// make makes a folder and those on the way to it, and lets the owner write in it.
func (d *folders) make(dir string) error {
	if d.ready[dir] {
		return nil
	}
	if err := d.make(path.Dir(dir)); err != nil {
		return err
	}
	perm := fs.FileMode(0o777)
	i, closed := slices.BinarySearchFunc(d.closed, dir, func(f reapi.File, p string) int { return strings.Compare(f.Path, p) })
	if closed {
		perm = d.closed[i].Mode
	}
	err := d.root.Mkdir(dir, perm|0o700)
	if err == nil {
		d.made[dir] = true
	}
	if err != nil || perm&0o700 != 0o700 {
		info, looked := d.root.Lstat(dir)
		if looked != nil || !info.IsDir() {
			return cmp.Or(err, looked)
		}
		keeps := info.Mode().Perm()
		if err == nil {
			keeps &= perm
		}
		if closed && keeps&0o700 != 0o700 {
			if err := d.root.Chmod(dir, keeps|0o700); err != nil {
				return err
			}
			d.later = append(d.later, reapi.File{Path: dir, Mode: keeps})
		}
	}
	d.ready[dir] = true
	return nil
}

// close sets the modes that had to wait.
func (d *folders) close() error {
	for _, f := range slices.Backward(d.later) {
		if err := d.root.Chmod(f.Path, f.Mode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// inTheWay returns why a file cannot be restored, or "": now is what is in its place, unless it is gone. Behind a link on
// the way to it may be what somebody wrote.
func inTheWay(v *files.View, f, now reapi.File, gone map[string]bool) string {
	for up := files.Parent(f.Path); up != ""; up = files.Parent(up) {
		if at, ok := v.Find(up); ok && at.Link != "" && !gone[up] {
			return up + " is a link"
		}
	}
	if !f.Folder && !gone[f.Path] && (now.Folder || v.HasBelow(f.Path)) {
		return f.Path + " is a folder"
	}
	return ""
}

// Clean removes what the last result of a task has of its outputs, if it is as the task made it.
func (c *Cache) Clean(ctx context.Context, e *Entry) error {
	if e.Result == Off {
		return nil
	}
	last := c.baselines.last(e.task)
	if last == nil {
		return nil
	}
	v, err := c.views.of(ctx, e.task)
	if err != nil {
		return err
	}
	none := &Entry{task: e.task}
	_, _, err = c.replace(v, none, last)
	c.Ran(e.task)
	return err
}
