// Package watch tells which files below a folder change.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/access"
)

// Changes are what changed within a short time.
type Changes struct {
	// Paths are relative to the root, with slashes, sorted, each once; a folder that is new has a slash at its end. A symbolic
	// link is among them, too, where what it leads to is.
	Paths []string
	Lost  bool // there were more than the kernel kept: anything may have changed
}

// Times within which changes are one: quiet after the last one, at most whole after the first.
const (
	quiet = 40 * time.Millisecond
	whole = 500 * time.Millisecond
)

// A Watcher watches a folder and all below it, until Close.
type Watcher struct {
	C <-chan Changes

	// Polls is why all files are looked at each second, because the kernel does not tell what changes; empty: it does.
	Polls string

	root    string
	skip    func(dir string) bool
	kernel  *kernel // nil: poll
	poll    *poller // nil: kernel
	changes chan Changes
	skips   chan func(dir string) bool // see Skip
	skipped chan struct{}              // answers it
	done    chan struct{}
	ended   chan struct{}
	paths   map[string]bool // that changed, as in Changes
	lost    bool
	links   map[string]bool // symbolic links, relative to the root; of the kernel only
}

// Open watches root. Folders for which skip returns true, by their path relative to root, are left out with all that
// is in them; it is called for each folder, also for those that are made later. Links are not followed. Where the kernel
// does not tell what changes, files are looked at again and again: see Polls.
func Open(root string, skip func(dir string) bool) (*Watcher, error) {
	if name := silent(root); name != "" {
		return openPolls(root, skip, pause, "the kernel does not tell what others change on this file system ("+name+")")
	}
	k, err := openKernel()
	if why := short(err); why != "" {
		return openPolls(root, skip, pause, why)
	}
	if err != nil {
		return nil, fmt.Errorf("changes cannot be watched: %w", err)
	}
	w := newWatcher(root, skip)
	w.kernel = k
	err = w.add(root, false)
	if err == nil {
		go w.follow(k.events, k.faults, nil)
		return w, nil
	}
	_ = k.close()
	if why := short(err); why != "" {
		return openPolls(root, skip, pause, why)
	}
	return nil, fmt.Errorf("changes in %s cannot be watched: %w", root, err)
}

func newWatcher(root string, skip func(dir string) bool) *Watcher {
	w := &Watcher{
		root: root, skip: skip, changes: make(chan Changes), skips: make(chan func(string) bool), skipped: make(chan struct{}),
		done: make(chan struct{}), ended: make(chan struct{}), paths: map[string]bool{}, links: map[string]bool{},
	}
	w.C = w.changes
	return w
}

// openPolls is Open without the kernel's help.
func openPolls(root string, skip func(dir string) bool, pause time.Duration, why string) (*Watcher, error) {
	w := newWatcher(root, skip)
	w.Polls = why
	w.poll = &poller{w: w, pause: pause, found: make(chan []string), skip: skip}
	var err error
	if w.poll.files, err = w.poll.look(); err != nil {
		return nil, fmt.Errorf("changes in %s cannot be watched: %w", root, err)
	}
	go w.poll.follow()
	go w.follow(nil, nil, w.poll.found)
	return w, nil
}

// Close ends the watching. C is not closed.
func (w *Watcher) Close() error {
	close(w.done)
	<-w.ended
	if w.kernel != nil {
		return w.kernel.close()
	}
	return nil
}

// Skip replaces the function skip of Open: folders that were left out are watched where the new one does not leave them out.
// Files that change in them from then on are noted. It is called by one goroutine, which does not close the Watcher meanwhile.
func (w *Watcher) Skip(skip func(dir string) bool) {
	if w.poll != nil {
		w.poll.replaceSkip(skip)
		return
	}
	select {
	case w.skips <- skip:
		<-w.skipped
	case <-w.ended: // the kernel tells nothing more
	}
}

// short says what the kernel is short of, and what to do about it, or returns "".
func short(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the kernel watches no more folders for this user; raise fs.inotify.max_user_watches with sysctl"
	case errors.Is(err, syscall.EMFILE):
		return "this user watches in too many programs; raise fs.inotify.max_user_instances with sysctl"
	}
	return ""
}

// add watches a folder and all below it. With changed, it and what is in it are noted: they were made before they were
// watched. What vanishes meanwhile is no error.
func (w *Watcher) add(dir string, changed bool) error {
	return filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case at != w.root && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			if d.Type()&fs.ModeSymlink != 0 {
				w.links[w.rel(at)] = true
			}
			if changed {
				w.note(at)
			}
			return nil
		case at != w.root && w.skip(w.rel(at)):
			return filepath.SkipDir
		case changed:
			w.paths[w.rel(at)+"/"] = true
		}
		if err := w.kernel.add(at); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
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

// follow collects what happens, and hands it on once it is quiet. Channels that are nil tell nothing.
func (w *Watcher) follow(events <-chan event, faults <-chan error, found <-chan []string) {
	defer close(w.ended)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	var first time.Time
	var out chan Changes // nil: there is nothing to hand on yet
	var next Changes     // to be handed on
	stale := true        // next lacks what came since
	for {
		if out != nil && stale {
			next, stale = Changes{Paths: w.changed(), Lost: w.lost}, false
		}
		select {
		case <-w.done:
			return
		case some := <-found:
			for _, p := range some {
				w.paths[p] = true
			}
		case w.skip = <-w.skips:
			w.lost = w.add(w.root, false) != nil || w.lost
			w.skipped <- struct{}{}
		case e, ok := <-events:
			if !ok {
				return
			}
			w.take(e)
		case err, ok := <-faults:
			if !ok {
				return
			}
			w.lost = w.lost || err != nil
		case <-timer.C:
			out, first = w.changes, time.Time{}
			continue
		case out <- next:
			out, w.paths, w.lost = nil, map[string]bool{}, false
			continue
		}
		stale = true
		if out != nil || len(w.paths) == 0 && !w.lost {
			continue
		}
		if first.IsZero() {
			first = time.Now()
		}
		timer.Reset(max(0, min(quiet, whole-time.Since(first))))
	}
}

// changed returns what changed, with the links that lead there.
func (w *Watcher) changed() []string {
	for _, name := range leading(w.root, maps.Keys(w.links), w.paths) {
		w.paths[name] = true
	}
	return slices.Sorted(maps.Keys(w.paths))
}

// leading returns those of links that lead to one of the changed paths, also by way of other links.
func leading(root string, links iter.Seq[string], changed map[string]bool) (names []string) {
	isChanged := func(at string) bool {
		rel, err := filepath.Rel(root, at)
		return err == nil && changed[filepath.ToSlash(rel)]
	}
	for name := range links {
		if access.LeadsTo(filepath.Join(root, filepath.FromSlash(name)), isChanged) {
			names = append(names, name)
		}
	}
	return names
}

// came notes that something came to a path, and that it is a link, and watches it if it is a folder.
func (w *Watcher) came(at string) {
	info, err := os.Lstat(at)
	switch {
	case err != nil || !info.IsDir():
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			w.links[w.rel(at)] = true
		}
		w.note(at)
	case !w.skip(w.rel(at)) && w.add(at, true) != nil:
		w.lost = true // from now on something is not seen
	}
}
