package homes

// Build caches. Where overlays can be had, a hook's processes see the person's own caches, and what they write is
// thrown away with the hook. Elsewhere what the failed run used of Go's build cache is copied, and thrown away, too;
// what the reproduction wrote into the other caches is kept for the next hook.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Caches are the build caches of one box.
type Caches struct {
	Dir string // the parent of their folders, as tools are told

	layers []sandbox.Overlay
}

// cacheFolders are the build caches that get a folder of their own, and the variables that name it to their tools.
var cacheFolders = []struct{ variable, folder string }{
	{"XDG_CACHE_HOME", "xdg"},
	{"GOCACHE", goBuild},
	{"GOMODCACHE", "go-mod"},
	{"npm_config_cache", "npm"},
	{"GRADLE_USER_HOME", "gradle"},
}

// xdgTools are the folders of the person's XDG_CACHE_HOME that are shown in a hook. All of it cannot be: it has the
// folders of hooks in it, and browsers'.
var xdgTools = []string{
	"Cypress", "bazel", "ccache", "composer", "deno", "electron", "golangci-lint", "ms-playwright", "mypy", "node",
	"node-gyp", "pip", "pnpm", "poetry", "pre-commit", "pypoetry", "ruff", "sccache", "staticcheck", "uv", "yarn", "zig",
}

// personalCaches returns the person's own caches, by their folder below Caches.Dir. Gradle's has settings and
// credentials in it: it is not among them.
func (h *Homes) personalCaches() map[string]string {
	own := map[string]string{
		goBuild:  h.personal("GOCACHE", filepath.Join(".cache", goBuild)),
		"go-mod": h.modules(),
		"npm":    h.personal("npm_config_cache", ".npm"),
	}
	if xdg := h.personal("XDG_CACHE_HOME", ".cache"); xdg != "" {
		for _, tool := range xdgTools {
			own[filepath.Join("xdg", tool)] = filepath.Join(xdg, tool)
		}
	}
	root := filepath.Dir(h.Store)
	for folder, dir := range own {
		real, err := filepath.EvalSymlinks(dir) // many keep it on another disk, behind a link
		info, serr := os.Stat(real)
		if err != nil || serr != nil || !info.IsDir() || !filepath.IsAbs(real) || Inside(real, root) ||
			Inside(h.Work, real) {
			delete(own, folder)
			continue
		}
		own[folder] = real
	}
	return own
}

// layer finds out whether caches can be overlays. If so, it removes those that were kept in another tier.
func (h *Homes) layer() error {
	h.noLayers = fmt.Errorf("not in sandbox %s", h.Box.Tier)
	if h.Box.Tier != sandbox.View {
		return nil
	}
	temp, err := h.ThrowAway("caches")
	if err != nil {
		return err
	}
	h.own = h.personalCaches()
	if h.noLayers = sandbox.TryOverlay(temp, slices.Collect(maps.Values(h.own))...); h.noLayers != nil {
		return nil //nolint:nilerr // caches are copied then
	}
	return h.removeKept(keptCaches)
}

// over makes caches that show those of below, the latest first, and the person's. What is written to them goes with
// the hook.
func (h *Homes) over(below ...Caches) (c Caches, err error) {
	if c.Dir, err = h.ThrowAway("caches"); err != nil {
		return c, err
	}
	if err := errors.Join(makeCaches(c.Dir), scratch.Folder(c.work()), os.Mkdir(c.empty(), 0o700)); err != nil {
		return c, err
	}
	for folder, own := range h.own {
		at := filepath.Join(c.Dir, folder)
		layer := sandbox.Overlay{At: at, Upper: at, Work: filepath.Join(c.work(), folder)}
		for _, b := range below {
			layer.Lower = append(layer.Lower, filepath.Join(b.Dir, folder))
		}
		layer.Lower = append(layer.Lower, own)
		if err := errors.Join(os.MkdirAll(at, 0o700), os.MkdirAll(layer.Work, 0o700)); err != nil {
			return c, err
		}
		c.layers = append(c.layers, layer)
	}
	return c, nil
}

// work returns the folder for the kernel's use. It is outside of what a box may write.
func (c Caches) work() string { return c.Dir + "-work" }

// empty returns a folder that stays empty.
func (c Caches) empty() string { return filepath.Join(c.work(), "empty") }

// present returns the overlays without what is gone by now: the person may remove a cache at any moment.
func (c Caches) present() []sandbox.Overlay {
	layers := slices.Clone(c.layers)
	for i := range layers {
		l := &layers[i]
		l.Lower = slices.DeleteFunc(slices.Clone(l.Lower), func(dir string) bool {
			info, err := os.Lstat(dir)
			return err != nil || !info.IsDir()
		})
		if len(l.Lower) == 0 {
			l.Lower = []string{c.empty()}
		}
	}
	return layers
}

