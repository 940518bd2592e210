// The private .git of a copy: objects, refs, index and a few harmless settings of the tree's, nothing that runs or
// points back.

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
	mostObjects = 2 << 30          // bytes; beyond, the copy gets a fresh repository
	gitTries    = 3                // a git gc meanwhile moves objects from under us
	checkLimit  = 20 * time.Second // for the walk over all objects; the set of packs has been compared already
)

// errMoved means that objects were packed, or packs replaced, while they were copied.
var errMoved = errors.New("objects moved while they were copied")

// errLarge means that a history is too large, or not whole here.
var errLarge = errors.New("history stays behind")

// A privateGit makes the .git of the base at top. between is called between loose objects and packs; only tests set
// it.
type privateGit struct {
	top     string
	between func()
	most    int64  // bytes of objects; 0 is mostObjects
	size    int64  // bytes of objects so far, submodules' too
	known   *known // of a base that was kept: its main store of objects is brought up to date
	now     *known // what is learned of it; nil: nobody asks

	// files is closed when the files of the base stand: those who look for submodules wait for it. nil: they do.
	files chan struct{}
	links []string // submodules that came along, relative to top
}

// make copies the repository; false: it cannot come along, or never was whole.
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

// copy makes the git folder at of the work tree sub, a folder of top, from repo; submodules are treated alike.
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
	// What names objects comes before the objects: whatever it names is then still there.
	if err := g.names(ctx, repo, at, worktree); err != nil {
		return err
	}
	if err := g.objects(ctx, filepath.Join(repo.Common, "objects"), filepath.Join(at, "objects")); err != nil {
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
			continue // its .git is broken: its files came along as files
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

// names copies HEAD, refs, index, shallow, info, and writes the configuration.
func (g *privateGit) names(ctx context.Context, repo *git.Repo, at, worktree string) error {
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
	var packed strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&packed, "%s %s\n", ref.ID, ref.Name)
	}
	for name, text := range map[string][]byte{"config": config, "HEAD": head, "packed-refs": []byte(packed.String())} {
		if err := replace(filepath.Join(at, name), text); err != nil {
			return err
		}
	}
	shared, err := filepath.Glob(escapeGlob(repo.Dir) + "/sharedindex.*")
	if err != nil {
		return err
	}
	from := map[string]string{"index": repo.Dir, "shallow": repo.Common, "info/exclude": repo.Common, "info/attributes": repo.Common}
	for _, s := range shared {
		from[filepath.Base(s)] = repo.Dir
	}
	for name, dir := range from {
		if err := keep(filepath.Join(dir, name), filepath.Join(at, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// replace writes a file of ours, whatever was at its place.
func replace(at string, text []byte) error {
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &writeError{err}
	}
	if err := os.WriteFile(at, text, 0o600); err != nil {
		return &writeError{err}
	}
	return nil
}

// keep copies one file with its times.
func keep(src, dst string) error {
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
	_, err = newHand(false).leaf(int(from.Fd()), int(to.Fd()), leaf{name: filepath.Base(src)})
	return err
}

// objects copies the objects of a store and of its alternates into one: loose ones first, packs last. A gc first
// writes the new pack and then removes the loose objects and old packs, so what is not found loose is found packed,
// if the packs are still the same ones afterwards.
func (g *privateGit) objects(ctx context.Context, store, to string) error {
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
			if err := g.part(ctx, from, to, packed, seen); err != nil {
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
	return g.settle(to, seen)
}

// part copies the loose objects, or the packs, of one store.
func (g *privateGit) part(ctx context.Context, from, to string, packed bool, seen map[string]bool) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var tooLarge, promised bool
	p, err := planAll(root, func(at string, d fs.DirEntry) bool {
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
	done := &copying{src: from, dst: to}
	if g.main(to) {
		done.known, done.prefix = g.known, mainObjects
	}
	if err := done.run(ctx, p); err != nil {
		return err
	}
	if len(done.vanished) > 0 || len(done.omitted) > 0 {
		return errMoved
	}
	if g.main(to) && g.now != nil {
		g.now.learn(mainObjects, done.got)
	}
	return nil
}

// mainObjects is the store of objects, below top, that is brought up to date; those of submodules are made anew.
const mainObjects = ".git/objects"

func (g *privateGit) main(to string) bool { return to == filepath.Join(g.top, mainObjects) }

// settle removes objects of a kept store that the tree's no longer has.
func (g *privateGit) settle(to string, seen map[string]bool) error {
	if g.known == nil || !g.main(to) {
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

// packFile leaves out what only makes git faster and may not fit what came along (multi-pack-index, bitmaps).
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

// withAlternates returns a store and those it borrows from, at most five deep as git has it.
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

// refresh brings the index of the copy at top, and those of its submodules, up to date with the copy's files.
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

// A history is the private .git of a base on its way. What it found is for those who have waited for work.
type history struct {
	private privateGit
	whole   bool // false: the repository cannot come along
	err     error

	work   sync.WaitGroup
	cancel context.CancelFunc
	files  func() // says that the files of the base stand
}

// end returns up what has not ended.
func (h *history) end() {
	h.cancel()
	h.work.Wait()
}
