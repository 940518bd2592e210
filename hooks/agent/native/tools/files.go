package tools

// Files of the copy. Opening one never blocks, and a file is written whole or not at all.

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// maxWhole is the largest file that is read as a whole, in bytes: to edit it, to search it, or to write over it.
const maxWhole = 16 << 20

// A state is the digest of a file's content as the model knows it.
type state [sha256.Size]byte

// open opens a regular file to read. Other files are refused before they are opened: a pipe would block.
func (w *Toolset) open(at string) (*os.File, fs.FileInfo, error) {
	info, err := w.root.Lstat(at)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %s", w.shown(at), why(err))
	}
	if err := w.isFile(at, info); err != nil {
		return nil, nil, err
	}
	f, err := w.root.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe meanwhile
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %s", w.shown(at), why(err))
	}
	info, err = f.Stat()
	if err == nil {
		err = w.isFile(at, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func (w *Toolset) isFile(at string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a folder, not a file: list shows what is in it", w.shown(at))
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symlink now: try again", w.shown(at))
	default:
		return fmt.Errorf("%s is not a file but a pipe, a socket or a device", w.shown(at))
	}
}

// whole reads a file that is to be changed.
func (w *Toolset) whole(at string) ([]byte, fs.FileInfo, error) {
	f, info, err := w.open(at)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxWhole+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %s", w.shown(at), why(err))
	}
	if len(b) > maxWhole {
		return nil, nil, fmt.Errorf("%s has more than %s: too large to be changed by write or edit", w.shown(at),
			english.Size(maxWhole))
	}
	return b, info, nil
}

// save writes a file elsewhere and moves it into place. The mode of an old file is kept.
func (w *Toolset) save(at string, content []byte, old fs.FileInfo) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s could not be written: %s", w.shown(at), why(err))
		}
	}()
	if err := w.root.MkdirAll(path.Dir(at), 0o777); err != nil {
		return err
	}
	apart, err := w.apart(at, content, old)
	if err != nil {
		return err
	}
	err = w.root.Rename(apart, at)
	w.tidy(apart)
	if err != nil {
		return err
	}
	w.changed(at)
	return nil
}

// ourFolder is the folder of the copy in which nothing counts as a change: what a killed process leaves there is in
// no patch.
const ourFolder = ".async"

// apart writes a new file in our folder and returns its path.
func (w *Toolset) apart(at string, content []byte, old fs.FileInfo) (string, error) {
	if info, err := w.root.Lstat(ourFolder); err == nil && !info.IsDir() {
		_ = w.root.Remove(ourFolder) // the agent's commands made it, and it might lead to a place that counts
	}
	if err := w.root.Mkdir(ourFolder, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	apart := path.Join(ourFolder, "unfinished-"+rand.Text())
	f, err := w.root.OpenFile(apart, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil && old != nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil && old != nil && patch.IsSource(at) {
		err = patch.TellApart(f, content, old)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		w.tidy(apart)
		return "", err // the first error tells
	}
	return apart, nil
}

// tidy removes what apart made. Our folder stays if there is anything else in it.
func (w *Toolset) tidy(apart string) {
	_ = w.root.Remove(apart) // it is gone where it was moved to its place
	_ = w.root.Remove(ourFolder)
}

// know records what the model knows of a file from now on.
func (w *Toolset) know(at string, s state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read[at] = s
}

// known returns what the model knows of a file, if it was shown the file.
func (w *Toolset) known(at string) (state, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.read[at]
	return s, ok
}

func (w *Toolset) forget(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.read, at)
}

// lineCount counts lines. Text after the last line end is a line too.
func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// binary reports whether content is not text: it has a NUL byte near its beginning, which is git's rule.
func binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}
