package sandbox

// The mounts of a view: which paths are visible, and which may be changed.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A view collects the mounts of a box. Its paths are without symlinks; tree and copy are empty if the box has no copy.
type view struct {
	Box
	command Command
	tree    string
	copy    string
	covers  []cover
	mounts  []mount
}

// A cover is a folder of the machine that a private mount hides.
type cover struct {
	given string
	at    string // without symlinks
	from  string // empty: a new file system in memory
}

func newView(b Box, c Command) *view {
	v := &view{Box: b, command: c, tree: Resolved(b.Tree), copy: Resolved(b.Copy)}
	if b.Tmp != "" {
		v.covers = append(v.covers, cover{"/tmp", Resolved("/tmp"), Resolved(b.Tmp)})
	}
	// What a command leaves in memory must not reach another command, nor the machine.
	if shm := Resolved("/dev/shm"); isDir(shm) {
		v.covers = append(v.covers, cover{"/dev/shm", shm, ""})
	}
	return v
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (v *view) fill() error {
	for _, c := range v.covers {
		v.mounts = append(v.mounts, mount{From: c.from, At: c.at})
	}
	if v.Tree == "" || v.tree == v.copy {
		v.tree, v.copy = "", ""
	} else {
		if v.tree == "/" || slices.ContainsFunc(v.covers,
			func(c cover) bool { _, holds := below(v.tree, c.at); return holds }) {
			return fmt.Errorf("a copy cannot stand at %s in tier %s: ask for tier %s", v.Tree, View, Fence)
		}
		m := mount{From: v.copy, At: v.tree}
		if v.Base != "" {
			m = mount{At: v.tree, Lower: []string{Resolved(v.Base)}, Upper: v.copy, Work: Resolved(v.Work)}
		}
		v.add(m)
		if given := v.underCover(filepath.Clean(v.Tree)); given != v.tree && v.covered(v.hider(given)) {
			// the private /tmp hides the symlinks on its way
			v.add(mount{From: v.tree, At: given, Optional: true, Inside: true})
		}
	}
	v.open()
	for _, o := range v.Layers {
		m := mount{At: v.underCover(Resolved(o.At)), Upper: Resolved(o.Upper), Work: Resolved(o.Work)}
		m.Within = v.hider(m.At)
		for _, l := range o.Lower {
			m.Lower = append(m.Lower, Resolved(l))
		}
		v.mounts = append(v.mounts, m)
	}
	for _, p := range v.Write {
		v.show(p, false)
	}
	for _, p := range v.Read {
		v.show(p, true)
	}
	if v.Base == "" {
		v.keep(v.Copy)
	}
	for _, p := range []string{v.Tmp, v.Home, v.command.Dir} {
		v.keep(p)
	}
	for _, p := range filepath.SplitList(lookupEnv(v.command.Env, "PATH")) {
		if filepath.Base(p) == "bin" {
			v.keep(filepath.Dir(p)) // the programs of a toolchain need the folders beside bin
		}
		v.keep(p)
	}
	for _, p := range v.command.Argv {
		v.keep(p)
	}
	// Outer before inner, so that the copy covers a tree below something else that is shown.
	slices.SortStableFunc(v.mounts, func(a, b mount) int {
		return strings.Count(a.At, "/") - strings.Count(b.At, "/")
	})
	return nil
}

// open mounts writable paths at their own place, because everything else becomes read-only.
func (v *view) open() {
	var paths []string
	for _, p := range v.writable() {
		if p != v.Copy || v.Base == "" { // what is shown through an overlay is changed through that only
			paths = append(paths, Resolved(p))
		}
	}
	for _, p := range outermost(paths) {
		if p != "/" && p != v.tree && v.hider(p) == "" && !v.covered(p) {
			v.add(mount{From: p, At: p})
		}
	}
}

// keep shows a path, read-only, that the private /tmp would hide. Paths inside the tree are left to the copy.
func (v *view) keep(path string) {
	if path == "" || !filepath.IsAbs(path) || v.inTree(path) {
		return
	}
	v.show(path, true)
}

// show makes a path visible that /tmp or the copy would hide, by its given name and by its real one.
func (v *view) show(path string, readOnly bool) {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // it does not exist
	}
	from := real
	if rel, ok := below(v.tree, real); ok && v.tree != "" && !v.inTree(path) {
		// A link from outside into the tree leads to the file of the copy.
		if at := v.underCover(path); v.hider(at) != "" {
			v.add(mount{From: filepath.Join(v.tree, rel), At: at, Optional: true, Inside: true})
		}
		return
	}
	v.place(from, real, readOnly, false)
	if path != real {
		v.place(from, path, readOnly, true)
	}
}

func (v *view) place(from, at string, readOnly, alias bool) {
	at = v.underCover(at)
	if at == v.tree || v.hider(at) == "" {
		return // the copy is there, or the path is visible anyway
	}
	if _, holds := below(from, v.tree); holds && v.tree != "" && at != from {
		return // the tree would be visible under another name
	}
	v.add(mount{From: from, At: at, ReadOnly: readOnly && !v.mayWrite(from), Optional: alias})
}

// underCover returns path with a cover's given name replaced by its real one: /tmp itself may be a symlink.
func (v *view) underCover(path string) string {
	for _, c := range v.covers {
		if rel, ok := below(c.given, path); ok {
			return filepath.Join(c.at, rel)
		}
	}
	return path
}

func (v *view) covered(at string) bool {
	return slices.ContainsFunc(v.covers, func(c cover) bool { return c.at == at })
}

