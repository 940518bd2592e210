package tree

import (
	"io/fs"
	"path/filepath"
	"syscall"
)

// Size adds up what a file, or a folder with all that is below it, has allocated, in bytes: what its removal would free.
// Hard links count once, holes not at all. What cannot be read does not count.
func Size(path string) (bytes int64) {
	type inode struct{ dev, ino uint64 }
	seen := map[inode]bool{}
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
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
			if seen[id] {
				return nil
			}
			seen[id] = true
		}
		bytes += st.Blocks * 512
		return nil
	})
	return bytes
}
