//go:build !linux

package watch

import (
	"strings"

	"github.com/fsnotify/fsnotify"
)

// A kernel tells what happens in folders, by kqueue. Its methods are called from one goroutine.
type kernel struct {
	events chan fsnotify.Event
	faults chan error
	notify *fsnotify.Watcher
}

type event = fsnotify.Event

func openKernel() (*kernel, error) {
	notify, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return nil, err
	}
	return &kernel{events: notify.Events, faults: notify.Errors, notify: notify}, nil
}

func (k *kernel) close() error { return k.notify.Close() }

// add watches a folder.
func (k *kernel) add(dir string) error { return k.notify.Add(dir) }

// drop stops watching the folder that has a path, and all below it.
func (k *kernel) drop(dir string) {
	for _, at := range k.notify.WatchList() {
		if at == dir || strings.HasPrefix(at, dir+"/") {
			_ = k.notify.Remove(at) // an error: the folder was removed
		}
	}
}

// take notes what an event says.
func (w *Watcher) take(e event) {
	switch {
	case e.Has(fsnotify.Rename):
		w.kernel.drop(e.Name)
		w.note(e.Name)
		w.came(e.Name) // another may have its place
	case e.Has(fsnotify.Create):
		w.came(e.Name)
	default:
		w.note(e.Name)
	}
}
