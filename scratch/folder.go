package scratch

import (
	"errors"
	"os"
)

// Folder makes an empty folder at dir, with a stamp beside it, for what stands by a copy and is thrown away with it (a home, a
// TMPDIR, caches). When its maker is killed, Leftovers finds it.
func Folder(dir string) error {
	if err := remove(dir); err != nil {
		return err
	}
	if err := putStamp(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return errors.Join(err, os.Remove(dir+stampSuffix))
	}
	return nil
}
