// Makes a base from a stored manifest, to verify a fix again.

package scratch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// ErrGone means that a base cannot be made again, because the commit or a content is gone. The message names them.
var ErrGone = errors.New("base_gone")

// A Saved is what a record stores of a base.
type Saved struct {
	Root     string // absolute: the folder of PIPELINE.hcl, as it is now
	Sub      string // its path in the tree at that time (Base.Sub); empty if unknown
	Commit   string // HEAD then, or empty
	Manifest *tree.Manifest
	Content  func(digest string) ([]byte, bool) // returns a content from the record
	Bin      *Bin                               // removes the base and its copies
}

// Restore makes a base with the files of the manifest. Contents come from the record, from the commit, and, for
// ignored folders, from the tree as it is now; each is used only if its digest matches. HEAD and index of the private
// .git are those of the commit, because what was staged is not recorded. All files have the same time. The error is
// ErrGone if something cannot be found any more.
func Restore(ctx context.Context, parent string, s Saved) (_ *Base, err error) {
	m, err := newMaker(ctx, Source{Root: s.Root, Bin: s.Bin})
	if err != nil {
		return nil, err
	}
	b := m.base
	switch {
	case s.Sub != "" && s.Sub != b.Sub:
		return nil, fmt.Errorf("%w: the pipeline's folder was at %q of its work tree, now it is at %q", ErrGone,
			s.Sub, b.Sub)
	case s.Commit != "" && m.repo == nil:
		return nil, fmt.Errorf("%w: it was made in a git work tree, at commit %s, and %s is in none", ErrGone,
			s.Commit, s.Root)
	}
	if s.Commit != "" {
		here, err := m.repo.HasCommit(ctx, s.Commit)
		if err != nil {
			return nil, err
		}
		if !here {
			return nil, fmt.Errorf("%w: git no longer has commit %s; git fetch may bring it back", ErrGone, s.Commit)
		}
		b.Commit = s.Commit
	}
	if err := b.makeFolder(parent, ""); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if err := os.Mkdir(b.Dir, 0o700); err != nil {
		return nil, err
	}
	r := &restorer{base: b, repo: m.repo, saved: s}
	if err := r.files(ctx); err != nil {
		return nil, err
	}
	if b.Manifest, err = tree.Walk(ctx, b.Dir, tree.Options{}); err != nil {
		return nil, err
	}
	if got, want := b.Manifest.Digest(), s.Manifest.Digest(); got != want {
		return nil, fmt.Errorf("%w: what could be made again has digest %s, the record says %s", ErrGone, got, want)
	}
	if m.repo != nil {
		if err := r.git(ctx); err != nil {
			return nil, err
		}
	}
	if err := b.copyRules(); err != nil {
		return nil, err
	}
	b.PointsBack = pointsBack(b, s.Root)
	return b, nil
}

