package sandbox

// Overlays: several folders shown as one, see Documentation/filesystems/overlayfs.rst of Linux.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/rmtree"
)

// overlay makes the file system of an overlay and returns it as a detached mount. It uses extended attributes of the
// name space "user", the only ones that an ordinary user may set; so a folder is not renamed but copied (rename fails
// with EXDEV, as between file systems). It is volatile: otherwise its end writes everything to the disk that anybody
// has written to the file system of the upper folder, and waits for it.
func (m mount) overlay() (int, error) {
	// A volatile overlay leaves a mark that refuses the next one, because the machine may have crashed in between. What
	// is here is looked at by nobody after a crash, but as it is.
	if err := os.RemoveAll(filepath.Join(m.Work, "work", "incompat")); err != nil {
		return -1, err
	}
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(fs) }()
	var fds []int
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	// A path is given as that of a descriptor: the kernel takes at most 255 bytes, and a colon separates layers.
	name := func(path string) (string, error) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		fds = append(fds, fd)
		return fmt.Sprintf("/proc/self/fd/%d", fd), nil
	}
	var lower []string
	for _, l := range m.Lower {
		n, err := name(l)
		if err != nil {
			return -1, err
		}
		lower = append(lower, n)
	}
	upper, err := name(m.Upper)
	if err != nil {
		return -1, err
	}
	work, err := name(m.Work)
	if err != nil {
		return -1, err
	}
	for _, kv := range [][2]string{{"lowerdir", strings.Join(lower, ":")}, {"upperdir", upper}, {"workdir", work}} {
		if err := unix.FsconfigSetString(fs, kv[0], kv[1]); err != nil {
			return -1, fmt.Errorf("%s: %w", kv[0], err)
		}
	}
	for _, flag := range []string{"userxattr", "volatile"} {
		if err := unix.FsconfigSetFlag(fs, flag); err != nil {
			return -1, fmt.Errorf("%s: %w", flag, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// TryOverlay returns why an overlay of the folders lower, which may be none, with an upper folder below dir cannot be
// had here; nil: it can. What it makes in dir it removes.
func TryOverlay(dir string, lower ...string) error {
	if err := Why(View); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(dir, process.TempName(OverlayProbe))
	if err != nil {
		return err
	}
	// The kernel's folder below Work has no permissions at all, and something in it. What cannot be removed is left to gc.
	defer func() { _ = rmtree.All(temp) }()
	o := Overlay{At: filepath.Join(temp, "upper"), Upper: filepath.Join(temp, "upper"), Work: filepath.Join(temp, "work")}
	o.Lower = append(slices.Clone(lower), filepath.Join(temp, "lower"))
	for _, p := range append(o.Lower[len(lower):], o.Upper, o.Work) {
		if err := os.Mkdir(p, 0o700); err != nil {
			return err
		}
	}
	res, err := Box{Tier: View, Write: []string{temp}, Layers: []Overlay{o}}.Run(context.Background(),
		Command{Argv: []string{"true"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("true exited %d in it", res.ExitCode)
	}
	return err
}
