// A base that is kept for the next fix, and the stat data of its files: only what changed since is copied again. A
// base is taken and stored by a rename, so it has one owner at a time. If the owner is killed, Sweep removes it.

package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/packed"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// A known has the stat data of the files of a base when it was last updated. nil is valid and has none.
type known struct {
	Top string
	// boot of the machine; a base from before a reboot is not trusted, since a power cut may have damaged it
	Boot string
	// when the update began, in ns since 1970; a file of the tree that was written later may have changed unnoticed
	Start int64
	Files map[string][]copied // by folder, sorted by name; folders of .git/objects too
}

// knownVersion is the first line of a stored known. The number is increased when a base of an earlier version cannot be
// updated, or its known not be read.
const knownVersion = "async-pipeline base 3\n"

// folder returns the files of one folder, sorted by name.
func (k *known) folder(dir string) []copied {
	if k == nil {
		return nil
	}
	return k.Files[dir]
}

// untouched returns the entry of f if the file has not changed in the tree, whose folder is open as from. Otherwise it
// returns nil.
func (k *known) untouched(from int, was []copied, f leaf) *copied {
	if k == nil || f.link {
		return nil
	}
	c := findCopied(was, f.name)
	if c == nil || c.From == (facts{}) || !tree.Settled(c.From.Mtime, c.From.Ctime, k.Start) ||
		!unchanged(from, f.name, c.From) {
		return nil
	}
	return c
}

// unchanged reports whether name is a regular file with the given stat data.
func unchanged(dir int, name string, was facts) bool {
	var now unix.Stat_t
	return unixat.Stat(dir, name, &now) == nil &&
		now.Mode&unix.S_IFMT == unix.S_IFREG && factsOf(&now) == was
}

// upToDate returns the entry of f if the file has changed neither in the tree (from) nor in the base (to).
func (k *known) upToDate(from, to int, was []copied, f leaf) (copied, bool) {
	c := k.untouched(from, was, f)
	if c == nil || !unchanged(to, f.name, c.To) {
		return copied{}, false
	}
	return *c, true
}

// add adds the result of a treeCopier. prefix is the path of its folders in the base.
func (k *known) add(prefix string, got map[string][]copied) {
	for dir, files := range got {
		at := path.Join(prefix, dir)
		files = append(files, k.Files[at]...) // a new entry comes before the old one of the same name
		slices.SortStableFunc(files, byName)
		k.Files[at] = slices.CompactFunc(files, func(a, b copied) bool { return a.Name == b.Name })
	}
}

// size returns what the files and their folders have allocated, in bytes.
func (k *known) size() int64 {
	sum := int64(len(k.Files)) << 12
	for _, files := range k.Files {
		for _, f := range files {
			sum += f.Blocks << 9
		}
	}
	return sum
}

// sizeFile is a file in a kept base: how much the base has allocated, in bytes, as text.
const sizeFile = "size"

// KeptSize returns how much the base that is kept at dir has allocated, in bytes, as it was stored with the base; ok is
// false where that is not known.
func KeptSize(dir string) (bytes int64, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, sizeFile))
	if err != nil {
		return 0, false
	}
	bytes, err = strconv.ParseInt(string(b), 10, 64)
	return bytes, err == nil && bytes >= 0
}

// trim removes from dir everything that is neither in p nor a path for which keep returns true, so that an updated
// base has nothing that the tree no longer has. It makes folders accessible. In p it marks the files that need not be
// copied because they have not changed in dir either.
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
				i, ok := slices.BinarySearchFunc(want, e.Name(),
					func(f leaf, name string) int { return strings.Compare(f.name, name) })
				if !ok {
					if err := removeTree(filepath.Join(dir, at)); err != nil {
						return nil, err
					}
					continue
				}
				f := &want[i]
				f.kept = f.known != nil && unchanged(fd, f.name, f.known.To)
			}
		}
		return below, nil
	})
	if err == nil && len(closed) > 0 {
		err = &fs.PathError{Op: "open", Path: filepath.Join(dir, closed[0]), Err: fs.ErrPermission}
	}
	return err
}

