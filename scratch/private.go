// The private .git of a base: objects, refs, index and a few harmless settings of the tree's. It has nothing that runs
// a program or names the tree.

package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/git"
)

// Limits of a private .git.
const (
	mostObjects = 2 << 30          // bytes; a larger history is not copied, and the base gets a new repository
	gitTries    = 3                // git gc may move objects while they are copied
	checkLimit  = 20 * time.Second // for the walk over all objects; the set of packs has been compared already
)

// errMoved means that objects were packed, or packs replaced, while they were copied.
var errMoved = errors.New("objects moved while they were copied")

// errLarge means that a history is too large or incomplete.
var errLarge = errors.New("history stays behind")

// A privateGit makes the .git of the base at top.
type privateGit struct {
	top     string
	between func() // for tests: called between loose objects and packs
	most    int64  // bytes of objects; 0 is mostObjects
	size    int64  // bytes of objects so far, submodules' too
	known   *known // of the kept base, whose main object store is updated
	now     *known // stat data of the objects; nil if nobody needs them

	// files is closed when the files of the base are complete, which submodules need. nil: they are complete.
	files chan struct{}
	links []string // submodules that were copied, relative to top
}

// make copies the repository. It returns false if that is too large or incomplete.
func (g *privateGit) make(ctx context.Context, repo *git.Repo) (bool, error) {
	if g.most == 0 {
		g.most = mostObjects
	}
	at := filepath.Join(g.top, ".git")
	for range gitTries {
		g.size, g.links = 0, nil
		err := g.copy(ctx, repo, ".", at)
		if err == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := os.RemoveAll(at); err != nil {
			return false, err
		}
		var why *writeError
		switch {
		case errors.As(err, &why):
			return false, err
		case errors.Is(err, errLarge):
			return false, nil
		}
	}
	return false, nil
}

// copy makes the git folder at of the work tree sub, a folder of top, from repo; it does the same for submodules.
func (g *privateGit) copy(ctx context.Context, repo *git.Repo, sub, at string) error {
	partial, err := repo.Partial(ctx)
	if err != nil {
		return err
	}
	if partial {
		return errLarge
	}
	worktree := ""
	if sub != "." {
		if worktree, err = filepath.Rel(at, filepath.Join(g.top, sub)); err != nil {
			return err
		}
	}
	// Refs are copied before the objects, so that every object they name is copied.
	if err := g.copyRefs(ctx, repo, at, worktree); err != nil {
		return err
	}
	if err := g.copyObjects(ctx, filepath.Join(repo.Common, "objects"), filepath.Join(at, "objects")); err != nil {
		return err
	}
	here := filepath.Join(g.top, sub)
	if sub != "." {
		link, err := filepath.Rel(here, at)
		if err != nil {
			return err
		}
		if err := replace(filepath.Join(here, ".git"), []byte("gitdir: "+link+"\n")); err != nil {
			return err
		}
	}
	own := &git.Repo{Top: here, Dir: at, Common: at}
	if err := own.Connected(ctx, checkLimit); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return g.submodules(ctx, repo, sub, at)
}

