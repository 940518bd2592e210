// What a base has from git: answers to questions, and the private .git, which is made while the files are copied.

package scratch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/internal/git"
)

// ask fills in what git knows.
func (m *maker) ask(ctx context.Context, c *chooser) error {
	b := m.base
	var errs [4]error
	var others sync.WaitGroup
	others.Go(func() {
		b.Commit, _, errs[0] = m.repo.Head(ctx)
		b.excludes, errs[1] = m.repo.ExcludesFile(ctx)
		b.veiled, errs[2] = veiled(filepath.Join(m.repo.Dir, "index"))
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

// A history is the private .git of a base on its way. What it found is for those who have waited for work.
type history struct {
	private privateGit
	whole   bool // false: the repository cannot come along
	err     error

	work   sync.WaitGroup
	cancel context.CancelFunc
	files  func() // says that the files of the base stand
}

// beginGit begins to copy the repository, beside those who copy the files. Who calls it calls end.
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

// end returns up what has not ended.
func (h *history) end() {
	h.cancel()
	h.work.Wait()
}

// endGit returns the base its .git: the tree's own, or a fresh one. The files of the base stand; got is how they
// were copied.
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
		e, stands := b.Manifest.Find(f)
		return !stands || e.Mode.IsDir()
	})
	if err := git.Begin(ctx, b.Dir, files, config); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.Dir, ".git", "info"), 0o700); err != nil {
		return err
	}
	for _, name := range []string{"info/exclude", "info/attributes"} {
		if err := keep(filepath.Join(m.repo.Common, name), filepath.Join(b.Dir, ".git", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return refresh(ctx, b.Dir)
}