// trimGit removes everything from a base's .git except the main object store. The rest is small and is made again.
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
			if name := e.Name(); e.IsDir() &&
				(dir == at && name == "objects" || dir != at && (len(name) == 2 || name == "pack")) {
				continue
			}
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// agrees reports whether the files of a base are equal to those of an earlier walk of the tree, which may have more.
func agrees(base, walked *tree.Manifest) bool {
	return !slices.ContainsFunc(tree.Compare(base, walked), func(c tree.Change) bool { return c.Before != nil })
}

// knownFile is only in a base that is kept. It is written last and removed first.
const knownFile = "known"

// newFolder makes a folder below parent, after its stamp. It is the kept base if there is one and nobody else took it,
// else it is empty.
func newFolder(parent, kept string) (string, error) {
	for {
		dir := filepath.Join(parent, "base-"+randomName())
		if _, err := os.Lstat(dir); err == nil {
			continue
		}
		if err := writeStamp(dir); err != nil {
			return "", err
		}
		if kept != "" && os.Rename(kept, dir) == nil {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				return dir, nil
			}
			if err := os.Remove(dir); err != nil { // not a base
				return "", err
			}
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", errors.Join(err, os.Remove(dir+stampSuffix))
		}
		return dir, nil
	}
}

// takeKnown returns the stat data of the base in holder, a copy of the tree at top. If there are none that can be
// trusted, it returns nil and empties the folder.
func takeKnown(holder, top string) (*known, error) {
	k := &known{}
	err := readPacked(filepath.Join(holder, knownFile), k.pack)
	if err != nil || k.Top != top || k.Boot != process.Self().Boot {
		k = nil
	}
	// From here until it is complete again, the base cannot be kept.
	entries, err := os.ReadDir(holder)
	if err != nil {
		return nil, err
	}
	if err := removeTree(filepath.Join(holder, knownFile)); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if k != nil && e.Name() == "tree" && e.IsDir() {
			continue
		}
		if err := removeTree(filepath.Join(holder, e.Name())); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// writePacked writes a new file.
func writePacked(name string, pack func(*packed.Form)) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(packed.Append(nil, pack))
	return errors.Join(err, f.Close())
}

func readPacked(name string, pack func(*packed.Form)) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := packed.Read(b, pack); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// pack writes or reads k; see knownVersion.
func (k *known) pack(f *packed.Form) {
	f.Literal(knownVersion)
	f.Text(&k.Top)
	f.Text(&k.Boot)
	f.Int64(&k.Start)
	dirs := slices.Collect(maps.Keys(k.Files))
	n := f.Count(len(dirs), 1)
	if f.Reading() {
		k.Files = make(map[string][]copied, n)
	}
	for i := range n {
		var dir string
		if !f.Reading() {
			dir = dirs[i]
		}
		f.Text(&dir)
		files := k.Files[dir]
		packed.List(f, &files, func(f *packed.Form, c *copied) { c.pack(f) })
		k.Files[dir] = files
	}
}

func (c *copied) pack(f *packed.Form) {
	f.Text(&c.Name)
	c.From.pack(f)
	c.To.pack(f)
	f.Int64(&c.Blocks)
	packed.Number(f, &c.Mode)
	f.Text(&c.Digest)
	f.Text(&c.Link)
}

func (s *facts) pack(f *packed.Form) {
	packed.Number(f, &s.Dev)
	packed.Number(f, &s.Ino)
	f.Int64(&s.Size)
	f.Int64(&s.Mtime)
	f.Int64(&s.Ctime)
	packed.Number(f, &s.UID)
	packed.Number(f, &s.GID)
}

// newKnown returns a known of a base of top without files.
func newKnown(top string, start int64) *known {
	return &known{
		Top: top, Boot: process.Self().Boot, Start: start,
		Files: map[string][]copied{},
	}
}