func (g *privateGit) submodules(ctx context.Context, repo *git.Repo, sub, at string) error {
	links, err := repo.Submodules(ctx)
	if err != nil {
		return err
	}
	if len(links) > 0 && g.files != nil {
		select {
		case <-g.files:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, link := range links {
		inner := filepath.Join(sub, link)
		if info, err := os.Lstat(filepath.Join(g.top, inner)); err != nil || !info.IsDir() { // left out
			continue
		}
		module, err := git.Find(ctx, filepath.Join(repo.Top, link))
		if err != nil || module.Top != filepath.Join(repo.Top, link) {
			continue // its .git is broken: its files were copied as ordinary files
		}
		name, ok := strings.CutPrefix(module.Dir, filepath.Join(repo.Common, "modules")+"/")
		if !ok {
			name = url.PathEscape(link)
		}
		if err := g.copy(ctx, module, inner, filepath.Join(at, "modules", name)); err != nil {
			return err
		}
		g.links = append(g.links, filepath.ToSlash(inner))
	}
	return nil
}

// copyRefs copies HEAD, refs, index, shallow and info, and writes the configuration.
func (g *privateGit) copyRefs(ctx context.Context, repo *git.Repo, at, worktree string) error {
	for _, dir := range []string{"", "objects/pack", "objects/info", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(at, dir), 0o700); err != nil {
			return &writeError{err}
		}
	}
	config, err := repo.Config(ctx, worktree)
	if err != nil {
		return err
	}
	head, err := repo.HeadFile(ctx)
	if err != nil {
		return err
	}
	refs, err := repo.Refs(ctx)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"config": config, "HEAD": head, "packed-refs": refs} {
		if err := replace(filepath.Join(at, name), text); err != nil {
			return err
		}
	}
	shared, err := filepath.Glob(escapeGlob(repo.Dir) + "/sharedindex.*")
	if err != nil {
		return err
	}
	from := map[string]string{
		"index": repo.Dir, "shallow": repo.Common, "info/exclude": repo.Common, "info/attributes": repo.Common,
	}
	for _, s := range shared {
		from[filepath.Base(s)] = repo.Dir
	}
	for name, dir := range from {
		err := copyWithTimes(filepath.Join(dir, name), filepath.Join(at, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// replace writes a file and replaces what was there.
func replace(at string, text []byte) error {
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &writeError{err}
	}
	if err := os.WriteFile(at, text, 0o600); err != nil {
		return &writeError{err}
	}
	return nil
}

// copyWithTimes copies one file, a small one, with its times.
func copyWithTimes(src, dst string) error {
	from, err := os.Open(filepath.Dir(src))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.Open(filepath.Dir(dst))
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	_, err = newFileCopier(context.Background(), false).leaf(int(from.Fd()), int(to.Fd()), leaf{name: filepath.Base(src)})
	return err
}

// copyObjects copies the objects of a store and of its alternates into one: loose ones first, packs last. A gc first
// writes the new pack and then removes the loose objects and old packs, so what is not found loose is found packed,
// provided that the packs are the same afterwards.
func (g *privateGit) copyObjects(ctx context.Context, store, to string) error {
	stores, err := withAlternates(store)
	if err != nil {
		return err
	}
	before, err := packs(stores)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, packed := range []bool{false, true} {
		for _, from := range stores {
			if err := g.copyStore(ctx, from, to, packed, seen); err != nil {
				return err
			}
		}
		if !packed && g.between != nil {
			g.between()
		}
	}
	after, err := packs(stores)
	if err != nil {
		return err
	}
	if !slices.Equal(before, after) {
		return errMoved
	}
	return g.removeStale(to, seen)
}

// copyStore copies the loose objects, or the packs, of one store.
func (g *privateGit) copyStore(ctx context.Context, from, to string, packed bool, seen map[string]bool) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var tooLarge, promised bool
	p, err := planAll(ctx, root, func(at string, d fs.DirEntry) bool {
		if d.IsDir() {
			return packed != (at == "pack") || !packed && len(at) != 2
		}
		top, name, _ := strings.Cut(at, "/")
		promised = promised || strings.HasSuffix(name, ".promisor")
		if name == "" || strings.HasPrefix(name, "tmp_") || packed && top == "pack" && !packFile(name) || seen[at] {
			return true
		}
		seen[at] = true
		if info, err := d.Info(); err == nil {
			g.size += info.Size()
		}
		tooLarge = tooLarge || g.size > g.most
		return tooLarge
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errMoved
	case err != nil:
		return err
	case tooLarge || promised:
		return errLarge
	}
	done := &treeCopier{src: from, dst: to, loose: true}
	if g.isMain(to) {
		done.known, done.prefix = g.known, mainObjects
	}
	if err := done.run(ctx, p); err != nil {
		return err
	}
	if len(done.vanished) > 0 || len(done.omitted) > 0 {
		return errMoved
	}
	if g.isMain(to) && g.now != nil {
		g.now.add(mainObjects, done.got)
	}
	return nil
}

// mainObjects is the path below top of the object store that is updated. Those of submodules are made again.
const mainObjects = ".git/objects"

func (g *privateGit) isMain(to string) bool { return to == filepath.Join(g.top, mainObjects) }

// removeStale removes objects from a kept store that are no longer in the tree's.
func (g *privateGit) removeStale(to string, seen map[string]bool) error {
	if g.known == nil || !g.isMain(to) {
		return nil
	}
	dirs, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		files, err := os.ReadDir(filepath.Join(to, d.Name()))
		if err != nil {
			return err
		}
		for _, f := range files {
			if !seen[d.Name()+"/"+f.Name()] {
				if err := os.Remove(filepath.Join(to, d.Name(), f.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// packFile reports whether a pack file is needed. Others only make git faster and may not match what was copied
// (multi-pack-index, bitmaps).
func packFile(name string) bool {
	return strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx") || strings.HasSuffix(name, ".rev")
}

// packs lists the packs of all stores.
func packs(stores []string) ([]string, error) {
	var found []string
	for _, s := range stores {
		entries, err := os.ReadDir(filepath.Join(s, "pack"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".pack") {
				found = append(found, s+"/"+e.Name())
			}
		}
	}
	return found, nil
}

// withAlternates returns a store and its alternates, at most five levels deep like git.
func withAlternates(store string) ([]string, error) {
	stores := []string{store}
	var follow func(from string, depth int) error
	follow = func(from string, depth int) error {
		text, err := os.ReadFile(filepath.Join(from, "info", "alternates"))
		if errors.Is(err, fs.ErrNotExist) || depth == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if line == "" || line[0] == '#' {
				continue
			}
			if plain, err := strconv.Unquote(line); line[0] == '"' && err == nil {
				line = plain
			}
			if !filepath.IsAbs(line) {
				line = filepath.Join(from, line)
			}
			if info, err := os.Stat(line); err != nil || !info.IsDir() || slices.Contains(stores, line) {
				continue
			}
			stores = append(stores, line)
			if err := follow(line, depth-1); err != nil {
				return err
			}
		}
		return nil
	}
	return stores, follow(store, 5)
}

// refresh updates the index of the copy at top, and those of its submodules, to match the files.
func refresh(ctx context.Context, top string) error {
	repo, err := git.Find(ctx, top)
	if err != nil {
		return err
	}
	if repo.Top != top {
		return fmt.Errorf("scratch copy %s: its .git is not its own (git found %s)", top, repo.Top)
	}
	if err := repo.Refresh(ctx); err != nil {
		return err
	}
	links, err := repo.Submodules(ctx)
	if err != nil {
		return err
	}
	for _, link := range links {
		if err := refresh(ctx, filepath.Join(top, link)); err != nil {
			return err
		}
	}
	return nil
}

// A history copies a repository in another goroutine. Wait for work before reading the results.
type history struct {
	private privateGit
	whole   bool // false: the repository could not be copied
	err     error

	work   sync.WaitGroup
	cancel context.CancelFunc
	files  func() // to be called when the files of the base are complete
}

// end stops the copy if it is still running, and waits.
func (h *history) end() {
	h.cancel()
	h.work.Wait()
}
