package cache

import (
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// limitMemory bounds what is read of such a file, in bytes.
const limitMemory = 64 << 20

// A remembered is a file of facts by name, kept from run to run. A file that cannot be read, or is damaged, is an empty one:
// then the facts are found out again.
type remembered[Fact comparable] struct {
	path string

	mu    sync.Mutex // guards what follows
	known map[string]Fact
	more  bool // known has what is not stored
}

func (r *remembered[Fact]) load(path string) {
	r.path = path
	if recordfile.ReadSummed(path, limitMemory, &r.known) != nil || r.known == nil {
		r.known = map[string]Fact{}
	}
}

// set notes a fact. r.mu is locked.
func (r *remembered[Fact]) set(name string, f Fact) {
	if was, ok := r.known[name]; !ok || was != f {
		r.known[name], r.more = f, true
	}
}

func (r *remembered[Fact]) save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.more {
		return nil
	}
	r.more = false
	return recordfile.WriteSummed(r.path, r.known)
}
