package homes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Places are the folders of one root that must be outside of its tree.
type Places struct {
	Store string // the root's .async
	Work  string // parent of base, copies and throw-away folders: nothing in it outlives a hook
	// what is kept for the next hook of this root, see baseFolder and keptCaches; the files rootFile and walkFile
	Kept    string
	Rescued string // copies whose difference could not be stored, see Rescue; only a person removes what is there
}

// Find picks the folders below cache or, where the tree holds that (a home folder under git), below the system's
// folder for temporary files. It makes none of them.
func Find(ctx context.Context, store *record.Store, cache string) (Places, error) {
	top := topOf(ctx, store.Root)
	if real, err := filepath.EvalSymlinks(cache); err == nil { // git's top is named without links
		cache = real
	}
	if Inside(cache, top) {
		var err error
		if cache, err = privateTemp(); err != nil {
			return Places{}, err
		}
		if Inside(cache, top) {
			return Places{}, fmt.Errorf("scratch copies must stand outside of the tree %s, and both the cache folder and %s lie in it: set XDG_CACHE_HOME to a folder elsewhere", top, cache)
		}
	}
	return below(cache, store), nil
}

// below returns the folders of a root below a cache folder.
func below(cache string, store *record.Store) Places {
	name := folderOf(store)
	return Places{
		Store: store.Dir, Work: filepath.Join(cache, "scratch", name), Kept: filepath.Join(cache, "kept", name),
		Rescued: filepath.Join(cache, "rescued"),
	}
}

// Around returns the folders of a root that a copy is in, whichever cache folder its runner had; ok is false for a copy
// that is in none, or in the tree.
func Around(ctx context.Context, store *record.Store, copyDir string) (at Places, ok bool) {
	cache, _, ok := strings.Cut(filepath.Clean(copyDir), filepath.Join("/scratch", folderOf(store))+"/")
	return below(cache, store), ok && filepath.IsAbs(cache) && !Inside(cache, topOf(ctx, store.Root))
}

// Rescue moves the copy of an attempt whose difference could not be stored to where only a person removes it, and
// returns where that is. With an error the copy is where it was, and base.Close leaves it there.
func (at Places) Rescue(base *scratch.Base, c *scratch.Copy, run, task string, attempt int) (string, error) {
	name := fmt.Sprintf("%s-%s-%d", run, filename.Of(task), attempt)
	var errs []error
	// A full disk may have no room for the folder Rescued.
	for _, first := range []string{filepath.Join(at.Rescued, name), at.besideRescued() + name} {
		to := first
		err := base.Keep(c, to)
		for n := 2; errors.Is(err, fs.ErrExist); n++ { // of an earlier fix of the same task
			to = fmt.Sprintf("%s-%d", first, n)
			err = base.Keep(c, to)
		}
		if err == nil {
			return to, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// besideRescued begins the path of a copy that Rescue could not move to Rescued.
func (at Places) besideRescued() string { return at.Rescued + "-" }

// AllRescued returns the copies that Rescue moved and nobody has removed, those of other roots too.
func (at Places) AllRescued() (all []string) {
	for _, dir := range []string{at.Rescued, filepath.Dir(at.Rescued)} {
		entries, err := os.ReadDir(dir)
		if err != nil { // nothing was rescued
			continue
		}
		for _, e := range entries {
			p := filepath.Join(dir, e.Name())
			if dir == at.Rescued || strings.HasPrefix(p, at.besideRescued()) {
				all = append(all, p)
			}
		}
	}
	return all
}

// folderOf returns the name of a root's folders below a cache folder.
func folderOf(store *record.Store) string {
	key := sha256.Sum256([]byte(store.Root))
	return hex.EncodeToString(key[:8])
}

// NoWork reports whether Places.Work is empty or missing, below whichever cache folder Find would pick. So nobody
// has to ask git which one that is.
func NoWork(store *record.Store, cache string) bool {
	for _, dir := range []string{cache, tempName()} {
		entries, err := os.ReadDir(filepath.Join(dir, "scratch", folderOf(store)))
		if len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// topOf returns the top of the tree that root is in, without links.
func topOf(ctx context.Context, root string) string {
	if repo, err := git.Of(ctx, root); err == nil {
		return repo.Top
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		return real
	}
	return root
}

// tempName returns the path of privateTemp.
func tempName() string {
	return filepath.Join(os.TempDir(), "async-pipeline-"+strconv.Itoa(os.Getuid()))
}

// privateTemp returns a folder in the system's temporary one. Others can guess its name, so it must belong to this
// user alone.
func privateTemp() (string, error) {
	dir := tempName()
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a private folder of yours: remove it, or set XDG_CACHE_HOME to a folder outside of the tree", dir)
	}
	return filepath.EvalSymlinks(dir)
}

// Look is Find without making anything; ok is false where there is no folder that could hold anything.
func Look(ctx context.Context, store *record.Store, cache string) (at Places, ok bool, err error) {
	// Find makes a folder in the system's temporary one if the cache is inside the tree.
	if !recordfile.Exists(tempName()) {
		real, err := filepath.EvalSymlinks(cache)
		if err != nil || Inside(real, topOf(ctx, store.Root)) {
			return Places{}, false, nil //nolint:nilerr // a folder that is not there holds nothing
		}
	}
	at, err = Find(ctx, store, cache)
	return at, err == nil, err
}