func (v *view) add(m mount) {
	m.Within = v.hider(m.At)
	for i, old := range v.mounts {
		if old.At == m.At {
			v.mounts[i].ReadOnly = old.ReadOnly && m.ReadOnly
			v.mounts[i].Optional = old.Optional && m.Optional
			return
		}
	}
	v.mounts = append(v.mounts, m)
}

// hider returns the mount point that hides a path in the view: the tree, /tmp or /dev/shm; empty if none does.
func (v *view) hider(at string) string {
	hiders := []string{v.tree}
	for _, c := range v.covers {
		hiders = append(hiders, c.at)
	}
	for _, h := range hiders {
		if h == "" || h == at {
			continue
		}
		if _, ok := below(h, at); ok {
			return h
		}
	}
	return ""
}

func (v *view) inTree(path string) bool {
	if v.tree == "" {
		return false
	}
	_, asGiven := below(v.Tree, path)
	_, asIs := below(v.tree, path)
	return asGiven || asIs
}

// mayWrite reports whether a real path is inside a folder that the box may write.
func (v *view) mayWrite(real string) bool {
	return slices.ContainsFunc(v.writable(), func(p string) bool {
		_, ok := below(Resolved(p), real)
		return ok
	})
}

// The mounts of a view, made by the inner process in its own namespace.

// A clone is a detached mount. It is made before anything is hidden, and attached afterwards.
type clone struct {
	mount
	fd    int
	isDir bool
}

func mountView(s spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &refusal{"cannot make mounts private: " + err.Error(), true}
	}
	clones := make([]clone, 0, len(s.Mounts))
	defer func() {
		for _, c := range clones {
			_ = unix.Close(c.fd)
		}
	}()
	for _, m := range s.Mounts {
		if m.Inside {
			continue
		}
		c, err := m.clone()
		if err != nil {
			return err
		}
		clones = append(clones, c)
	}
	// Landlock does not prevent changes of modes, owners and times. The mounts cloned above stay as they are, and
	// devices, pipes and sockets can be written through a read-only mount.
	if !s.Open {
		ro := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &ro); err != nil {
			return &refusal{"cannot make what lies outside read-only: " + err.Error(), true}
		}
	}
	for _, c := range clones {
		if err := c.attach(); err != nil && (!c.Optional || !errors.Is(err, unix.ELOOP)) {
			return err
		}
	}
	for _, m := range s.Mounts {
		if !m.Inside {
			continue
		}
		c, err := m.clone()
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err == nil {
			err = c.attach()
			_ = unix.Close(c.fd)
		}
		if err != nil && (!c.Optional || !errors.Is(err, unix.ELOOP)) {
			return err
		}
	}
	return nil
}

func (m mount) clone() (clone, error) {
	if m.Upper != "" {
		fd, err := m.overlay()
		if err != nil {
			return clone{}, fmt.Errorf("cannot make the overlay at %s: %w", m.At, err)
		}
		return clone{m, fd, true}, nil
	}
	if m.From == "" {
		fd, err := memory()
		if err != nil {
			return clone{}, m.failed("make a file system in memory for", m.At, err)
		}
		return clone{m, fd, true}, nil
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, m.From, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return clone{}, m.failed("take", m.From, err)
	}
	if m.ReadOnly {
		ro := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &ro); err != nil {
			_ = unix.Close(fd)
			return clone{}, m.failed("protect", m.From, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return clone{}, m.failed("look at", m.From, err)
	}
	return clone{m, fd, st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// memory makes a file system in memory for /dev/shm, which does not outlive the command.
func memory() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(fs) }()
	for _, kv := range [][2]string{{"mode", "1777"}, {"size", "1g"}} {
		if err := unix.FsconfigSetString(fs, kv[0], kv[1]); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

func (c clone) attach() error {
	at, err := c.open()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	err = unix.MoveMount(c.fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return c.failed("show "+c.From+" at", c.At, err)
	}
	return nil
}

// open opens the mount point, and makes it if it is missing. No symlink is followed: an earlier command may have made
// one in the private /tmp or in the copy.
func (c clone) open() (int, error) {
	fd, err := openPlain(c.At, unix.O_PATH)
	if rel, ok := below(c.Within, c.At); ok && errors.Is(err, unix.ENOENT) {
		if err := c.make(rel); err != nil {
			return -1, c.failed("make", c.At, err)
		}
		fd, err = openPlain(c.At, unix.O_PATH)
	}
	if err != nil {
		return -1, c.failed("show "+c.From+" at", c.At, err)
	}
	return fd, nil
}

// make makes the folders of rel below c.Within, and an empty folder or file at its end.
func (c clone) make(rel string) error {
	dir := c.Within
	names := strings.Split(rel, "/")
	for i, name := range names {
		parent, err := openPlain(dir, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		if i < len(names)-1 || c.isDir {
			err = unix.Mkdirat(parent, name, 0o700)
		} else {
			err = unix.Mknodat(parent, name, unix.S_IFREG|0o600, 0)
		}
		_ = unix.Close(parent)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		dir = filepath.Join(dir, name)
	}
	return nil
}

func openPlain(path string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// failed returns a refusal if the machine does not support a mount, and an ordinary error if the box is wrong.
func (m mount) failed(what, path string, err error) error {
	text := fmt.Sprintf("cannot %s %s: %v", what, path, err)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS):
		return &refusal{text, true}
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("cannot %s %s: a symlink stands in the way: %w", what, path, err)
	}
	return fmt.Errorf("cannot %s %s: %w", what, path, err)
}
