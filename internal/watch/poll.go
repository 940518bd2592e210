package watch

import (
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"
)

// pause is the time between two looks at all files. It is longer where a look takes long: at most a tenth of the time is
// spent looking.
const pause = time.Second

// A poller finds what changed by looking at all files again and again.
type poller struct {
	w     *Watcher
	pause time.Duration
	found chan []string // what changed between two looks

	mu    sync.Mutex // guards what follows
	skip  func(dir string) bool
	files map[string]fs.FileInfo // by path below the root
}

// look returns what is there, but for what skip leaves out. mu is locked.
func (p *poller) look() (map[string]fs.FileInfo, error) {
	files := make(map[string]fs.FileInfo, len(p.files))
	err := filepath.WalkDir(p.w.root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case at != p.w.root && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
			return nil
		case err != nil:
			return err
		case at == p.w.root:
			return nil
		case d.IsDir() && p.skip(p.w.rel(at)):
			return filepath.SkipDir
		}
		if info, err := d.Info(); err == nil { // else it has just vanished
			files[p.w.rel(at)] = info
		}
		return nil
	})
	return files, err
}

// follow looks until the watcher is closed.
func (p *poller) follow() {
	took := time.Duration(0)
	for {
		select {
		case <-p.w.done:
			return
		case <-time.After(max(p.pause, 10*took)):
		}
		began := time.Now()
		changed := p.changed()
		if took = time.Since(began); len(changed) == 0 {
			continue
		}
		select {
		case <-p.w.done:
			return
		case p.found <- changed:
		}
	}
}

// changed returns what changed since the last look.
func (p *poller) changed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, err := p.look()
	if err != nil {
		return nil // the root itself is gone; it may come back
	}
	changed := differences(p.files, now)
	if p.files = now; len(changed) == 0 {
		return nil
	}
	set := make(map[string]bool, len(changed))
	for _, name := range changed {
		set[name] = true
	}
	return append(changed, leading(p.w.root, p.links(), set)...)
}

// replaceSkip is Watcher.Skip: what one of the two functions leaves out did not come or go.
func (p *poller) replaceSkip(skip func(dir string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.skip
	p.skip = skip
	now, err := p.look()
	if err != nil {
		return
	}
	maps.DeleteFunc(p.files, func(name string, info fs.FileInfo) bool { return leavesOut(skip, name, info) })
	for name, info := range now {
		if leavesOut(was, name, info) {
			p.files[name] = info
		}
	}
}

// leavesOut reports whether skip leaves out a path, or a folder that it is in.
func leavesOut(skip func(dir string) bool, name string, info fs.FileInfo) bool {
	dir := name
	if !info.IsDir() {
		dir = path.Dir(name)
	}
	for ; dir != "."; dir = path.Dir(dir) {
		if skip(dir) {
			return true
		}
	}
	return false
}

// links yields the symbolic links.
func (p *poller) links() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, info := range p.files {
			if info.Mode()&fs.ModeSymlink != 0 && !yield(name) {
				return
			}
		}
	}
}

// differences returns what is new, gone or not as it was, as Changes.Paths has it. Of a folder that was there and is there
// nothing is told: what changed in it is.
func differences(before, now map[string]fs.FileInfo) (changed []string) {
	for name, is := range now {
		was, known := before[name]
		switch {
		case is.IsDir() && known && was.IsDir():
		case is.IsDir() && !known:
			changed = append(changed, name+"/")
		case is.IsDir():
			changed = append(changed, name, name+"/")
		case !known, was.Mode() != is.Mode(), was.Size() != is.Size(), !was.ModTime().Equal(is.ModTime()), !os.SameFile(was, is):
			changed = append(changed, name)
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			changed = append(changed, name)
		}
	}
	return changed
}