// AtCommit makes a base with the files of a commit, named by its full id. root is the folder of PIPELINE.hcl as it is
// now. The error is ErrGone if git does not have the commit.
func AtCommit(ctx context.Context, parent, root, commit string, bin *Bin) (*Base, error) {
	repo, err := git.Of(ctx, root)
	if err != nil {
		return nil, err
	}
	if here, err := repo.HasCommit(ctx, commit); err != nil || !here {
		return nil, cmp.Or(err, fmt.Errorf("%w: git has no commit %s", ErrGone, commit))
	}
	blobs, err := repo.Blobs(ctx, commit)
	if err != nil {
		return nil, err
	}
	m, folders := &tree.Manifest{}, map[string]bool{}
	err = repo.Contents(ctx, blobs, func(b git.Blob, data []byte) error {
		e := tree.Entry{Path: b.Path, Size: b.Size, Mode: 0o644, Digest: digest.Of(data)}
		switch b.Mode {
		case "100755":
			e.Mode = 0o755
		case "120000":
			e.Mode, e.Link = fs.ModeSymlink|0o777, string(data)
		}
		m.Entries = append(m.Entries, e)
		for dir := path.Dir(b.Path); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
			m.Entries = append(m.Entries, tree.Entry{Path: dir, Mode: fs.ModeDir | 0o755})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(m.Entries, func(a, b tree.Entry) int { return strings.Compare(a.Path, b.Path) })
	none := func(string) ([]byte, bool) { return nil, false }
	return Restore(ctx, parent, Saved{Root: root, Commit: commit, Manifest: m, Content: none, Bin: bin})
}

// A restorer makes a base from a Saved.
type restorer struct {
	base  *Base
	repo  *git.Repo
	saved Saved
	at    *descent  // the base
	time  time.Time // of all files
}

// files writes the files of the manifest. All have the same time, so that make finds them up to date. It is in the
// past, so that a file that is replaced at once gets another second.
func (r *restorer) files(ctx context.Context) (err error) {
	if r.at, err = descend(r.base.Dir); err != nil {
		return err
	}
	defer r.at.close()
	r.at.make, r.time = true, time.Now().Add(-longestTick)
	wanted := map[string]tree.Entry{} // files whose content is still to be found, by path
	for _, e := range r.saved.Manifest.Entries {
		if err := checkPath(e.Path); err != nil {
			return err
		}
		switch {
		case e.Mode.IsDir():
			_, err = r.at.folder(e.Path)
		case e.Mode&fs.ModeSymlink != 0:
			err = r.put(e, []byte(e.Link))
		default:
			data, ok := r.saved.Content(e.Digest)
			if !ok || digest.Of(data) != e.Digest {
				wanted[e.Path] = e
				continue
			}
			err = r.put(e, data)
		}
		if err != nil {
			return fmt.Errorf("scratch copy: %w", err)
		}
	}
	if err := r.fromCommit(ctx, wanted); err != nil {
		return err
	}
	if err := r.fromTree(ctx, wanted); err != nil {
		return err
	}
	if len(wanted) > 0 {
		names := english.List(slices.Sorted(maps.Keys(wanted)), 5)
		return fmt.Errorf("%w: nobody has the contents any more of %s", ErrGone, names)
	}
	return r.modes()
}

// put writes one file or symlink.
func (r *restorer) put(e tree.Entry, data []byte) error {
	dir, err := r.at.folder(path.Dir(e.Path))
	if err != nil {
		return err
	}
	name := path.Base(e.Path)
	if e.Mode&fs.ModeSymlink != 0 {
		err = unix.Symlinkat(string(data), dir, name)
	} else {
		err = r.write(dir, name, e.Mode.Perm(), data)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: the record names %s twice", ErrGone, e.Path)
	case err != nil:
		return &fs.PathError{Op: "write", Path: e.Path, Err: err}
	}
	return nil
}

// write makes a file in an open folder.
func (r *restorer) write(dir int, name string, perm fs.FileMode, data []byte) error {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, name, flags, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(perm), f.Close()); err != nil {
		return err
	}
	at := unix.NsecToTimespec(r.time.UnixNano())
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
}

// fromCommit writes the files that the commit has at the same path.
func (r *restorer) fromCommit(ctx context.Context, wanted map[string]tree.Entry) error {
	if r.base.Commit == "" || len(wanted) == 0 {
		return nil
	}
	blobs, err := r.repo.Blobs(ctx, r.base.Commit)
	if err != nil {
		return err
	}
	blobs = slices.DeleteFunc(blobs, func(b git.Blob) bool {
		e, ok := wanted[b.Path]
		return !ok || e.Size != b.Size
	})
	return r.repo.Contents(ctx, blobs, func(b git.Blob, data []byte) error {
		e := wanted[b.Path]
		if digest.Of(data) != e.Digest {
			return nil
		}
		delete(wanted, b.Path)
		return r.put(e, data)
	})
}

// fromTree writes the files that are unchanged in the tree.
func (r *restorer) fromTree(ctx context.Context, wanted map[string]tree.Entry) error {
	top, err := descend(r.base.Top)
	if err != nil {
		return err
	}
	defer top.close()
	for _, p := range slices.Sorted(maps.Keys(wanted)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := wanted[p]
		f, err := top.file(p, max(e.Size, 1))
		if err != nil || f == nil || !f.Mode.IsRegular() || digest.Of(f.Data) != e.Digest {
			continue //nolint:nilerr // not found there
		}
		delete(wanted, p)
		if err := r.put(e, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// modes sets the permissions of folders, from the deepest up.
func (r *restorer) modes() error {
	for _, e := range slices.Backward(r.saved.Manifest.Entries) {
		if !e.Mode.IsDir() {
			continue
		}
		up, err := r.at.folder(path.Dir(e.Path))
		if err != nil {
			return err
		}
		if err := unix.Fchmodat(up, path.Base(e.Path), uint32(e.Mode.Perm()), 0); err != nil {
			return &fs.PathError{Op: "chmod", Path: e.Path, Err: err}
		}
	}
	return nil
}

// git makes the .git of the base, with HEAD at the commit, and asks it which files belong in a patch.
func (r *restorer) git(ctx context.Context) error {
	b := r.base
	private := privateGit{top: b.Dir}
	whole, err := private.make(ctx, r.repo)
	if err != nil {
		return err
	}
	b.HistoryMissing, b.links = !whole, private.links
	if b.excludes, err = r.repo.ExcludesFile(ctx); err != nil {
		return err
	}
	if !whole {
		config, err := r.repo.Config(ctx, "")
		if err != nil {
			return err
		}
		if err := git.Init(ctx, b.Dir, r.paths(), config); err != nil {
			return err
		}
	}
	own := &git.Repo{Top: b.Dir, Dir: filepath.Join(b.Dir, ".git"), Common: filepath.Join(b.Dir, ".git")}
	if whole && b.Commit != "" {
		if err := own.SetHead(ctx, b.Commit); err != nil {
			return err
		}
	}
	if err := refresh(ctx, b.Dir); err != nil {
		return err
	}
	names, err := own.Census(ctx)
	if err != nil {
		return err
	}
	b.counted, b.tracked = set(names.Files), set(names.Tracked)
	b.Taken = r.taken()
	return nil
}

// paths returns the files and symlinks of the manifest.
func (r *restorer) paths() []string {
	var paths []string
	for _, e := range r.saved.Manifest.Entries {
		if !e.Mode.IsDir() {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// taken returns the topmost folders with ignored files only.
func (r *restorer) taken() []string {
	counts := map[string]bool{}
	for _, p := range r.paths() {
		for dir := path.Dir(p); r.base.counted[p] && dir != "." && !counts[dir]; dir = path.Dir(dir) {
			counts[dir] = true
		}
	}
	found := map[string]bool{}
	for _, p := range r.paths() {
		if r.base.counted[p] {
			continue
		}
		for dir := path.Dir(p); dir != "." && !counts[dir]; dir = path.Dir(dir) {
			if up := path.Dir(dir); up == "." || counts[up] {
				found[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
