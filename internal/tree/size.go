package tree

import (
	"io/fs"
	"path/filepath"
	"syscall"
)

// Size adds up what files, or folders with all that is below them, have allocated, in bytes: what their removal would free.
// A file with several names counts once, and not at all where it has a name elsewhere; holes do not count, nor does what
// cannot be read.
func Size(paths ...string) (bytes int64) {
	type inode struct{ dev, ino uint64 }
	seen := map[inode]uint64{}
	add := func(_ string, d fs.DirEntry, err error) error {
		if d == nil || err != nil {
			return nil //nolint:nilerr // removed meanwhile, or closed
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // removed meanwhile
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		id := inode{uint64(st.Dev), st.Ino} //nolint:unconvert // a signed type elsewhere
		if st.Nlink > 1 && !d.IsDir() {
			if seen[id]++; seen[id] != uint64(st.Nlink) { //nolint:unconvert // a narrower type elsewhere
				return nil
			}
		}
		bytes += st.Blocks * 512
		return nil
	}
	for _, path := range paths {
		_ = filepath.WalkDir(path, add)
	}
	return bytes
}
