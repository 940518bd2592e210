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

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Homes are the folders of one hook. Three kinds of build caches never mix: what checks of the person's own code
// filled, what agents filled, and what one verification filled. The last two see the first and never change it,
// because patched code could write what the next check reads.
type Homes struct {
	Places
	Task    *pipeline.Task // the failed one: its environment tells where build caches are
	Environ []string       // the person's, KEY=VALUE
	Box     sandbox.Box    // what all boxes have in common
	Bin     *scratch.Bin   // removes what is thrown away
	Since   time.Time      // when the failed run began
	// the tree has a Go module: only then is the person's build cache of use, which may be large
	Go bool
	// a copy whose changes are nowhere else could not be moved: Close leaves the folders of an agent task
	Stay bool

	held     string            // an empty folder in Work, so that nobody removes that as empty
	throws   map[string]int    // throw-away folders made so far, by kind
	noLayers error             // why build caches are copied: overlays cannot be had; nil: they can
	own      map[string]string // the person's caches when the hook began: one that appears later has no folder in check
	check    Caches            // of the reproduction, once it is asked for
	copying  stopwatch
	layered  bool  // a copy was made as an overlay
	plain    error // why the last plain copy was not made as an overlay; nil: there was none

	open func(sandbox.Box) (*os.Root, error) // nil: OpenCopy
}

// Copying does a part of the work with copies and caches: makes, reads, writes or removes them. The error tells what
// became of the disk or of the folder, where that is why.
func (h *Homes) Copying(do func() error) error {
	defer h.copying.start()()
	return h.explain(do())
}

// explain adds to err that there was no room, or that somebody removed the folder of the copies.
func (h *Homes) explain(err error) error {
	if err != nil && h.held != "" && !recordfile.Exists(h.held) {
		return fmt.Errorf("the folder of the copies, %s, was removed meanwhile: %w", h.Work, err)
	}
	return advice.NoSpace(err, h.Work)
}

// CopyTime returns how long copies and caches were worked on so far. No agent is charged for it.
func (h *Homes) CopyTime() time.Duration { return h.copying.total() }

// Copies tells how the copies were made: "overlay", "plain" or "both"; empty: none was made. why tells why some are
// plain.
func (h *Homes) Copies() (made string, why error) {
	switch {
	case h.layered && h.plain != nil:
		return "both", h.plain
	case h.layered:
		return "overlay", nil
	case h.plain != nil:
		return "plain", h.plain
	}
	return "", nil
}

// Open makes the folders, removes what an earlier hook left in them, and marks them as used by root. What is kept for
// other roots is removed in the background if it is beyond the limits. The caller holds heal.lock.
func (h *Homes) Open(root string) (err error) {
	defer func() { err = h.explain(err) }()
	if h.apart() {
		return h.openApart()
	}
	if err := os.MkdirAll(h.Kept, 0o700); err != nil {
		return fmt.Errorf("folder for scratch copies: %w", err)
	}
	if err := h.hold(); err != nil {
		return fmt.Errorf("folder for scratch copies: %w", err)
	}
	size, _ := (&Kept{Dir: h.Kept}).cacheSize()
	errs := []error{h.removeKept(oldAgent), h.markUsed(root), h.Bin.Do(h.evict)}
	if size > mostCaches {
		errs = append(errs, h.removeKept(keptCaches))
	}
	return errors.Join(append(errs, h.layer())...)
}

// heldKind begins the name of the folder that hold makes; holds is how often it tries.
const (
	heldKind = "held"
	holds    = 3
)

// hold makes Work, with something in it. Between the two another process may remove it: one that ends, or gc.
func (h *Homes) hold() error {
	for n := 1; ; n++ {
		err := os.MkdirAll(h.Work, 0o700)
		if err == nil {
			err = h.clear()
		}
		if err == nil {
			h.held, err = h.ThrowAway(heldKind)
		}
		if !errors.Is(err, fs.ErrNotExist) || n == holds {
			return err
		}
	}
}

// Inside reports whether path is dir or below it.
func Inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// ThrowAway makes an empty folder. Close removes it, or the next runner, if this one is killed.
func (h *Homes) ThrowAway(kind string) (string, error) {
	if h.throws == nil {
		h.throws = map[string]int{}
	}
	h.throws[kind]++
	dir := filepath.Join(h.Work, fmt.Sprintf("%s-%d", kind, h.throws[kind]))
	return dir, scratch.Folder(dir)
}

// Copy makes a copy of base in the folder name of Work. Where overlays can be had nothing is copied, and only a box
// has its files. here asks for a copy that sandbox.Box.OpenCopy can open too.
func (h *Homes) Copy(ctx context.Context, base *scratch.Base, name string, here bool) (*scratch.Copy, error) {
	defer h.copying.start()()
	c, err := h.copy(ctx, base, filepath.Join(h.Work, name), here)
	return c, h.explain(err)
}

