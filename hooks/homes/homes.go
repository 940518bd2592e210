// Package homes decides which folders the processes of a hook may write: the copies of the tree, the build caches
// that are kept from hook to hook, and what is thrown away. It is used under heal.lock, by one hook of a root at a
// time.
package homes

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

	"github.com/otiai10/copy"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Homes are the folders of one hook. Three kinds of build caches never mix: what checks of the person's own code
// filled (kept), what agents filled (kept, for agents only), and the throw-away copy of the first that each
// verification gets, because patched code could write what the next check reads.
type Homes struct {
	Places
	Task    *pipeline.Task // the failed one: its environment tells where build caches are
	Environ []string       // the person's, KEY=VALUE
	Box     sandbox.Box    // what all boxes have in common
	Go      bool           // the tree has a Go module: only then is the person's build cache of use, which may be large

	throws int // throw-away folders made so far
}

// seedLimit is how much of the person's build caches, in bytes, a kept folder starts with.
const seedLimit = 2 << 30

// cacheFolders are the build caches that get a folder of their own, and the variables that name it to their tools.
var cacheFolders = []struct{ variable, folder string }{
	{"XDG_CACHE_HOME", "xdg"},
	{"GOCACHE", "go-build"},
	{"GOMODCACHE", "go-mod"},
	{"npm_config_cache", "npm"},
	{"GRADLE_USER_HOME", "gradle"},
}

// Open makes the folders, removes what an earlier hook left in them, and marks them as used by root. The caller holds
// heal.lock.
func (h *Homes) Open(root string) error {
	for _, dir := range []string{h.Work, h.Kept} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("folder for scratch copies: %w", err)
		}
	}
	return errors.Join(h.Close(), h.markUsed(root), h.evictBases())
}

// Inside reports whether path is dir or below it.
func Inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// CheckCaches returns the kept caches of checks. They start as a copy of the person's build cache; where they do not,
// note tells why, for a person.
func (h *Homes) CheckCaches(ctx context.Context) (dir, note string, err error) {
	dir = filepath.Join(h.Kept, "check")
	if recordfile.Exists(filepath.Join(dir, seeded)) {
		return dir, "", nil
	}
	if err := makeCaches(dir); err != nil || !h.Go {
		return dir, "", err
	}
	from := h.personal("GOCACHE", filepath.Join(".cache", "go-build"))
	if real, err := filepath.EvalSymlinks(from); err == nil {
		from = real // many keep it on another disk, behind a link; a copied link would lead to the person's own cache
	}
	size, err := sizeOf(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil || size > seedLimit:
		note = fmt.Sprintf("the build cache of checks starts cold (yours is over %d GiB): the first check takes longer",
			seedLimit>>30)
	default:
		build := filepath.Join(dir, "go-build")
		if err := copyFolder(ctx, from, build, time.Time{}); err != nil {
			return "", "", err
		}
		if err := age(build); err != nil {
			return "", "", err
		}
	}
	return dir, note, os.WriteFile(filepath.Join(dir, seeded), nil, 0o600)
}

// AgentCaches returns the kept caches of agents. They start with what the reproduction used, which began at since.
func (h *Homes) AgentCaches(ctx context.Context, check string, since time.Time) (string, error) {
	dir := filepath.Join(h.Kept, "agent")
	if recordfile.Exists(filepath.Join(dir, seeded)) {
		return dir, nil
	}
	if err := h.copyCaches(ctx, check, dir, since); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, seeded), nil, 0o600)
}

// seeded is the file that marks a kept folder as filled. Without it the folder is filled again.
const seeded = ".seeded"

