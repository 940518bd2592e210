package homes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/rmtree"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// rootFile is a file in a kept folder that holds the path of its root. Its time is when a hook last used the folder.
const rootFile = "root"

// markUsed writes rootFile, or sets its time to now.
func (at Places) markUsed(root string) error {
	path := filepath.Join(at.Kept, rootFile)
	if b, err := os.ReadFile(path); err == nil && string(b) == root+"\n" {
		now := time.Now()
		return os.Chtimes(path, now, now)
	}
	return record.WriteFile(path, []byte(root+"\n"), false)
}

// Limits of what is kept, for all roots together. What was used least recently goes first, and never what is in use.
const (
	mostKept  = 5 << 30 // bytes allocated
	mostRoots = 8
	keptTime  = 30 * 24 * time.Hour // since it was last used
)

// mostCaches is how much of build caches is kept for one root, in bytes allocated.
const mostCaches = 2 << 30

// The names in a kept folder. Folders with others in them are not ours.
const (
	baseFolder = "base"  // see scratch.Source.Kept
	keptCaches = "check" // build caches of checks, where overlays cannot be had
	sizeFile   = "size"  // how much keptCaches has allocated, in bytes, as text
	oldAgent   = "agent" // build caches of agents, of earlier versions
)

// A Kept is what is kept for one root: build caches, and the base of its last hook.
type Kept struct {
	Dir       string
	Root      string // empty: not known, an older version made it
	Used      time.Time
	Bytes     int64 // of both, allocated
	BaseBytes int64 // of them, the base's
	Busy      bool  // a hook is using it
}

// Gone reports whether the root no longer exists.
func (k *Kept) Gone() bool { return gone(k.Root) }

// gone reports whether a root that is known no longer exists.
func gone(root string) bool {
	_, err := os.Lstat(root)
	return root != "" && errors.Is(err, fs.ErrNotExist)
}

// doomed is the beginning of the name of a kept folder that is being removed.
const doomed = ".gone-"

// keptName matches the names of kept folders: half of the digest of the root, see Find; while it is removed, doomed
// before and a number behind it. Folders of other names are not ours.
var keptName = lazily.Regexp(`^(?:[0-9a-f]{16}|\.gone-([0-9a-f]{16})(?:-[0-9]+)?)$`)

// A Surplus is what need not be kept.
type Surplus struct {
	Kept
	Why string // a clause for a person
}

// SurplusOf returns those of all kept folders that nobody needs, or that are beyond the limits. own is a kept folder
// that is in use; it may be empty.
func SurplusOf(all []Kept, own string, now time.Time) []Surplus {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Kept) int { return b.Used.Compare(a.Used) })
	var surplus []Surplus
	n, sum := 0, int64(0)
	for i := range all {
		if k := &all[i]; k.Busy || k.Dir == own {
			n, sum = n+1, sum+k.Bytes
		}
	}
	for _, k := range all {
		if k.Busy || k.Dir == own {
			continue
		}
		var why string
		switch {
		case strings.HasPrefix(filepath.Base(k.Dir), doomed):
			why = "its removal was interrupted"
		case k.Gone():
			why = "that folder is gone"
		case now.Sub(k.Used) > keptTime:
			why = "not used since " + k.Used.Local().Format(time.DateOnly)
		case n >= mostRoots:
			why = fmt.Sprintf("%d others were used later", n)
		case sum+k.Bytes > mostKept:
			why = "all that is kept would be over " + english.Size(mostKept)
		default:
			n, sum = n+1, sum+k.Bytes
			continue
		}
		surplus = append(surplus, Surplus{k, why})
	}
	return surplus
}

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
		if !e.IsDir() || !keptName().MatchString(e.Name()) {
			continue
		}
		k, ours, err := readKept(in, cache, e.Name())
		if errs = append(errs, err); ours {
			all = append(all, k)
		}
	}
	return all, errors.Join(errs...)
}

// readKept returns what is kept in a folder, and whether it is one of ours.
func readKept(in *os.Root, cache, name string) (k Kept, ours bool, err error) {
	k = Kept{Dir: filepath.Join(cache, "kept", name)}
	if ours, err = isOurs(in, name); !ours || err != nil {
		return k, ours, err
	}
	if info, err := in.Lstat(name); err == nil {
		k.Used = info.ModTime()
	}
	if root, used := rootOf(in, name); root != "" {
		k.Root, k.Used = root, used
	}
	k.BaseBytes = tree.Size(filepath.Join(k.Dir, walkFile))
	if size, ok := scratch.KeptSize(filepath.Join(k.Dir, baseFolder)); ok {
		k.BaseBytes += size
	} else {
		k.BaseBytes += tree.Size(filepath.Join(k.Dir, baseFolder))
	}
	k.Bytes = k.BaseBytes + tree.Size(filepath.Join(k.Dir, oldAgent)) // the size of a folder that is not there is 0
	if size, ok := k.cacheSize(); ok {
		k.Bytes += size
	} else {
		k.Bytes += tree.Size(filepath.Join(k.Dir, keptCaches))
	}
	if k.Busy, err = scratch.InUse(filepath.Join(cache, "scratch", name)); err != nil {
		k.Busy = true // in doubt it is
	}
	return k, true, err
}

