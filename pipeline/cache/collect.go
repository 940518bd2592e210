package cache

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// Limits of what Collect keeps.
const (
	MaxAge   = 30 * 24 * time.Hour // since a result was stored or used last
	MaxBytes = 5 << 30
)

// young is the age below which a blob without a result is kept: a run may be about to store the result.
const young = time.Hour

// Collected is what Collect removed, or would remove.
type Collected struct {
	Results int   // actions
	Bytes   int64 // of actions and blobs
	Left    int64 // bytes that stay
}

// CollectDaily is Collect with the usual limits, once a day. A store that is new is looked at a day later.
func CollectDaily(dir string) error {
	stamp := filepath.Join(dir, "collected")
	info, err := os.Lstat(stamp)
	if err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return nil
	}
	fresh := err != nil
	if err := recordfile.NoLinks(filepath.Dir(dir), dir); err != nil || !recordfile.IsFolder(dir) {
		return err
	}
	if err := recordfile.Write(stamp, nil, false); err != nil || fresh {
		return err
	}
	_, err = Collect(dir, time.Now(), MaxAge, MaxBytes, false)
	return err
}

// Collect removes results that are older than age, then the oldest until all blobs together have at most limit bytes,
// the blobs that no result and no baseline needs, and other files that nobody has used for long. With dry it only counts.
// Runs may be at work meanwhile: the worst is that they miss.
func Collect(dir string, now time.Time, age time.Duration, limit int64, dry bool) (Collected, error) {
	if err := recordfile.NoLinks(filepath.Dir(dir), dir, filepath.Join(dir, treesFolder)); err != nil {
		return Collected{}, err
	}
	s := &store{dir: dir, looks: dry}
	all, err := s.scan(now, age)
	if err != nil {
		return Collected{}, err
	}
	gone := choose(all, s.mark(all.baselines), now, age, limit)
	done := Collected{Results: len(gone.results), Left: gone.left}
	for _, f := range slices.Concat(gone.results, gone.blobs) {
		done.Bytes += f.size
	}
	if !dry {
		for _, f := range slices.Concat(all.old, gone.results, gone.blobs) {
			_ = os.Remove(f.path)
		}
		for _, tree := range all.goneTrees {
			_ = os.RemoveAll(tree)
		}
	}
	return done, nil
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
	results   []held
	blobs     map[string]held // by hash
	baselines []reapi.Digest  // the inputs of each
	old       []held          // what goes, whatever else stays
	goneTrees []string        // folders of trees whose roots are gone: what is known of them is of no use
}

