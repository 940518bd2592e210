package hooks

import (
	"crypto/rand"
	"errors"
	"io"
	"os"

	"github.com/async-pipeline/async-pipeline/internal/advice"
)

// reserved is how much of the disk is kept free for the record of a fix, in bytes: it tells what happened also where
// something has filled the disk meanwhile.
const reserved = 256 << 10

// reserveSpace writes a file in dir, which the caller closes just before it writes the record. The file has no name, so it
// is gone then, at the latest with this process. No file system can compress what is in it.
func reserveSpace(dir string) (f *os.File, err error) {
	if f, err = os.CreateTemp(dir, ".tmp-*"); err != nil {
		return nil, advice.Writing(err, dir)
	}
	_, err = io.CopyN(f, rand.Reader, reserved)
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, advice.Writing(errors.Join(err, f.Close()), dir)
	}
	return f, nil
}