// A Work is the folder of one root below a cache folder that holds the copies of a hook, see Places.
type Work struct {
	Dir  string
	Root string // empty: not known
}

// Of reports whether the folder belongs to a root's store.
func (w Work) Of(store *record.Store) bool { return filepath.Base(w.Dir) == folderOf(store) }

// Gone reports whether the root no longer exists.
func (w Work) Gone() bool { return gone(w.Root) }

// AllWork lists the folders of all roots that hold copies below cache, as AllKept those that are kept.
func AllWork(cache string) ([]Work, error) {
	top, err := os.OpenRoot(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = top.Close() }() // it was only read
	entries, err := fs.ReadDir(top.FS(), "scratch")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Work
	for _, e := range entries {
		if e.IsDir() && keptName().MatchString(e.Name()) {
			root, _ := rootOf(top, filepath.Join("kept", e.Name()))
			all = append(all, Work{filepath.Join(cache, "scratch", e.Name()), root})
		}
	}
	return all, err
}

// rootOf returns the root that a kept folder was made for, and when a hook last used it.
func rootOf(in *os.Root, kept string) (root string, used time.Time) {
	file := filepath.Join(kept, rootFile)
	info, err := in.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() >= 1<<16 {
		return "", time.Time{}
	}
	b, err := in.ReadFile(file)
	if err != nil {
		return "", time.Time{}
	}
	return strings.TrimSuffix(string(b), "\n"), info.ModTime()
}

// isOurs reports whether nothing is in a kept folder that we did not make.
func isOurs(in *os.Root, name string) (bool, error) {
	inside, err := fs.ReadDir(in.FS(), name)
	if err != nil {
		return false, fmt.Errorf("kept build caches: %w", err)
	}
	for _, e := range inside {
		switch n := e.Name(); n {
		case baseFolder, keptCaches, oldAgent, sizeFile, rootFile, walkFile:
		default:
			if !strings.HasPrefix(n, ".tmp-") && !strings.HasPrefix(n, baseFolder+doomed) { // drafts; an earlier version's
				return false, fmt.Errorf("%s has something in it that we did not make (%q): it is not touched",
					filepath.Join(in.Name(), name), n)
			}
		}
	}
	return true, nil
}

// cacheSize returns how much the kept build caches have allocated, as it was stored; ok is false where it was not.
func (k *Kept) cacheSize() (bytes int64, ok bool) {
	b, err := os.ReadFile(filepath.Join(k.Dir, sizeFile))
	if err != nil {
		return 0, false
	}
	bytes, err = strconv.ParseInt(string(b), 10, 64)
	return bytes, err == nil && bytes >= 0
}

// RemoveKept removes what is kept for a root and reports whether it did: it does not while a hook is using it. The
// next check takes longer, no more.
func RemoveKept(k Kept) (bool, error) {
	name := filepath.Base(k.Dir)
	cache := filepath.Dir(filepath.Dir(k.Dir))
	if !keptName().MatchString(name) {
		return false, fmt.Errorf("%s is no folder of kept build caches", k.Dir)
	}
	in, err := openKept(cache)
	if err != nil {
		return false, err
	}
	defer func() { _ = in.Close() }() // what was done in it is done
	if ours, err := isOurs(in, name); !ours || err != nil {
		if errors.Is(err, fs.ErrNotExist) { // another process removed it
			err = nil
		}
		return false, err
	}
	gone := name
	if !strings.HasPrefix(name, doomed) {
		gone = fmt.Sprintf("%s%s-%d", doomed, name, time.Now().UnixNano())
		if ok, err := k.rename(in, gone); !ok || err != nil {
			return false, err
		}
	}
	return true, rmtree.In(in, gone)
}

// rename gives a kept folder another name, so that a hook that starts now finds nothing instead of half of it. It
// reports whether it did: it does not while a hook is using it.
func (k *Kept) rename(in *os.Root, gone string) (bool, error) {
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
	busy, err := scratch.InUse(filepath.Join(filepath.Dir(filepath.Dir(k.Dir)), "scratch", name))
	if busy || err != nil {
		return false, err
	}
	if err = in.Rename(name, gone); errors.Is(err, fs.ErrNotExist) { // another process removed it
		return false, nil
	}
	return err == nil, err
}

// KeptBase returns where the base of this root is kept; empty where nothing keeps agents out of it.
func (at Places) KeptBase(tier sandbox.Tier) string {
	if tier == sandbox.None {
		return ""
	}
	return filepath.Join(at.Kept, baseFolder)
}

// evict removes what is beyond the limits. Faults of folders that are not removed are doctor's and gc's to report.
func (at Places) evict() error {
	all, _ := AllKept(filepath.Dir(filepath.Dir(at.Kept)))
	var errs []error
	for _, s := range SurplusOf(all, at.Kept, time.Now()) {
		_, err := RemoveKept(s.Kept)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// measure stores how large the kept build caches are, for those who ask later.
func (at Places) measure() error {
	dir := filepath.Join(at.Kept, keptCaches)
	if !recordfile.Exists(dir) {
		return nil
	}
	size := tree.Size(dir)
	return recordfile.Write(filepath.Join(at.Kept, sizeFile), strconv.AppendInt(nil, size, 10), false)
}
