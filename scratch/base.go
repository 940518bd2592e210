// The methods of a base: it is copied, read, kept for the next fix, and removed.

package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/packed"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// makeFolder makes the folder of the base below parent, which must be outside the tree. See newFolder for kept.
func (b *Base) makeFolder(parent, kept string) (err error) {
	if parent, err = b.makeParent(parent); err != nil {
		return err
	}
	if b.holder, err = newFolder(parent, kept); err != nil {
		return err
	}
	b.Dir, b.rules = filepath.Join(b.holder, "tree"), filepath.Join(b.holder, "rules")
	return nil
}

// makeParent makes a folder, which must be outside the tree, and returns its absolute path without symlinks, as git
// prints paths.
func (b *Base) makeParent(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := outside(b.Top, dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("scratch folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("scratch folder: %w", err)
	}
	return dir, nil
}

// copyRules copies the .gitignore files that decide about new paths. Those of taken folders count too: a virtual
// environment has one to ignore itself.
func (b *Base) copyRules() error {
	if err := os.Mkdir(b.rules, 0o700); err != nil || b.counted == nil {
		return err
	}
	for _, e := range b.Manifest.Entries {
		if path.Base(e.Path) != ".gitignore" || !e.Mode.IsRegular() {
			continue
		}
		to := filepath.Join(b.rules, e.Path)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := copyWithTimes(filepath.Join(b.Dir, e.Path), to); err != nil {
			return err
		}
	}
	return nil
}

// Ignored reports whether git ignores the file p of the base, or all files in the folder p.
func (b *Base) Ignored(p string) bool {
	counts := func(p string) bool { return b.counted[p] }
	return b.counted != nil && !counts(p) && !slices.ContainsFunc(b.below(p), counts)
}

// isTaken reports whether p was copied only because it is in an ignored folder that was.
func (b *Base) isTaken(p string) bool { return b.takenFolder(p) != "" && !b.counted[p] }

// takenFolder returns the ignored folder above p that was copied; empty when there is none.
func (b *Base) takenFolder(p string) string {
	for ; p != "."; p = path.Dir(p) {
		if _, ok := slices.BinarySearch(b.Taken, p); ok {
			return p
		}
	}
	return ""
}

// Close removes every copy made of the base, its stamp, and the base itself unless it is kept (Source.Kept).
func (b *Base) Close() error { return b.close(mostKept) }

// Leave is Close for a base of which the next Make will be soon: it is kept however large it is.
func (b *Base) Leave() error { return b.close(math.MaxInt64) }

// close removes the base, unless it is kept and takes at most so many bytes.
func (b *Base) close(most int64) error {
	b.mu.Lock()
	copies := slices.Collect(maps.Keys(b.copies))
	b.mu.Unlock()
	var errs []error
	for _, c := range copies {
		errs = append(errs, c.Close())
	}
	if b.store(most) {
		return errors.Join(append(errs, os.Remove(b.holder+stampSuffix))...)
	}
	return errors.Join(append(errs, b.bin.Remove(b.holder))...)
}

// Copy makes a new copy in the folder at, which must not exist. Copies for the same purpose should use the same path,
// one after the other, because build caches are keyed by path.
func (b *Base) Copy(ctx context.Context, at string) (_ *Copy, err error) {
	c, err := b.begin(at)
	if err != nil {
		return nil, err
	}
	at, c.Dir = c.holder, c.holder
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := os.Mkdir(at, 0o700); err != nil {
		return nil, err
	}
	done, err := copyTree(ctx, b.Dir, at, nil)
	if err != nil {
		return nil, err
	}
	if lost := len(done.vanished) + len(done.omitted); lost > 0 {
		return nil, fmt.Errorf("scratch copy %s: %d files of the base %s could not be copied: was it touched?",
			at, lost, b.Dir)
	}
	if b.counted != nil {
		fresh, err := restatAll(at, done.got, b.links)
		if err == nil && !fresh {
			err = refresh(ctx, at)
		}
		if err != nil {
			return nil, err
		}
	}
	c.facts = make(map[string][]fileState, len(done.got))
	for dir, files := range done.got {
		if !hiddenPath(dir) {
			c.facts[dir] = fileStates(files)
		}
	}
	return c, waitForTick(at, c.facts)
}

// begin writes the stamp of a copy in the folder at, which it does not make.
func (b *Base) begin(at string) (*Copy, error) {
	parent, err := b.makeParent(filepath.Dir(at))
	if err != nil {
		return nil, err
	}
	at = filepath.Join(parent, filepath.Base(at))
	if _, err := os.Lstat(at); err == nil {
		return nil, fmt.Errorf("scratch copy %s: %w: remove what an earlier run left there", at, fs.ErrExist)
	}
	if err := writeStamp(at); err != nil {
		return nil, err
	}
	c := &Copy{base: b, holder: at}
	b.mu.Lock()
	b.copies[c] = true
	b.mu.Unlock()
	return c, nil
}

// Paths returns the files and symlinks of the base, sorted, without those of ignored folders.
func (b *Base) Paths() []string {
	var paths []string
	for _, e := range b.Manifest.Entries {
		if !e.Mode.IsDir() && !b.isTaken(e.Path) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// Loose returns the files whose content cannot be read from git later: those changed since the commit, and untracked
// ones. Without git these are all files. Ignored files are never included.
func (b *Base) Loose(ctx context.Context) ([]string, error) {
	if b.counted == nil {
		return b.Paths(), nil
	}
	at := b.Dir
	if b.HistoryMissing { // the private .git does not have the commit
		at = b.Top
	}
	repo, err := git.Find(ctx, at)
	if errors.Is(err, git.ErrNone) {
		return b.Paths(), nil
	}
	if err != nil {
		return nil, err
	}
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return nil, err
	}
	dirty = append(dirty, b.veiled...)
	for _, p := range b.Paths() {
		if !b.tracked[p] { // in a nested repository or a submodule, so not in the outer commit
			dirty = append(dirty, p)
		}
	}
	slices.Sort(dirty)
	return slices.DeleteFunc(slices.Compact(dirty), func(p string) bool {
		e, ok := b.Manifest.Find(p)
		return !ok || e.Mode.IsDir() || !b.counted[p]
	}), nil
}

// Keep moves a copy, whose work could not be stored, to the folder to, in a place that is never swept. fs.ErrExist: that
// folder exists. The copy no longer belongs to the base: also one that could not be moved is not removed by Close.
func (b *Base) Keep(c *Copy, to string) error {
	b.mu.Lock()
	delete(b.copies, c)
	b.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Rename(c.Dir, to); err != nil {
		return err
	}
	c.Dir = to
	_ = c.Close() // nothing of the copy is left there; Sweep removes the rest
	return nil
}

// Read returns one file of the base, nil where it is absent. patch.ErrUnsafePath: a path that leaves the base, or
// has .git or .async on it.
func (b *Base) Read(p string) (*patch.File, error) {
	if err := checkPath(p); err != nil {
		return nil, err
	}
	at, err := descend(b.Dir)
	if err != nil {
		return nil, fmt.Errorf("base of the scratch copies: %w", err)
	}
	defer at.close()
	f, err := at.file(p, 0)
	if err != nil {
		return nil, fmt.Errorf("base of the scratch copies: %w", err)
	}
	return f, nil
}

// writeMemory stores what Reopen needs besides the tree. names is nil without git.
func (b *Base) writeMemory(names *git.Census, left []string) error {
	if names == nil {
		names = &git.Census{}
	}
	m := memory{
		Top: b.Top, Sub: b.Sub, Commit: b.Commit, Excludes: b.excludes,
		HistoryMissing: b.HistoryMissing, Git: b.counted != nil,
		Counted: names.Files, Tracked: names.Tracked, Taken: b.Taken, Left: left,
	}
	return writePacked(filepath.Join(b.holder, memoryFile), m.pack)
}

// Holder returns the folder to pass to Reopen.
func (b *Base) Holder() string { return b.holder }

// Adopt takes over a copy of a killed runner. The stat data of its files is not known, so Changes reads them all.
func (b *Base) Adopt(dir string) (*Copy, error) {
	if info, err := os.Lstat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("scratch copy %s: %w", dir, fs.ErrInvalid)
	}
	c := &Copy{Dir: dir, base: b, holder: dir, facts: map[string][]fileState{}}
	if work := filepath.Join(filepath.Dir(dir), workFolder); filepath.Base(dir) == upperFolder && isFolder(work) {
		c.Work, c.holder = work, filepath.Dir(dir)
	}
	for _, e := range b.Manifest.Entries {
		if !e.Mode.IsDir() {
			in := path.Dir(e.Path)
			c.facts[in] = append(c.facts[in], fileState{name: path.Base(e.Path)})
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.copies[c] = true
	return c, nil
}

// store moves the base to where the next Make finds it, and reports whether it did.
func (b *Base) store(most int64) bool {
	if b.kept == "" || b.now == nil {
		return false
	}
	size := b.now.size()
	if size > most || os.WriteFile(filepath.Join(b.holder, sizeFile), strconv.AppendInt(nil, size, 10), 0o600) != nil {
		return false
	}
	if writePacked(filepath.Join(b.holder, knownFile), b.now.pack) != nil || os.MkdirAll(filepath.Dir(b.kept), 0o700) != nil {
		return false
	}
	// Rename fails if another base was stored there meanwhile: that folder is not empty.
	return unix.Rename(b.holder, b.kept) == nil
}

// A memory is what Reopen needs besides the files.
type memory struct {
	Top, Sub, Commit, Excludes string
	HistoryMissing, Git        bool
	Counted, Tracked, Taken    []string
	Left                       []string
}

const memoryFile = "memory"

func (m *memory) pack(f *packed.Form) {
	f.Literal("async-pipeline copy 1\n")
	f.Text(&m.Top)
	f.Text(&m.Sub)
	f.Text(&m.Commit)
	f.Text(&m.Excludes)
	f.Bool(&m.HistoryMissing)
	f.Bool(&m.Git)
	f.Texts(&m.Counted)
	f.Texts(&m.Tracked)
	f.Texts(&m.Taken)
	f.Texts(&m.Left)
}

// Reopen takes over the base of a killed runner.
func Reopen(ctx context.Context, holder string) (*Base, error) {
	var m memory
	err := readPacked(filepath.Join(holder, memoryFile), m.pack)
	if err != nil {
		return nil, err
	}
	b := &Base{
		Top: m.Top, Sub: m.Sub, Commit: m.Commit, excludes: m.Excludes,
		HistoryMissing: m.HistoryMissing, Taken: m.Taken,
		Dir: filepath.Join(holder, "tree"), holder: holder, rules: filepath.Join(holder, "rules"),
		copies: map[*Copy]bool{},
	}
	if m.Git {
		b.counted, b.tracked = set(m.Counted), set(m.Tracked)
	}
	if b.left, err = newGlobs("scratch exclude", b.Sub, m.Left); err != nil {
		return nil, err
	}
	if b.Manifest, err = tree.Walk(ctx, b.Dir, tree.Options{}); err != nil {
		return nil, err
	}
	return b, nil
}

func set(list []string) map[string]bool {
	s := make(map[string]bool, len(list))
	for _, p := range list {
		s[p] = true
	}
	return s
}

// mostKept is the size limit of a base that is kept, in allocated bytes.
const mostKept = 4 << 30
