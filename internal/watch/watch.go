// Package watch tells which files below a folder change.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Changes are what changed within a short time.
type Changes struct {
	Paths []string // relative to the root, with slashes, sorted, each once
	Lost  bool     // there were more than the kernel kept: anything may have changed
}

// Times within which changes are one: quiet after the last one, at most whole after the first.
const (
	quiet = 40 * time.Millisecond
	whole = 500 * time.Millisecond
)

// A Watcher watches a folder and all below it, until Close.
type Watcher struct {
	C <-chan Changes

	root    string
	skip    func(dir string) bool
	notify  *fsnotify.Watcher
	changes chan Changes
	done    chan struct{}
	ended   chan struct{}
	paths   map[string]bool
	lost    bool
}

// Open watches root. Folders for which skip returns true, by their path relative to root, are left out with all that
// is in them; it is called for each folder, also for those that are made later. Links are not followed.
func Open(root string, skip func(dir string) bool) (*Watcher, error) {
	notify, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return nil, fmt.Errorf("changes cannot be watched: %w", advised(err))
	}
	w := &Watcher{
		root: root, skip: skip, notify: notify, changes: make(chan Changes),
		done: make(chan struct{}), ended: make(chan struct{}), paths: map[string]bool{},
	}
	w.C = w.changes
	if err := w.add(root, false); err != nil {
		_ = notify.Close()
		return nil, fmt.Errorf("changes in %s cannot be watched: %w", root, advised(err))
	}
	go w.follow()
	return w, nil
}

// Close ends the watching. C is not closed.
func (w *Watcher) Close() error {
	close(w.done)
	err := w.notify.Close()
	<-w.ended
	return err
}

// advised adds to the error of a kernel that watches no more folders what to do about it.
func advised(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: the kernel watches no more folders for this user; raise fs.inotify.max_user_watches with sysctl", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w: this user watches in too many programs; raise fs.inotify.max_user_instances with sysctl", err)
	}
	return err
}

// add watches a folder and all below it. With changed, what is in it is noted as changed: it was made before it was
// watched. What vanishes meanwhile is no error.
func (w *Watcher) add(dir string, changed bool) error {
	return filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case at != w.root && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			if changed {
				w.note(at)
			}
			return nil
		case at != w.root && w.skip(w.rel(at)):
			return filepath.SkipDir
		}
		if err := w.notify.Add(at); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	})
}

func (w *Watcher) rel(at string) string {
	rel, err := filepath.Rel(w.root, at)
	if err != nil {
		return at
	}
	return filepath.ToSlash(rel)
}

func (w *Watcher) note(at string) { w.paths[w.rel(at)] = true }

// follow collects what happens, and hands it on once it is quiet.
func (w *Watcher) follow() {
	defer close(w.ended)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	var first time.Time
	var out chan Changes // nil: there is nothing to hand on yet
	for {
		select {
		case <-w.done:
			return
		case e, ok := <-w.notify.Events:
			if !ok {
				return
			}
			w.take(e)
		case err, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			w.lost = w.lost || err != nil // most likely fsnotify.ErrEventOverflow
		case <-timer.C:
			out, first = w.changes, time.Time{}
			continue
		case out <- Changes{Paths: slices.Sorted(maps.Keys(w.paths)), Lost: w.lost}:
			out, w.paths, w.lost = nil, map[string]bool{}, false
			continue
		}
		if out != nil || len(w.paths) == 0 && !w.lost {
			continue
		}
		if first.IsZero() {
			first = time.Now()
		}
		timer.Reset(max(0, min(quiet, whole-time.Since(first))))
	}
}

// take notes what an event says.
func (w *Watcher) take(e fsnotify.Event) {
	if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			if !w.skip(w.rel(e.Name)) && w.add(e.Name, true) != nil {
				w.lost = true // from now on something is not seen
			}
			return
		}
	}
	w.note(e.Name)
}