// copy makes a copy in the folder at, see Copy.
func (h *Homes) copy(ctx context.Context, base *scratch.Base, at string, here bool) (*scratch.Copy, error) {
	if h.noLayers != nil {
		h.plain = h.noLayers
		return base.Copy(ctx, at)
	}
	c, err := base.Layer(at)
	if err == nil && here {
		if why := h.opens(base, c); why != nil {
			h.plain = fmt.Errorf("the agent works from this program, which cannot open an overlay: %w", why)
			if err := c.Close(); err != nil {
				return nil, err
			}
			return base.Copy(ctx, at)
		}
	}
	h.layered = true
	return c, err
}

// opens returns why a layered copy cannot be opened outside of boxes; nil: it can.
func (h *Homes) opens(base *scratch.Base, c *scratch.Copy) error {
	open := sandbox.Box.OpenCopy
	if h.open != nil {
		open = h.open
	}
	root, err := open(sandbox.Box{Copy: c.Dir, Base: base.Dir, Work: c.Work, Hook: h.Box.Hook})
	if err != nil {
		return err
	}
	return root.Close()
}

// CheckBox returns the box for checks in a copy. HOME is the person's, and can only be read.
func (h *Homes) CheckBox(base *scratch.Base, c *scratch.Copy, caches Caches) (sandbox.Box, error) {
	box := h.Box
	tmp, err := h.ThrowAway("tmp")
	if err != nil {
		return box, h.explain(err)
	}
	box.Tree, box.Copy, box.Tmp = base.Top, c.Dir, tmp
	if c.Work != "" {
		box.Base, box.Work = base.Dir, c.Work
	}
	box.Write, box.Layers = []string{caches.Dir}, caches.present()
	box.Read = h.readable()
	box.Env = append(h.cacheEnv(caches.Dir), gitEnv(nil)...)
	return box, nil
}

// AgentBox returns the box for an agent in a copy. HOME is its own, and empty. filters are git's, see gitEnv.
func (h *Homes) AgentBox(base *scratch.Base, c *scratch.Copy, caches Caches, filters [][2]string) (sandbox.Box, error) {
	box, err := h.CheckBox(base, c, caches)
	if err != nil {
		return box, err
	}
	box.Home, err = h.ThrowAway("home")
	box.Write = append(box.Write, box.Home)
	box.Env = append(h.cacheEnv(caches.Dir), gitEnv(filters)...)
	return box, h.explain(err)
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

// modules returns the person's Go module cache; empty: not known.
func (h *Homes) modules() string {
	if mod := h.personal("GOMODCACHE", ""); mod != "" {
		return mod
	}
	if path := filepath.SplitList(h.personal("GOPATH", "go")); len(path) > 0 {
		return filepath.Join(path[0], "pkg", "mod")
	}
	return ""
}

// downloads returns the person's Go download cache; empty: there is none.
func (h *Homes) downloads() string {
	mod := h.modules()
	d := filepath.Join(mod, "cache", "download")
	if info, err := os.Stat(d); mod == "" || err != nil || !info.IsDir() {
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

// Close removes the throw-away folders, and in the background what is kept beyond the limits.
func (h *Homes) Close() error {
	if h.apart() {
		return h.closeApart()
	}
	err := errors.Join(h.clear(), h.Bin.Do(func() error { return errors.Join(h.measure(), h.evict()) }))
	h.held = ""
	h.Bin.RemoveEmpty(h.Work)
	return err
}

// removeKept removes a folder of the kept one, and what is known of its size.
func (h *Homes) removeKept(name string) error {
	if h.apart() { // nothing is kept
		return nil
	}
	dir := filepath.Join(h.Kept, name)
	if !recordfile.Exists(dir) {
		return nil
	}
	if err := os.Remove(filepath.Join(h.Kept, sizeFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return h.Bin.RemoveBy(dir, h.Work)
}

// clear removes the throw-away folders.
func (h *Homes) clear() error {
	errs := []error{h.removeKept(filepath.Join(keptCaches, goBuild))}
	entries, err := os.ReadDir(h.Work)
	errs = append(errs, err)
	for _, e := range entries {
		kind, _, _ := strings.Cut(e.Name(), "-")
		if e.IsDir() && (kind == "caches" || kind == "home" || kind == "tmp" || kind == heldKind) {
			errs = append(errs, h.Bin.Remove(filepath.Join(h.Work, e.Name())))
		}
	}
	return errors.Join(errs...)
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

// Lookup returns Env of one environment.
func Lookup(environ []string) func(name string) string {
	return func(name string) string { return Env(environ, name) }
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
