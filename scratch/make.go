// Makes a base from the tree.

package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// Make copies the tree into a new folder below parent, which must be outside the tree. It writes a stamp beside the
// folder, so that Sweep finds it if this process is killed.
func Make(ctx context.Context, parent string, s Source) (_ *Base, err error) {
	m, err := newMaker(ctx, s)
	if err != nil {
		return nil, err
	}
	b := m.base
	if s.Everything { // rarely used: it must not replace the base that others can use
		s.Kept = ""
	}
	if err := b.makeFolder(parent, s.Kept); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if m.known, err = takeKnown(b.holder, b.Top); err != nil {
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
	if err := b.copyRules(); err != nil {
		return nil, err
	}
	b.PointsBack = pointsBack(b, s.Root)
	if err := b.writeMemory(m.names, s.Exclude); err != nil {
		return nil, err
	}
	b.kept, b.now = s.Kept, m.now
	return b, nil
}

// A maker makes a base.
type maker struct {
	base  *Base
	repo  *git.Repo   // nil without git
	names *git.Census // nil without git
	globs struct{ outputs, include globs }
	all   bool
	known *known // of the kept base; nil if the base is new
	now   *known // of the base being made
}

// newMaker finds the tree and its repository, and writes nothing.
func newMaker(ctx context.Context, s Source) (*maker, error) {
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	m := &maker{all: s.Everything, base: &Base{Top: root, Sub: ".", bin: s.Bin, copies: map[*Copy]bool{}}}
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
	}{
		{"outputs", &m.globs.outputs, s.Outputs},
		{"scratch include", &m.globs.include, s.Include},
		{"scratch exclude", &b.left, s.Exclude},
	} {
		if *g.to, err = newGlobs(g.attr, b.Sub, g.from); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// fill copies or updates the files, and makes the private .git.
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
	c := &chooser{
		root: root, outputs: m.globs.outputs, include: m.globs.include, exclude: b.left, everything: m.all,
		known: m.known,
	}
	var h *history
	if m.repo != nil {
		if h, err = m.beginGit(ctx); err != nil {
			return err
		}
		defer h.end()
		if err := m.askGit(ctx, c); err != nil {
			return err
		}
	}
	p, err := c.choose(ctx)
	if err != nil {
		return err
	}
	return m.copy(ctx, p, h)
}

// copy copies or updates what is planned, and completes the .git that h has begun; nil: there is none. What the tree lost
// since p was made is not in the base.
func (m *maker) copy(ctx context.Context, p *plan, h *history) error {
	b := m.base
	if m.known != nil {
		if err := trim(ctx, b.Dir, p, func(at string) bool { return at == ".git" && m.repo != nil }); err != nil {
			return err
		}
	}
	done := &treeCopier{src: b.Top, dst: b.Dir, sums: true, known: m.known}
	if err := done.run(ctx, p); err != nil {
		return err
	}
	b.Manifest = done.manifest()
	m.now.add(".", done.got)
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

// outside returns an error for a folder inside the tree, because watchers and checks there would see the project
// twice.
func outside(top, at string) error {
	place := at
	for {
		r, err := filepath.EvalSymlinks(place)
		if err == nil {
			place = filepath.Join(r, strings.TrimPrefix(at, place))
			break
		}
		if up := filepath.Dir(place); up != place {
			place = up
			continue
		}
		return err
	}
	if place == top || strings.HasPrefix(place, strings.TrimSuffix(top, "/")+"/") {
		return fmt.Errorf("a scratch copy must stand outside the tree %s, not at %s: choose another folder", top, at)
	}
	return nil
}

// askGit asks git about the tree, and tells the chooser.
func (m *maker) askGit(ctx context.Context, c *chooser) error {
	b := m.base
	var errs [4]error
	var others sync.WaitGroup
	others.Go(func() {
		b.Commit, _, errs[0] = m.repo.Head(ctx)
		b.excludes, errs[1] = m.repo.ExcludesFile(ctx)
		b.veiled, errs[2] = unwatched(filepath.Join(m.repo.Dir, "index"))
	})
	m.names, errs[3] = m.repo.Census(ctx)
	others.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	others.Go(func() { b.tracked = set(m.names.Tracked) })
	b.counted, c.ignored = set(m.names.Files), make(map[string]bool, len(m.names.Ignored))
	for _, f := range m.names.Ignored {
		c.ignored[strings.TrimSuffix(f, "/")] = true
	}
	others.Wait()
	c.files = b.counted
	return nil
}

// beginGit starts to copy the repository while the files are copied. The caller must call end.
func (m *maker) beginGit(ctx context.Context) (*history, error) {
	b := m.base
	if err := trimGit(filepath.Join(b.Dir, ".git")); err != nil {
		return nil, err
	}
	files := make(chan struct{})
	h := &history{
		private: privateGit{top: b.Dir, known: m.known, now: newKnown(b.Top, m.now.Start), files: files},
		files:   sync.OnceFunc(func() { close(files) }),
	}
	ctx, h.cancel = context.WithCancel(ctx)
	h.work.Go(func() { h.whole, h.err = h.private.make(ctx, m.repo) })
	return h, nil
}

// endGit completes the .git of the base: a copy of the tree's, or a new one. The files of the base, got, are complete.
func (m *maker) endGit(ctx context.Context, h *history, got map[string][]copied) error {
	b := m.base
	h.files()
	h.work.Wait()
	if h.err != nil {
		return h.err
	}
	maps.Copy(m.now.Files, h.private.now.Files)
	b.HistoryMissing = !h.whole
	if h.whole {
		b.links = h.private.links
		fresh, err := restatAll(b.Dir, got, b.links)
		if fresh || err != nil {
			return err
		}
		return refresh(ctx, b.Dir)
	}
	config, err := m.repo.Config(ctx, "")
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(slices.Clone(m.names.Files), func(f string) bool {
		e, ok := b.Manifest.Find(f)
		return !ok || e.Mode.IsDir()
	})
	if err := git.Init(ctx, b.Dir, files, config); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.Dir, ".git", "info"), 0o700); err != nil {
		return err
	}
	for _, name := range []string{"info/exclude", "info/attributes"} {
		err := copyWithTimes(filepath.Join(m.repo.Common, name), filepath.Join(b.Dir, ".git", name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return refresh(ctx, b.Dir)
}
