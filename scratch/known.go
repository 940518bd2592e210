// What is known of a base that was kept: how every file stood, so that only what changed since is copied again.

package scratch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A known is how the files of a base stood when it was last brought up to date. nil knows nothing.
type known struct {
	Version int
	Top     string
	Boot    string // which start of the machine: what a power cut left of a base is not trusted
	// ns since 1970: when that began; a file of the tree touched since may have changed unseen
	Start int64
	Files map[string][]copied // by folder, sorted by name; folders of .git/objects too
}

// knownVersion changes when a base of an earlier version cannot be brought up to date.
const knownVersion = 1

// folder returns what is known of one folder, by name.
func (k *known) folder(dir string) []copied {
	if k == nil {
		return nil
	}
	return k.Files[dir]
}

// untouched returns what is known of f, in the folder of the tree that is open as from, when nothing touched it
// there since.
func (k *known) untouched(from int, was []copied, f leaf) *copied {
	if k == nil || f.link {
		return nil
	}
	c := findCopied(was, f.name)
	if c == nil || c.From == (facts{}) || !tree.Settled(c.From.Mtime, c.From.Ctime, k.Start) || !stands(from, f.name, c.From) {
		return nil
	}
	return c
}

// stands reports whether a regular file stands as it did.
func stands(dir int, name string, was facts) bool {
	var now unix.Stat_t
	return unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW) == nil && now.Mode&unix.S_IFMT == unix.S_IFREG && factsOf(&now) == was
}

// still returns what is known of f when nothing touched it since, neither in the tree (from) nor in the base (to).
func (k *known) still(from, to int, was []copied, f leaf) (copied, bool) {
	c := k.untouched(from, was, f)
	if c == nil || !stands(to, f.name, c.To) {
		return copied{}, false
	}
	return *c, true
}

// learn adds what a copying found; prefix is where its folders stand in the base.
func (k *known) learn(prefix string, got map[string][]copied) {
	for dir, files := range got {
		at := path.Join(prefix, dir)
		files = append(files, k.Files[at]...) // what was found first stands behind
		slices.SortStableFunc(files, func(a, b copied) int { return strings.Compare(a.Name, b.Name) })
		k.Files[at] = slices.CompactFunc(files, func(a, b copied) bool { return a.Name == b.Name })
	}
}

// size adds up the files, in bytes.
func (k *known) size() int64 {
	sum := int64(0)
	for _, files := range k.Files {
		for _, f := range files {
			sum += f.To.Size
		}
	}
	return sum
}

// trim removes from the folder at dir what is neither in p nor a name that keep tells, and opens folders that are
// closed: a base that is brought up to date holds nothing that the tree no longer has. In p it notes the files that
// need not be copied, since nothing touched them here either.
func trim(ctx context.Context, dir string, p *plan, keep func(at string) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	folders := make(map[string]bool, len(p.dirs))
	for _, d := range p.dirs {
		folders[d] = true
	}
	closed, err := walkFolders(ctx, root, func(in string, fd int, entries []fs.DirEntry) (below []string, err error) {
		var now unix.Stat_t
		if err := unix.Fstat(fd, &now); err != nil {
			return nil, err
		}
		if now.Mode&0o700 != 0o700 {
			// the mode is narrower on darwin
			if err := unix.Fchmod(fd, uint32(now.Mode&0o777|0o700)); err != nil { //nolint:unconvert
				return nil, err
			}
		}
		want := p.files[in]
		for _, e := range entries {
			at := path.Join(in, e.Name())
			switch {
			case keep(at):
			case e.IsDir() && folders[at]:
				below = append(below, e.Name())
			case e.IsDir():
				if err := removeTree(filepath.Join(dir, at)); err != nil {
					return nil, err
				}
			default:
				i, ok := slices.BinarySearchFunc(want, e.Name(), func(f leaf, name string) int { return strings.Compare(f.name, name) })
				if !ok {
					if err := removeTree(filepath.Join(dir, at)); err != nil {
						return nil, err
					}
					continue
				}
				f := &want[i]
				f.kept = f.known != nil && stands(fd, f.name, f.known.To)
			}
		}
		return below, nil
	})
	if err == nil && len(closed) > 0 {
		err = &fs.PathError{Op: "open", Path: filepath.Join(dir, closed[0]), Err: fs.ErrPermission}
	}
	return err
}

// trimGit leaves of a base's .git only the main store of objects: the rest is small and made anew.
func trimGit(at string) error {
	for _, dir := range []string{at, filepath.Join(at, "objects")} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if name := e.Name(); e.IsDir() && (dir == at && name == "objects" || dir != at && (len(name) == 2 || name == "pack")) {
				continue
			}
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// agrees reports whether the files of a base are those of the tree as somebody walked it.
func agrees(base, walked *tree.Manifest) bool {
	rest := walked.Entries
	for _, e := range base.Entries {
		if e.Mode.IsDir() {
			continue
		}
		for len(rest) > 0 && rest[0].Path < e.Path {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0].Path != e.Path {
			return false
		}
		w := rest[0]
		if w.Mode.Type() != e.Mode.Type() || w.Mode&0o100 != e.Mode&0o100 || w.Digest != e.Digest {
			return false
		}
	}
	return true
}

// manifest returns what the base holds, made of what was copied: nothing is read again.
func (c *copying) manifest() *tree.Manifest {
	count := len(c.folders)
	below := map[string][]folder{}
	for _, f := range c.folders {
		below[path.Dir(f.dir)] = append(below[path.Dir(f.dir)], f)
	}
	for _, files := range c.got {
		count += len(files)
	}
	m := &tree.Manifest{Entries: make([]tree.Entry, 0, count)}
	c.list(m, ".", below)
	return m
}

// list adds what is in dir, in the order of paths: "a", "a-b", "a/c". Files stand by name already, so that only the
// folders are sorted.
func (c *copying) list(m *tree.Manifest, dir string, below map[string][]folder) {
	type step struct {
		key string // of a folder: its name for itself, with a slash for what is in it
		folder
	}
	var steps []step
	for _, f := range below[dir] {
		name := path.Base(f.dir)
		steps = append(steps, step{name, f}, step{name + "/", f})
	}
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.key, b.key) })
	files := c.got[dir]
	for len(files) > 0 || len(steps) > 0 {
		if len(steps) == 0 || len(files) > 0 && files[0].Name < steps[0].key {
			f := files[0]
			files = files[1:]
			m.Entries = append(m.Entries, tree.Entry{Path: path.Join(dir, f.Name), Mode: f.Mode, Size: f.To.Size, Digest: f.Digest, Link: f.Link})
			continue
		}
		s := steps[0]
		steps = steps[1:]
		if strings.HasSuffix(s.key, "/") {
			c.list(m, s.dir, below)
		} else {
			m.Entries = append(m.Entries, tree.Entry{Path: s.dir, Mode: fs.ModeDir | fs.FileMode(s.was.Mode&0o777)})
		}
	}
}