// scan reads what the store has. What is not named as ours is not ours: somebody may have chosen a folder that has other
// things too.
func (s *store) scan(now time.Time, age time.Duration) (*holdings, error) {
	all := &holdings{blobs: map[string]held{}, goneTrees: goneTrees(s.dir)}
	note := func(p string, info fs.FileInfo, do func(f held)) {
		switch {
		case isTemp(info.Name()):
			if now.Sub(info.ModTime()) > young {
				all.old = append(all.old, held{path: p})
			}
		case info.Mode().IsRegular():
			do(held{path: p, size: info.Size(), at: info.ModTime()})
		}
	}
	each := func(folder string, do func(f held)) error {
		err := filepath.WalkDir(filepath.Join(s.dir, folder), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // removed meanwhile
			}
			if info, err := d.Info(); err == nil {
				note(p, info, do)
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	isOld := func(f held) bool { return now.Sub(f.at) > age }
	ofTask := func(f held) {
		if folder := filepath.Dir(f.path); filepath.Base(folder) != "baselines" || slices.Contains(all.goneTrees, filepath.Dir(folder)) {
			return
		}
		switch filepath.Ext(f.path) {
		case ".json":
			l := &baseline{}
			switch b, err := recordfile.Read(f.path, limitBlob); {
			case err != nil || json.Unmarshal(b, l) != nil:
			case l.Args && isOld(f): // there is no end of arguments
				all.old = append(all.old, f)
			default:
				all.baselines = append(all.baselines, reapi.Digest{Hash: l.Inputs, Size: l.InputBytes})
			}
		case ".left":
			// The task is gone or failed long ago. Without the file what it left counts as somebody's, and is kept.
			if isOld(f) && isLeft(f.path) {
				all.old = append(all.old, f)
			}
		}
	}
	err := errors.Join(
		each("cas", func(f held) {
			if name := filepath.Base(f.path); reapi.IsHash(name) && f.path == s.blob(name) {
				all.blobs[name] = f
			}
		}),
		each("actions", func(f held) {
			name := filepath.Base(f.path)
			if !reapi.IsHash(name) || f.path != s.actionPath(name) {
				return
			}
			if r, err := s.action(name); err == nil {
				f.need = append(f.need, r.Log.Hash)
				for _, file := range slices.Concat(r.Files, r.Beside) {
					f.need = append(f.need, file.Digest.Hash)
				}
			}
			all.results = append(all.results, f)
		}),
		each("baselines", ofTask), each(treesFolder, ofTask),
		each("reads", func(f held) { // those of a task are noted as used by each run that has the task
			if isOld(f) && filepath.Ext(f.path) == ".json" && readSetsIn(f.path) != nil {
				all.old = append(all.old, f)
			}
		}),
	)
	all.old = append(all.old, slices.DeleteFunc(oldFiles(s.dir, tempPrefix+"*", now.Add(-young)), func(f held) bool {
		return !isTemp(filepath.Base(f.path))
	})...)
	all.old = append(all.old, slices.DeleteFunc(oldFiles(s.dir, keyPrefix+"*", now.Add(-young)), func(f held) bool {
		_, ours := process.MakerOf(filepath.Base(f.path), keyPrefix)
		return !ours
	})...)
	// What nobody used for long, of roots that may be gone. What is needed of outcomes is made of the records again.
	all.old = append(all.old, oldFiles(s.dir, "outcomes-*.json", now.Add(-age))...)
	return all, err
}

// isLeft reports whether a file has what store.putLeft writes.
func isLeft(path string) bool {
	var made map[string]string
	b, err := recordfile.Read(path, limitBlob)
	return err == nil && json.Unmarshal(b, &made) == nil
}

// mark returns the hashes of the blobs that baselines need.
func (s *store) mark(baselines []reapi.Digest) map[string]bool {
	used := map[string]bool{}
	for _, d := range baselines {
		s.directories(d, used)
	}
	return used
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
		case now.Sub(b.at) > young:
			gone.blobs = append(gone.blobs, b)
		default:
			gone.left += b.size
		}
	}
	return gone
}

// tempPrefix is what a file is called before it is whole: see recordfile.Write.
const tempPrefix = ".tmp-"

// isTemp reports whether a name in the store is that of a file that was not whole when its writer was killed: os.CreateTemp
// puts digits behind the prefix, and renameio a dot before the name and digits behind it.
func isTemp(name string) bool {
	if digits, ok := strings.CutPrefix(name, tempPrefix); ok {
		return digits != "" && strings.Trim(digits, "0123456789") == ""
	}
	return len(name) > 65 && name[0] == '.' && reapi.IsHash(name[1:65])
}

// goneTrees returns the folders of trees in the cache in dir whose roots are gone.
func goneTrees(dir string) (gone []string) {
	roots, _ := filepath.Glob(filepath.Join(files.EscapeAll([]string{dir})[0], treesFolder, "*", "root"))
	for _, at := range roots {
		b, err := recordfile.Read(at, 1<<16)
		root, whole := strings.CutSuffix(string(b), "\n")
		if err != nil || !whole || !filepath.IsAbs(root) {
			continue
		}
		if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, filepath.Dir(at))
		}
	}
	return gone
}

// oldFiles returns the files in dir whose names match a pattern and that were written last before a time.
func oldFiles(dir, pattern string, before time.Time) (all []held) {
	found, _ := filepath.Glob(filepath.Join(files.EscapeAll([]string{dir})[0], pattern))
	for _, p := range found {
		if info, err := os.Lstat(p); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			all = append(all, held{path: p})
		}
	}
	return all
}

// directories adds a Directory and all below it to used.
func (s *store) directories(d reapi.Digest, used map[string]bool) {
	if !reapi.IsHash(d.Hash) || used[d.Hash] {
		return
	}
	used[d.Hash] = true
	b, err := s.get(d)
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
