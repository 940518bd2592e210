// Package rmtree removes folders whatever the modes of the folders below them are. It follows no symlink below a path.
// Those on the way to it are followed: by In as far as they stay in the root.
package rmtree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// All removes a file, or a folder with everything below it. What is not there is no error.
func All(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	parent, oerr := os.OpenRoot(filepath.Dir(path))
	if oerr != nil {
		return err
	}
	defer func() { _ = parent.Close() }() // what was done in it is done
	return In(parent, filepath.Base(path))
}

// In is All for a name in root.
func In(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		open(root, name)
	}
	return root.RemoveAll(name)
}

// open makes a folder and all folders below it readable and writable. What cannot be changed is reported by the
// removal that follows.
func open(root *os.Root, dir string) {
	_ = root.Chmod(dir, 0o700)
	f, err := root.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	_ = f.Close() // it was only read
	for _, e := range entries {
		if e.IsDir() {
			open(root, dir+"/"+e.Name())
		}
	}
}
