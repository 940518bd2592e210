package store

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// Young is the age below which what no result needs is kept: a run may be about to store the result.
const Young = time.Hour

// Collected is what Collect removed, or would remove.
type Collected struct {
	Results int   // actions
	Bytes   int64 // of actions and blobs
	Left    int64 // bytes that stay
}

// Collect removes results that are older than age, then the oldest until all blobs together have at most limit bytes, and
// the blobs that neither a result nor one of the Directory messages in keep needs. If the store is only looked at it
// counts them. Runs may be at work meanwhile: the worst is that they miss.
func (s *Store) Collect(keep []reapi.Digest, now time.Time, age time.Duration, limit int64) Collected {
	all := s.scan(now)
	used := map[string]bool{}
	for _, d := range keep {
		s.directories(d, used)
	}
	gone := choose(all, used, now, age, limit)
	done := Collected{Results: len(gone.results), Left: gone.left}
	for _, f := range slices.Concat(gone.results, gone.blobs) {
		done.Bytes += f.size
	}
	if !s.ReadOnly {
		for _, f := range slices.Concat(all.partial, gone.results, gone.blobs) {
			_ = os.Remove(f.path)
		}
	}
	return done
}

// A held is a file of the store.
type held struct {
	path string
	size int64
	at   time.Time // of a result: when it was stored or used last
	need []string  // of a result: hashes of its blobs; none: it is damaged
}

// holdings are the files of a store.
type holdings struct {
	results []held
	blobs   map[string]held // by hash
	partial []held          // what was not whole when its writer was killed
}

// scan reads what the store has. What is not named as ours is not ours: somebody may have chosen a folder that has other
// things too.
func (s *Store) scan(now time.Time) *holdings {
	all := &holdings{blobs: map[string]held{}}
	each := func(folder string, do func(name string, f held)) {
		_ = filepath.WalkDir(filepath.Join(s.Dir, folder), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // removed meanwhile
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // removed meanwhile
			}
			f := held{path: p, size: info.Size(), at: info.ModTime()}
			switch {
			case !info.Mode().IsRegular():
			case isPartial(d.Name()):
				if now.Sub(f.at) > Young {
					all.partial = append(all.partial, f)
				}
			case reapi.IsHash(d.Name()):
				do(d.Name(), f)
			}
			return nil
		})
	}
	each("cas", func(hash string, f held) {
		if f.path == s.blob(hash) {
			all.blobs[hash] = f
		}
	})
	each("actions", func(key string, f held) {
		if f.path != s.actionPath(key) {
			return
		}
		if r, err := s.Action(key); err == nil {
			f.need = append(f.need, r.Log.Hash)
			for _, file := range slices.Concat(r.Files, r.Beside) {
				f.need = append(f.need, file.Digest.Hash)
			}
		}
		all.results = append(all.results, f)
	})
	return all
}

// isPartial reports whether a name is that of a file that was not whole when its writer was killed: renameio puts a dot before
// the name and digits behind it.
func isPartial(name string) bool {
	return recordfile.IsTemp(name) || len(name) > 65 && name[0] == '.' && reapi.IsHash(name[1:65])
}

// A choice is what Collect removes, and how many bytes stay.
type choice struct {
	results, blobs []held
	left           int64
}

// choose returns which results go, the newest first, and then which blobs. used are the blobs that stay in any case.
func choose(all *holdings, used map[string]bool, now time.Time, age time.Duration, limit int64) (gone choice) {
	used = maps.Clone(used)
	for name := range used {
		gone.left += all.blobs[name].size
	}
	newest := slices.SortedFunc(slices.Values(all.results), func(a, b held) int { return b.at.Compare(a.at) })
	for _, r := range newest {
		more := r.size
		for _, name := range r.need {
			if !used[name] {
				more += all.blobs[name].size
			}
		}
		if now.Sub(r.at) > age || gone.left+more > limit || len(r.need) == 0 {
			gone.results = append(gone.results, r)
			continue
		}
		gone.left += more
		for _, name := range r.need {
			used[name] = true
		}
	}
	for name, b := range all.blobs {
		switch {
		case used[name]:
		case now.Sub(b.at) > Young:
			gone.blobs = append(gone.blobs, b)
		default:
			gone.left += b.size
		}
	}
	return gone
}

// directories adds a Directory and all below it to used.
func (s *Store) directories(d reapi.Digest, used map[string]bool) {
	if !reapi.IsHash(d.Hash) || used[d.Hash] {
		return
	}
	used[d.Hash] = true
	b, err := s.Get(d)
	if err != nil {
		return
	}
	nodes, err := reapi.DecodeDirectory(b)
	if err != nil {
		return
	}
	for _, n := range nodes {
		if n.Below.Hash != "" {
			s.directories(n.Below, used)
		}
	}
}
