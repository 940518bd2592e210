// Makes a base from the tree, and copies from the base.

package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// Make copies the tree into dir, a new folder below parent, and writes a stamp beside it so that the copy of a
// killed runner can be found. parent must lie outside the tree.
func Make(ctx context.Context, parent string, s Source) (_ *Base, err error) {
	m, err := look(ctx, s)
	if err != nil {
		return nil, err
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return nil, err
	}
	if err := outside(m.base.Top, parent); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil { // git names its folders so
		return nil, fmt.Errorf("scratch folder: %w", err)
	}
	b := m.base
	if s.Everything { // a second try, rarely made: it must not push out what every first one can use
		s.Kept = ""
	}
	if b.holder, err = newFolder(parent, s.Kept); err != nil {
		return nil, err
	}
	b.Dir, b.rules = filepath.Join(b.holder, "tree"), filepath.Join(b.holder, "rules")
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if m.known, err = recall(b.holder, b.Top); err != nil {
		return nil, err
	}
	again := m.known != nil
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	if again && s.Tree != nil && !agrees(b.Manifest, s.Tree) {
		m.known = nil
		if err := m.fill(ctx); err != nil {
			return nil, err
		}
	}
	if err := b.keepRules(); err != nil {
		return nil, err
	}
	b.PointsBack = pointsBack(b, s.Root)
	if err := b.remember(m.names, s.Exclude); err != nil {
		return nil, err
	}
	b.kept, b.now = s.Kept, m.now
	return b, nil
}

// A maker is a base on its way.
type maker struct {
	base  *Base
	repo  *git.Repo   // nil without git
	names *git.Census // nil without git
	globs struct{ outputs, include globs }
	all   bool
	known *known // of a base that was kept; nil: the base is new
	now   *known // of this one
	dirty func() // tests: called after the plan is made, before anything is copied
}

