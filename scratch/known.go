// What is known of a base that was kept: how every file stood, so that only what changed since is copied again.

package scratch

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/process"
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

// Keeping a base between healings: it is taken over and put back by one rename each, so it has one owner at a time,
// and whoever is killed while he owns it leaves it where leftovers are swept.

// knownFile stands in a base that is kept, and only there: it is written last and removed first.
const knownFile = "known"

// newFolder makes a folder below parent, its stamp first: the kept base where there is one and nobody else took it,
// else a new one, empty.
func newFolder(parent, kept string) (string, error) {
	for {
		dir := filepath.Join(parent, "base-"+randomName())
		if _, err := os.Lstat(dir); err == nil {
			continue
		}
		if err := putStamp(dir); err != nil {
			return "", err
		}
		if kept != "" && os.Rename(kept, dir) == nil {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				return dir, nil
			}
			if err := os.Remove(dir); err != nil { // no folder of ours
				return "", err
			}
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", errors.Join(err, os.Remove(dir+stampSuffix))
		}
		return dir, nil
	}
}

// recall returns what is known of the base in holder, of the tree top. nil: nothing that can be trusted, and the
// folder is emptied.
func recall(holder, top string) (*known, error) {
	k := &known{}
	if readKnown(holder, k) != nil || k.Version != knownVersion || k.Top != top || k.Boot != process.Self().Boot {
		k = nil
	}
	// From here on the base is no longer one that could be kept, until it is whole again.
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

func readKnown(holder string, k *known) error {
	f, err := os.Open(filepath.Join(holder, knownFile))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	return gob.NewDecoder(bufio.NewReader(f)).Decode(k)
}

// newKnown begins what is known of a base of top.
func newKnown(top string, start int64) *known {
	return &known{Version: knownVersion, Top: top, Boot: process.Self().Boot, Start: start, Files: map[string][]copied{}}
}

// RemoveBase removes a base that was kept at dir, unless somebody takes it over first.
func RemoveBase(dir string) error {
	gone := dir + ".gone-" + randomName() // nobody takes it over half removed
	if err := os.Rename(dir, gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return removeTree(gone)
}

// What a base holds, for those who judge it and store it.
