package flake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A History answers what earlier runs proved. It reads nothing before the first question, and then only the runs that
// were recorded since the last time. Its methods may be called by several goroutines at once.
type History struct {
	Store *record.Store
	Dir   string // folder of the cache

	mu     sync.Mutex
	loaded bool
	memory memory
}

// A memory is the file that the package comment describes.
type memory struct {
	Version int               `json:"schema_version"`
	Root    string            `json:"root"`
	Upto    string            `json:"upto"`   // the newest run that was read
	Failed  map[string]string `json:"failed"` // by key: the newest run that failed
	Passed  map[string]string `json:"passed"` // by key: the newest run that passed, or took the result from the cache
}

// memoryVersion is the schema_version of a memory. One of another version is made anew.
const memoryVersion = 1

// Limits of a memory, so that it stays small: of the runs that are read where there is none, of the keys that are
// remembered of either kind, and of the file in bytes. Nearly every pass that anybody asks for is in the cache too, so
// that failures matter more.
const (
	mostRuns   = 2000
	mostFailed = 2000
	mostPassed = 2000
	mostBytes  = 2 << 20
)

// Failed returns the newest recorded run in which what has this key failed, or "".
func (h *History) Failed(key string) string { return h.find(key, false) }

// Passed returns the newest recorded run in which what has this key passed, or "".
func (h *History) Passed(key string) string { return h.find(key, true) }

func (h *History) find(key string, passed bool) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	id := h.memory.Failed[key]
	if passed {
		id = h.memory.Passed[key]
	}
	if id == "" {
		return ""
	}
	e := h.Store.Entry(id)
	if e.Sealed == nil {
		return "" // it was removed
	}
	for _, o := range outcomes(&e.Sealed.Run) {
		if o.key == key && o.passed == passed {
			return o.run
		}
	}
	return ""
}

// load reads the memory, and the runs that are newer than it. What cannot be read is not known.
func (h *History) load() {
	if h.loaded {
		return
	}
	h.loaded = true
	m := &h.memory
	if recordfile.NoLinks(filepath.Dir(h.Dir), h.Dir) != nil {
		return
	}
	b, err := recordfile.Read(h.path(), mostBytes)
	if err != nil || json.Unmarshal(b, m) != nil || m.Version != memoryVersion || m.Root != h.Store.Root ||
		record.Began(m.Upto).IsZero() {
		*m = memory{}
	}
	if m.Failed == nil {
		m.Failed = map[string]string{}
	}
	if m.Passed == nil {
		m.Passed = map[string]string{}
	}
	ids, err := h.Store.IDs() // newest first
	if err != nil {
		return
	}
	var fresh []string
	for _, id := range ids[:min(len(ids), mostRuns)] {
		if record.Ahead(id) || m.Upto != "" && !record.After(id, m.Upto) {
			break
		}
		if h.Store.HasVerdict(id) { // the run at work has none
			fresh = append(fresh, id)
		}
	}
	if len(fresh) == 0 {
		return
	}
	for _, id := range slices.Backward(fresh) {
		e := h.Store.Entry(id)
		if e.Sealed == nil {
			continue
		}
		for _, o := range outcomes(&e.Sealed.Run) {
			if o.passed {
				m.Passed[o.key] = id
			} else {
				m.Failed[o.key] = id
			}
		}
	}
	m.Version, m.Root, m.Upto = memoryVersion, h.Store.Root, fresh[0]
	forget(m.Failed, mostFailed)
	forget(m.Passed, mostPassed)
	if recordfile.IsFolder(h.Dir) {
		_ = recordfile.WriteJSON(h.path(), m, false) // else all of it is read again
	}
}

// path returns the file of the memory. Several roots may share a cache, and each has its own records.
func (h *History) path() string {
	sum := sha256.Sum256([]byte(h.Store.Root))
	return filepath.Join(h.Dir, "outcomes-"+hex.EncodeToString(sum[:8])+".json")
}

// forget removes the keys of the oldest runs until at most limit are left.
func forget(keys map[string]string, limit int) {
	if len(keys) <= limit {
		return
	}
	byAge := slices.SortedFunc(maps.Keys(keys), func(a, b string) int { return strings.Compare(keys[a], keys[b]) })
	for _, key := range byAge[:len(keys)-limit] {
		delete(keys, key)
	}
}