// RemoveCaches removes caches of ThrowAwayCaches.
func (h *Homes) RemoveCaches(c Caches) error {
	return errors.Join(h.Bin.Remove(c.Dir), h.Bin.Remove(c.work()))
}

// seedLimit is how much of the person's Go build cache, in bytes, is copied for a hook.
const seedLimit = 2 << 30

// CheckCaches returns the caches of checks of the person's own code. note tells why a first check takes longer, for
// a person.
func (h *Homes) CheckCaches(ctx context.Context) (c Caches, note string, err error) {
	defer h.copying.start()()
	if h.check.Dir == "" {
		if h.noLayers == nil {
			h.check, err = h.over()
		} else {
			h.check.Dir, note, err = h.seed(ctx)
		}
	}
	return h.check, note, h.explain(err)
}

// goBuild is the folder of Go's build cache in the caches of a box.
const goBuild = "go-build"

// seed returns the kept caches of checks. Go's build cache in them is a copy of what the failed run used of the
// person's: all of it can be gigabytes.
func (h *Homes) seed(ctx context.Context) (dir, note string, err error) {
	dir = filepath.Join(h.Kept, keptCaches)
	if err := makeCaches(dir); err != nil || !h.Go {
		return dir, "", err
	}
	from, to, newer := h.personalCaches()[goBuild], filepath.Join(dir, goBuild), h.Since.Add(-used)
	size, err := sizeOf(from, newer)
	switch {
	case from == "", errors.Is(err, fs.ErrNotExist):
	case err != nil || size > seedLimit:
		note = fmt.Sprintf("the build cache of checks starts cold (yours is over %d GiB): the first check takes longer",
			seedLimit>>30)
	default:
		if err := errors.Join(copyFolder(ctx, from, to, newer), age(to)); err != nil {
			return "", "", err
		}
	}
	return dir, note, nil
}

// ThrowAwayCaches makes caches for agents, or for one verification, which the caller removes. They start with what
// the reproduction, which began at since, used of check.
func (h *Homes) ThrowAwayCaches(ctx context.Context, check Caches, since time.Time) (c Caches, err error) {
	defer h.copying.start()()
	defer func() { err = h.explain(err) }()
	if h.noLayers == nil {
		return h.over(check)
	}
	if c.Dir, err = h.ThrowAway("caches"); err != nil {
		return c, err
	}
	return c, h.copyCaches(ctx, check.Dir, c.Dir, since)
}

func makeCaches(dir string) error {
	for _, c := range cacheFolders {
		if err := os.MkdirAll(filepath.Join(dir, c.folder), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Go updates the time of a build cache's entry when it reads one that is older than an hour. So the entries that a run
// used are newer than used before it began. The copy starts with old entries: so those that a check used can be told
// from the rest.
const (
	unused = 2 * time.Hour
	used   = 70 * time.Minute
)

// age sets the times of all files below dir to those of entries that were not used.
func age(dir string) error {
	old := time.Now().Add(-unused)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
}

// copyCaches copies caches. Of Go's build cache it copies only what was used since then: the rest can be gigabytes.
func (h *Homes) copyCaches(ctx context.Context, from, to string, since time.Time) error {
	if err := makeCaches(to); err != nil {
		return err
	}
	for _, c := range cacheFolders {
		newer := time.Time{}
		if c.folder == goBuild {
			newer = since.Add(-used)
		}
		if err := copyFolder(ctx, filepath.Join(from, c.folder), filepath.Join(to, c.folder), newer); err != nil {
			return err
		}
	}
	return nil
}

// cacheEnv returns the variables that lead tools to caches. The person's downloads serve as a proxy for Go's modules.
func (h *Homes) cacheEnv(dir string) []string {
	var env []string
	for _, c := range cacheFolders {
		env = append(env, c.variable+"="+filepath.Join(dir, c.folder))
	}
	if d := h.downloads(); d != "" {
		env = append(env, "GOPROXY=file://"+filepath.ToSlash(d), "GONOPROXY=none", "GOSUMDB=off")
	}
	return env
}

// copyFolder copies a cache, or its files that are newer than a time.
func copyFolder(ctx context.Context, from, to string, newer time.Time) error {
	err := scratch.CopyFolder(ctx, from, to, newer)
	if errors.Is(err, fs.ErrNotExist) && !recordfile.Exists(from) {
		return nil // a cache may be removed at any moment; the worst is a miss
	}
	return err
}

// sizeOf adds up the files below dir that are newer than a time, in bytes, and stops counting past seedLimit.
func sizeOf(dir string, newer time.Time) (int64, error) {
	if _, err := os.Stat(dir); err != nil {
		return 0, err
	}
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil && !info.ModTime().Before(newer) {
			size += info.Size()
		}
		if size > seedLimit {
			return fs.SkipAll
		}
		return nil
	})
	return size, err
}
