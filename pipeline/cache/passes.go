package cache

// Which key the baseline of each task has, in one file: with it a run in which everything is cached reads no baseline.
// Another run may write a baseline too, so a fact is used only while the file is the same.

import (
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A passFact is the key of a baseline, and the stat data of its file.
type passFact struct {
	Key   string
	Ino   uint64
	Ctime int64 // ns since 1970
}

// fact returns what is there of a baseline; ok is false if it is not there.
func (b *baselines) fact(name string) (f passFact, ok bool) {
	var st unix.Stat_t
	if unix.Lstat(b.path(name), &st) != nil {
		return f, false
	}
	return passFact{Ino: st.Ino, Ctime: st.Ctim.Nano()}, true
}

// passKey returns the key of a task's baseline, or "" where that must be read.
func (b *baselines) passKey(t *pipeline.Task) string {
	name := b.name(t)
	b.passes.mu.Lock()
	was, known := b.passes.known[name]
	b.passes.mu.Unlock()
	if now, ok := b.fact(name); ok && known && was.Ino == now.Ino && was.Ctime == now.Ctime {
		return was.Key
	}
	return ""
}

// notePass takes down the key of a task's baseline that was read or written now.
func (b *baselines) notePass(t *pipeline.Task, key string) {
	f, ok := b.fact(b.name(t))
	if !ok {
		return
	}
	f.Key = key
	b.passes.mu.Lock()
	defer b.passes.mu.Unlock()
	b.passes.set(b.name(t), f)
}
