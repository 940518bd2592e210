package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// InUse says whether somebody who is alive works below parent: a folder there has the stamp of a living process, or is too
// young to have one.
func InUse(parent string) (bool, error) {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil { // removed meanwhile
			continue
		}
		made := info.ModTime()
		if known, live := readStamp(filepath.Join(parent, e.Name()), &made); live || !known && time.Since(made) < unstamped {
			return true, nil
		}
	}
	return false, nil
}
