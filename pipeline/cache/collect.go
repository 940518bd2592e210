package cache

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
// and the blobs that no result and no baseline needs. With dry it only counts. Runs may be at work meanwhile: the worst is
// that they miss.
func Collect(dir string, now time.Time, age time.Duration, limit int64, dry bool) (Collected, error) {
	type action struct {
		path string
		at   time.Time
		size int64
		need []string
	}
	var done Collected
	if err := recordfile.NoLinks(filepath.Dir(dir), dir, filepath.Join(dir, treesFolder)); err != nil {
		return done, err
	}
	s := &store{dir: dir, looks: dry}
	var actions []action
	blobs := map[string]fs.FileInfo{}
	old := slices.DeleteFunc(oldFiles(dir, tempPrefix+"*", now.Add(-young)), func(p string) bool { return !isTemp(filepath.Base(p)) })
	each := func(folder string, do func(path string, info fs.FileInfo)) error {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // removed meanwhile
			}
			if isTemp(d.Name()) {
				if info, err := d.Info(); err == nil && now.Sub(info.ModTime()) > young {
					old = append(old, p)
				}
				return nil
			}
			// What is not named as ours is not ours: somebody may have chosen a folder that has other things too.
			if folder != "baselines" && folder != treesFolder && !reapi.IsHash(d.Name()) {
				return nil
			}
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				do(p, info)
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	err := errors.Join(
		each("cas", func(_ string, info fs.FileInfo) { blobs[info.Name()] = info }),
		each("actions", func(p string, info fs.FileInfo) {
			a := action{path: p, at: info.ModTime(), size: info.Size()}
			if r, err := s.action(info.Name()); err == nil {
				a.need = append(a.need, r.Log.Hash)
				for _, f := range slices.Concat(r.Files, r.Beside) {
					a.need = append(a.need, f.Digest.Hash)
				}
			}
			actions = append(actions, a)
		}),
	)
	if err != nil {
		return done, err
	}
	used := map[string]bool{}
	// What nobody used for long, of arguments and of roots that may be gone: there is no end of those. What is needed of
	// outcomes is made of the records again. What is known of the tree of a root that is gone is of no use.
	old = append(old, oldFiles(dir, "outcomes-*.json", now.Add(-age))...)
	gone := goneTrees(dir)
	need := func(p string, info fs.FileInfo) {
		folder := filepath.Dir(p)
		if filepath.Base(folder) != "baselines" || filepath.Ext(p) != ".json" || slices.Contains(gone, filepath.Dir(folder)) {
			return
		}
		var l baseline
		if b, err := recordfile.Read(p, limitBlob); err == nil && json.Unmarshal(b, &l) == nil {
			if l.Args && now.Sub(info.ModTime()) > age {
				old = append(old, p)
				return
			}
			s.directories(reapi.Digest{Hash: l.Inputs, Size: l.InputBytes}, used)
		}
	}
	if err := errors.Join(each("baselines", need), each(treesFolder, need)); err != nil {
		return done, err
	}
	var sum int64
	for name := range used {
		if info := blobs[name]; info != nil {
			sum += info.Size()
		}
	}
	remove := func(path string, size int64) {
		done.Bytes += size
		if !dry {
			_ = os.Remove(path)
		}
	}
	for _, p := range old {
		remove(p, 0)
	}
	if !dry {
		for _, p := range gone {
			_ = os.RemoveAll(p)
		}
	}
	slices.SortFunc(actions, func(a, b action) int { return b.at.Compare(a.at) }) // the newest first
	for _, a := range actions {
		more := a.size
		for _, name := range a.need {
			if info := blobs[name]; info != nil && !used[name] {
				more += info.Size()
			}
		}
		if now.Sub(a.at) > age || sum+more > limit || len(a.need) == 0 {
			done.Results++
			remove(a.path, a.size)
			continue
		}
		sum += more
		for _, name := range a.need {
			used[name] = true
		}
	}
	for name, info := range blobs {
		if !used[name] && now.Sub(info.ModTime()) > young {
			remove(s.blob(name), info.Size())
		} else if !used[name] {
			sum += info.Size()
		}
	}
	done.Left = sum
	return done, nil
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
func oldFiles(dir, pattern string, before time.Time) (all []string) {
	found, _ := filepath.Glob(filepath.Join(files.EscapeAll([]string{dir})[0], pattern))
	for _, p := range found {
		if info, err := os.Lstat(p); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			all = append(all, p)
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
