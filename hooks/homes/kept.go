package homes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// rootFile is a file in a kept folder that holds the path of its root. Its time is when a hook last used the folder.
const rootFile = "root"

// unusedTime is how long a kept folder may be unused before it counts as forgotten.
const unusedTime = 30 * 24 * time.Hour

// markUsed writes rootFile, or sets its time to now.
func (at Places) markUsed(root string) error {
	path := filepath.Join(at.Kept, rootFile)
	if b, err := os.ReadFile(path); err == nil && string(b) == root+"\n" {
		now := time.Now()
		return os.Chtimes(path, now, now)
	}
	return record.WriteFile(path, []byte(root+"\n"), false)
}

// A Kept is what is kept for one root: build caches, and the base of its last hook.
type Kept struct {
	Dir       string
	Root      string // empty: not known, an older version made it
	Used      time.Time
	Bytes     int64 // of both
	BaseBytes int64 // of them, the base's
	Busy      bool  // a hook is using it
}

// Gone reports whether the root no longer exists.
func (k *Kept) Gone() bool {
	_, err := os.Lstat(k.Root)
	return k.Root != "" && errors.Is(err, fs.ErrNotExist)
}

// Forgotten reports whether nobody needs it any more: its root is gone, or it was not used for a long time.
func (k *Kept) Forgotten(now time.Time) bool {
	return !k.Busy && (k.Gone() || now.Sub(k.Used) > unusedTime || strings.HasPrefix(filepath.Base(k.Dir), doomed))
}

// doomed is the beginning of the name of a kept folder that is being removed.
const doomed = ".gone-"

// keptName matches the names of kept folders: half of the digest of the root, see Find. Folders of other names are
// not ours.
var keptName = regexp.MustCompile(`^(\.gone-)?[0-9a-f]{16}$`)

// openKept opens the folder that holds the kept ones. It refuses a link, which could lead to folders of somebody
// else.
func openKept(cache string) (*os.Root, error) {
	top, err := os.OpenRoot(cache)
	if err != nil {
		return nil, err
	}
	defer func() { _ = top.Close() }() // it was only looked into
	info, err := top.Lstat("kept")
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder of ours: nothing in it is touched; remove it",
			filepath.Join(cache, "kept"))
	}
	return top.OpenRoot("kept")
}

// AllKept lists what is kept below cache, for all roots; cache is a folder of this user that others cannot write. The
// error names folders that cannot be read; the others are returned all the same.
func AllKept(cache string) ([]Kept, error) {
	in, err := openKept(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	entries, err := fs.ReadDir(in.FS(), ".")
	if err != nil {
		return nil, err
	}
	var all []Kept
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !keptName.MatchString(e.Name()) {
			continue
		}
		k := Kept{Dir: filepath.Join(cache, "kept", e.Name())}
		k.Busy, err = scratch.InUse(filepath.Join(cache, "scratch", e.Name()))
		if err != nil {
			k.Busy = true // in doubt it is
			errs = append(errs, err)
		}
		if err := k.measure(in); err != nil {
			errs = append(errs, err)
		}
		file := filepath.Join(e.Name(), rootFile)
		if info, err := in.Lstat(file); err == nil && info.Mode().IsRegular() && info.Size() < 1<<16 {
			if b, err := in.ReadFile(file); err == nil {
				k.Root, k.Used = strings.TrimSuffix(string(b), "\n"), info.ModTime()
			}
		}
		all = append(all, k)
	}
	return all, errors.Join(errs...)
}

// measure adds up what is in a kept folder and finds its newest time. Files may vanish meanwhile.
func (k *Kept) measure(in *os.Root) error {
	base := path.Join(filepath.Base(k.Dir), baseFolder)
	err := fs.WalkDir(in.FS(), filepath.Base(k.Dir), func(at string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid):
			return fs.SkipDir // an agent closed it, or gave it a name that is no UTF-8: its size is not known
		case err != nil:
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // removed meanwhile
		}
		isBase := strings.HasPrefix(at, base) || path.Base(at) == walkFile
		if info.Mode().IsRegular() {
			k.Bytes += info.Size()
			if isBase {
				k.BaseBytes += info.Size()
			}
		}
		if !isBase && info.ModTime().After(k.Used) { // files of a base have the times of the tree's
			k.Used = info.ModTime()
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("kept build caches: %w", err)
	}
	return nil
}

// RemoveKept removes kept build caches and reports whether it did: it does not while a hook is using them. The next
// check takes longer, no more.
func RemoveKept(k Kept) (bool, error) {
	if k.Root != "" && !k.Gone() {
		if store := record.At(k.Root); recordfile.Exists(store.Dir) {
			lock, err := store.HealLock()
			if errors.Is(err, record.ErrLocked) {
				return false, nil
			}
			if err == nil {
				defer func() { _ = lock.Unlock() }() // it goes with the process at the latest
			}
		}
	}
	name := filepath.Base(k.Dir)
	cache := filepath.Dir(filepath.Dir(k.Dir))
	if !keptName.MatchString(name) {
		return false, fmt.Errorf("%s is no folder of kept build caches", k.Dir)
	}
	busy, err := scratch.InUse(filepath.Join(cache, "scratch", name))
	if busy || err != nil {
		return false, err
	}
	in, err := openKept(cache)
	if err != nil {
		return false, err
	}
	defer func() { _ = in.Close() }() // what was done in it is done
	// Under another name first: a hook that starts now finds nothing, instead of half of it.
	gone := doomed + strings.TrimPrefix(name, doomed)
	if err := in.Rename(name, gone); err != nil {
		gone = name
	}
	return true, removeIn(in, gone)
}

// Limits of the kept bases, those of all roots together: each is a whole copy of a tree.
const (
	mostBases = 8
	baseTime  = unusedTime
)

// baseFolder is the name of a kept base in the kept folder of its root.
const baseFolder = "base"

// KeptBase returns where the base of this root is kept; empty where nothing keeps agents out of it.
func (h *Homes) KeptBase(tier sandbox.Tier) string {
	if tier == sandbox.None {
		return ""
	}
	return filepath.Join(h.Kept, baseFolder)
}

// evictBases removes the least recently used bases until there is room for one more, and what is left of those whose
// removal was interrupted.
func (at Places) evictBases(bin *scratch.Bin) error {
	all := filepath.Dir(at.Kept)
	if info, err := os.Lstat(all); err != nil || !info.IsDir() { // a link leads to folders of somebody else
		return err
	}
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	type other struct {
		dir  string
		used time.Time
	}
	var others []other
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !keptName.MatchString(e.Name()) {
			continue
		}
		dir := filepath.Join(all, e.Name())
		inside, err := os.ReadDir(dir)
		errs = append(errs, err)
		for _, e := range inside {
			if strings.HasPrefix(e.Name(), baseFolder+".gone-") {
				errs = append(errs, bin.Do(func() error { return Remove(filepath.Join(dir, e.Name())) }))
			}
		}
		info, err := os.Lstat(filepath.Join(dir, rootFile))
		if dir == at.Kept || !recordfile.Exists(filepath.Join(dir, baseFolder)) {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			others = append(others, other{dir: dir})
		} else if err == nil {
			others = append(others, other{dir, info.ModTime()})
		}
	}
	slices.SortFunc(others, func(a, b other) int { return b.used.Compare(a.used) })
	for i, o := range others {
		if i+1 >= mostBases || time.Since(o.used) > baseTime {
			errs = append(errs, bin.RemoveBase(filepath.Join(o.dir, baseFolder)))
		}
	}
	return errors.Join(errs...)
}