func makeCaches(dir string) error {
	for _, c := range cacheFolders {
		if err := os.MkdirAll(filepath.Join(dir, c.folder), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Go updates the time of a build cache's entry when it reads one that is older than an hour. So a kept folder starts
// with old entries, and those that a check used can be told from the rest.
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
		if c.folder == "go-build" {
			newer = since.Add(-used)
		}
		if err := copyFolder(ctx, filepath.Join(from, c.folder), filepath.Join(to, c.folder), newer); err != nil {
			return err
		}
	}
	return nil
}

// throwAway makes an empty folder. Close removes it, or the next runner, if this one is killed.
func (h *Homes) throwAway(kind string) (string, error) {
	h.throws++
	dir := filepath.Join(h.Work, fmt.Sprintf("%s-%d", kind, h.throws))
	return dir, scratch.Folder(dir)
}

// ThrowAwayCaches makes caches for one verification: a copy of what the reproduction, which began at since, used of
// kept.
func (h *Homes) ThrowAwayCaches(ctx context.Context, kept string, since time.Time) (string, error) {
	dir, err := h.throwAway("caches")
	if err != nil {
		return "", err
	}
	return dir, h.copyCaches(ctx, kept, dir, since)
}

// CheckBox returns the box for checks in a copy. HOME is the person's, and can only be read.
func (h *Homes) CheckBox(base *scratch.Base, copyDir, caches string) (sandbox.Box, error) {
	box := h.Box
	tmp, err := h.throwAway("tmp")
	if err != nil {
		return box, err
	}
	box.Tree, box.Copy, box.Tmp = base.Top, copyDir, tmp
	box.Write = []string{caches}
	box.Read = h.readable()
	box.Env = append(h.cacheEnv(caches), gitEnv(nil)...)
	return box, nil
}

// AgentBox returns the box for an agent in a copy. HOME is its own, and empty. filters are git's, see gitEnv.
func (h *Homes) AgentBox(base *scratch.Base, copyDir, caches string, filters [][2]string) (sandbox.Box, error) {
	box, err := h.CheckBox(base, copyDir, caches)
	if err != nil {
		return box, err
	}
	box.Home, err = h.throwAway("home")
	box.Write = append(box.Write, box.Home)
	box.Env = append(h.cacheEnv(caches), gitEnv(filters)...)
	return box, err
}

// readable returns the folders that a box must not hide: the person's home and Go's downloads.
func (h *Homes) readable() []string {
	var paths []string
	for _, p := range []string{Env(h.Environ, "HOME"), h.downloads()} {
		if info, err := os.Stat(p); filepath.IsAbs(p) && err == nil && info.IsDir() && p != "/" {
			paths = append(paths, p)
		}
	}
	return paths
}

// cacheEnv returns the variables that lead tools to caches. The person's downloads serve as a proxy for Go's modules.
func (h *Homes) cacheEnv(caches string) []string {
	var env []string
	for _, c := range cacheFolders {
		env = append(env, c.variable+"="+filepath.Join(caches, c.folder))
	}
	if d := h.downloads(); d != "" {
		env = append(env, "GOPROXY=file://"+filepath.ToSlash(d), "GONOPROXY=none", "GOSUMDB=off")
	}
	return env
}

// downloads returns the person's Go download cache; empty: there is none.
func (h *Homes) downloads() string {
	gopath := h.personal("GOPATH", "go")
	first := filepath.SplitList(gopath)
	if len(first) == 0 {
		return ""
	}
	mod := h.personal("GOMODCACHE", "")
	if mod == "" {
		mod = filepath.Join(first[0], "pkg", "mod")
	}
	d := filepath.Join(mod, "cache", "download")
	if info, err := os.Stat(d); err != nil || !info.IsDir() {
		return ""
	}
	return d
}

// personal returns the value that a tool of the task has for a Go variable: the task's own, what it passes, what `go
// env -w` stored, else the path rest below HOME.
func (h *Homes) personal(name, rest string) string {
	for _, v := range h.Task.Env {
		if v.Name == name && v.Value != "" {
			return v.Value
		}
	}
	if v := Env(h.Environ, name); v != "" && Passes(h.Task.PassEnv, name) {
		return v
	}
	home := Env(h.Environ, "HOME")
	if stored, err := os.ReadFile(filepath.Join(home, ".config", "go", "env")); err == nil {
		for line := range strings.Lines(string(stored)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok && v != "" {
				return v
			}
		}
	}
	if rest == "" || home == "" {
		return ""
	}
	return filepath.Join(home, rest)
}

// gitEnv returns git's configuration inside a box, so that nothing of the person's global configuration runs code
// there. Agents, whose HOME is empty, are given filters: without them every filtered file would look dirty.
func gitEnv(filters [][2]string) []string {
	entries := append([][2]string{
		{"core.fsmonitor", "false"},
		{"core.hooksPath", os.DevNull},
		{"safe.directory", "*"},
	}, filters...)
	return git.ConfigEnv(entries)
}

// Close removes the throw-away folders.
func (h *Homes) Close() error {
	var errs []error
	for _, kind := range []string{"caches", "home", "tmp"} {
		found, _ := filepath.Glob(filepath.Join(h.Work, kind+"-*"))
		for _, dir := range found {
			errs = append(errs, Remove(dir))
		}
	}
	return errors.Join(errs...)
}

// copyFolder copies a cache, or its files that are newer than a time. It makes no hard links: an agent could write
// through them.
func copyFolder(ctx context.Context, from, to string, newer time.Time) error {
	return copy.Copy(from, to, copy.Options{
		PreserveTimes: true,
		NumOfWorkers:  4,
		Skip: func(info os.FileInfo, _, _ string) (bool, error) {
			return info.Mode().IsRegular() && info.ModTime().Before(newer), ctx.Err()
		},
		OnError: func(_, _ string, err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil // a cache may lose entries at any moment; the worst is a miss
			}
			return err
		},
	})
}

// sizeOf adds up the files below dir, in bytes, and stops counting past seedLimit.
func sizeOf(dir string) (int64, error) {
	if _, err := os.Stat(dir); err != nil {
		return 0, err
	}
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		if size > seedLimit {
			return fs.SkipAll
		}
		return nil
	})
	return size, err
}

// Remove removes a folder also where Go's module cache made folders read-only.
func Remove(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }() // it was only used to remove dir
	return removeIn(parent, filepath.Base(dir))
}

// removeIn is Remove for a folder of root.
func removeIn(root *os.Root, name string) error {
	if err := root.RemoveAll(name); err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(path, 0o700) // the RemoveAll below reports what cannot be changed
		}
		return err
	})
	return root.RemoveAll(name)
}

// Env returns the value of a variable in an environment of KEY=VALUE; empty: it is not set.
func Env(environ []string, name string) string {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// Passes reports whether the patterns of a pass_env match a variable; a pattern may end in *.
func Passes(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, many := strings.CutSuffix(p, "*")
		return p == name || many && strings.HasPrefix(name, prefix)
	})
}

// HasGo reports whether a base has a Go module.
func HasGo(base *scratch.Base) bool {
	return slices.ContainsFunc(base.Paths(), func(p string) bool { return path.Base(p) == "go.mod" })
}

// Tier returns the tier that was asked for, or the best there is. Only a person can grant "none".
func Tier(asked sandbox.Tier) (sandbox.Tier, error) {
	if asked != "" {
		if !slices.Contains(sandbox.Tiers(), asked) {
			return "", fmt.Errorf("sandbox %s is not available on this machine; %s is", asked, sandbox.Best())
		}
		return asked, nil
	}
	if best := sandbox.Best(); best != sandbox.None {
		return best, nil
	}
	return "", errors.New("no sandbox is available on this machine (no mount namespace, no Landlock); --sandbox none runs the agent unconfined")
}
