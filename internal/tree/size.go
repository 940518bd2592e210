package tree

import (
	"io/fs"
	"path/filepath"
)

// Size returns the size of the regular files below a folder, in bytes. What cannot be read is not counted.
func Size(dir string) int64 {
	sum := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // not counted
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
