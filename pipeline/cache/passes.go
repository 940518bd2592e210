package cache

// Which key the baseline of each task has, in one file: with it a run in which everything is cached reads no baseline.

import "golang.org/x/sys/unix"

// passes belongs to one tree. Another run may write a baseline too: a fact is used only while the file is the same.
type passes struct {
	remembered[passFact]
	baselines *baselines
}

// A passFact is the key of a baseline, and the stat data of its file.
type passFact struct {
	Key   string
	Ino   uint64
	Ctime int64 // ns since 1970
}

// fact returns what is there of a task; ok is false if it has no baseline.
func (p *passes) fact(task string) (f passFact, ok bool) {
	var st unix.Stat_t
	if unix.Lstat(p.baselines.path(task), &st) != nil {
		return f, false
	}
	return passFact{Ino: st.Ino, Ctime: st.Ctim.Nano()}, true
}

// key returns the key of a task's baseline, or "" where that must be read.
func (p *passes) key(task string) string {
	p.mu.Lock()
	was, known := p.known[task]
	p.mu.Unlock()
	if now, ok := p.fact(task); ok && known && was.Ino == now.Ino && was.Ctime == now.Ctime {
		return was.Key
	}
	return ""
}

// note takes down the key of a baseline that was read or written now.
func (p *passes) note(task, key string) {
	f, ok := p.fact(task)
	if !ok {
		return
	}
	f.Key = key
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(task, f)
}
