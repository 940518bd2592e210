package watch

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// pause is the time between two looks at all files. It is longer where a look takes long: at most a tenth of the time is
// spent looking.
const pause = time.Second

// A poller finds what changed by looking at all files again and again.
type poller struct {
	w     *Watcher
	skip  atomic.Pointer[func(dir string) bool]
	pause time.Duration
	files map[string]fs.FileInfo // by path below the root
	found chan []string          // what changed between two looks
}

func (p *poller) look() (map[string]fs.FileInfo, error) {
	files := make(map[string]fs.FileInfo, len(p.files))
	skip := *p.skip.Load()
	err := filepath.WalkDir(p.w.root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case at != p.w.root && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
			return nil
		case err != nil:
			return err
		case at == p.w.root:
			return nil
		case d.IsDir() && skip(p.w.rel(at)):
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
		now, err := p.look()
		if err != nil {
			continue // the root itself is gone; it may come back
		}
		took = time.Since(began)
		changed := differences(p.files, now)
		p.files = now
		if len(changed) == 0 {
			continue
		}
		set := make(map[string]bool, len(changed))
		for _, name := range changed {
			set[name] = true
		}
		changed = append(changed, leading(p.w.root, p.links(), set)...)
		select {
		case <-p.w.done:
			return
		case p.found <- changed:
		}
	}
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