// look asks what there is, and writes nothing.
func look(ctx context.Context, s Source) (*maker, error) {
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	m := &maker{all: s.Everything, base: &Base{Top: root, Sub: ".", copies: map[*Copy]bool{}}}
	b := m.base
	if m.repo, err = git.Of(ctx, root); err != nil && !errors.Is(err, git.ErrNone) {
		return nil, err
	}
	if m.repo != nil {
		b.Top = m.repo.Top
		sub, err := filepath.Rel(b.Top, root)
		if err != nil {
			return nil, err
		}
		b.Sub = filepath.ToSlash(sub)
	}
	for _, g := range []struct {
		attr string
		to   *globs
		from []string
	}{{"outputs", &m.globs.outputs, s.Outputs}, {"scratch include", &m.globs.include, s.Include}, {"scratch exclude", &b.left, s.Exclude}} {
		if *g.to, err = newGlobs(g.attr, b.Sub, g.from); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// fill copies the files, or brings them up to date, and makes the private .git.
func (m *maker) fill(ctx context.Context) error {
	b := m.base
	m.now = newKnown(b.Top, time.Now().UnixNano())
	if m.known == nil {
		if err := removeTree(b.Dir); err != nil {
			return err
		}
		if err := os.Mkdir(b.Dir, 0o700); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(b.Top)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	c := &chooser{root: root, outputs: m.globs.outputs, include: m.globs.include, exclude: b.left, everything: m.all, known: m.known}
	var h *history
	if m.repo != nil {
		if h, err = m.beginGit(ctx); err != nil {
			return err
		}
		defer h.end()
		if err := m.ask(ctx, c); err != nil {
			return err
		}
	}
	p, err := c.choose(ctx)
	if err != nil {
		return err
	}
	if m.dirty != nil {
		m.dirty()
	}
	if m.known != nil {
		if err := trim(ctx, b.Dir, p, func(at string) bool { return at == ".git" && m.repo != nil }); err != nil {
			return err
		}
	}
	done := &copying{src: b.Top, dst: b.Dir, sums: true, known: m.known}
	if err := done.run(ctx, p); err != nil {
		return err
	}
	b.Manifest = done.manifest()
	m.now.learn(".", done.got)
	b.Taken = slices.Sorted(slices.Values(p.taken))
	b.Omitted = slices.Concat(p.omitted, done.omitted)
	slices.SortFunc(b.Omitted, func(x, y tree.Omitted) int { return strings.Compare(x.Path, y.Path) })
	if m.repo != nil {
		if err := m.endGit(ctx, h, done.got); err != nil {
			return err
		}
	}
	return done.finish()
}

// keepRules copies the .gitignore files that hold for new paths, those of taken folders too: a virtual environment
// ignores itself by one.
func (b *Base) keepRules() error {
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
		if err := keep(filepath.Join(b.Dir, e.Path), to); err != nil {
			return err
		}
	}
	return nil
}

// isTaken reports whether p came along only because an ignored folder did.
func (b *Base) isTaken(p string) bool { return b.takenFolder(p) != "" && !b.counted[p] }

// takenFolder returns the ignored folder that came along and holds p; empty when none does.
func (b *Base) takenFolder(p string) string {
	for ; p != "."; p = path.Dir(p) {
		if _, ok := slices.BinarySearch(b.Taken, p); ok {
			return p
		}
	}
	return ""
}

// Copy makes a fresh copy at the folder at, which must not exist. Copies of one purpose should use one path, one
// after another: build caches keyed by path stay warm.
func (b *Base) Copy(ctx context.Context, at string) (_ *Copy, err error) {
	if at, err = filepath.Abs(at); err != nil {
		return nil, err
	}
	if err := outside(b.Top, at); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return nil, fmt.Errorf("scratch copy: %w", err)
	}
	up, err := filepath.EvalSymlinks(filepath.Dir(at))
	if err != nil {
		return nil, fmt.Errorf("scratch copy: %w", err)
	}
	at = filepath.Join(up, filepath.Base(at))
	if _, err := os.Lstat(at); err == nil {
		return nil, fmt.Errorf("scratch copy %s: %w: remove what an earlier run left there", at, fs.ErrExist)
	}
	if err := putStamp(at); err != nil {
		return nil, err
	}
	c := &Copy{Dir: at, base: b}
	b.mu.Lock()
	b.copies[c] = true
	b.mu.Unlock()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := os.Mkdir(at, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(b.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	p, err := planAll(root, nil)
	if err != nil {
		return nil, err
	}
	done, err := copyTree(ctx, b.Dir, at, p)
	if err != nil {
		return nil, err
	}
	if lost := len(done.vanished) + len(done.omitted); lost > 0 {
		return nil, fmt.Errorf("scratch copy %s: %d files of the base %s could not be copied: was it touched?", at, lost, b.Dir)
	}
	if err := done.finish(); err != nil {
		return nil, err
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
	c.facts = make(map[string][]stood, len(done.got))
	for dir, files := range done.got {
		if !hiddenPath(dir) {
			c.facts[dir] = stoodOf(files)
		}
	}
	return c, outlast(at, c.facts)
}

// outlast waits until the clock of the file system in which dir stands is past every change of these files: what an
// agent writes in the same tick would look untouched. Where Python's bytecode stands it is past the seconds of the
// sources too: what an agent writes of them in the same second would not be run (patch.Stamp). It asks that clock
// by giving dir the mode it has.
func outlast(dir string, files map[string][]stood) error {
	var newest int64
	seconds := compiled(files)
	for _, list := range files {
		for _, f := range list {
			newest = max(newest, f.Ctime)
		}
	}
	for end := time.Now().Add(longestTick); ; time.Sleep(time.Millisecond) {
		var now unix.Stat_t
		if err := unix.Stat(dir, &now); err != nil {
			return fmt.Errorf("scratch copy %s: %w", dir, err)
		}
		at := now.Ctim.Nano()
		if at > newest && !seconds[at/int64(time.Second)] || time.Now().After(end) {
			return nil
		}
		// Mode is uint16 elsewhere; where it cannot be had, the wait is the longest
		_ = unix.Chmod(dir, uint32(now.Mode)&0o7777) //nolint:unconvert
	}
}

// compiled returns the whole seconds in which Python's sources were written; none without bytecode that may be theirs.
func compiled(files map[string][]stood) map[int64]bool {
	seconds, found := map[int64]bool{}, false
	for _, list := range files {
		for _, f := range list {
			switch {
			case patch.IsSource(f.name):
				seconds[f.Mtime/int64(time.Second)] = true
			case path.Ext(f.name) == ".pyc":
				found = true
			}
		}
	}
	if !found {
		return nil
	}
	return seconds
}

// stoodOf returns how the files of one folder stood after they were copied.
func stoodOf(files []copied) []stood {
	list := make([]stood, 0, len(files))
	for _, f := range files {
		if !hidden(f.Name) {
			list = append(list, stood{f.Name, f.To})
		}
	}
	return list
}

// longestTick is the coarsest step of a file's times, and a little more: some file systems know only even seconds.
const longestTick = 2100 * time.Millisecond

// hiddenPath reports whether a name on the way is git's or ours.
func hiddenPath(p string) bool { return slices.ContainsFunc(strings.Split(p, "/"), hidden) }

// Close removes the copy.
func (c *Copy) Close() error {
	c.base.mu.Lock()
	delete(c.base.copies, c)
	c.base.mu.Unlock()
	return remove(c.Dir)
}

// Close removes every copy made of the base, the base unless it is kept (Source.Kept), and the stamp.
func (b *Base) Close() error {
	b.mu.Lock()
	var copies []*Copy
	for c := range b.copies {
		copies = append(copies, c)
	}
	b.mu.Unlock()
	var errs []error
	for _, c := range copies {
		errs = append(errs, c.Close())
	}
	if b.putBack() {
		return errors.Join(append(errs, os.Remove(b.holder+stampSuffix))...)
	}
	return errors.Join(append(errs, remove(b.holder))...)
}

// Folder makes an empty folder at dir, with a stamp beside it, for what stands by a copy and is thrown away with it
// (a home, a TMPDIR, caches). When its maker is killed, Leftovers finds it.
func Folder(dir string) error {
	if err := remove(dir); err != nil {
		return err
	}
	if err := putStamp(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return errors.Join(err, os.Remove(dir+stampSuffix))
	}
	return nil
}
