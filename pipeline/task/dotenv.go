package task

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxDotenv is the size limit of a dotenv file, in bytes.
const maxDotenv = 1 << 20

// dotenv sets the variables of the task's dotenv files; the later file wins. A missing file is skipped: it is usually one
// person's own and not in the repository.
func (b *builder) dotenv(dir string) error {
	for _, file := range b.t.Dotenv {
		text, err := readDotenv(onDisk(dir, b.box), file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("task %q has dotenv = %q: %w", b.t.Name, file, err)
		}
		set, err := parseDotenv(file, text)
		if err != nil {
			return fmt.Errorf("task %q: %w", b.t.Name, err)
		}
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if !b.box.Secrets && b.r.secret(name, set[name]) {
				b.hold(name)
				continue
			}
			b.set(name, set[name], file)
		}
	}
	return nil
}

// readDotenv reads a regular file below root. It follows no link out of root and does not block on a pipe. The error is
// fs.ErrNotExist where there is no such file.
func readDotenv(root, file string) ([]byte, error) {
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil, errors.New("it is not inside the root: write a path relative to the folder of PIPELINE.hcl")
	}
	in, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	f, err := in.OpenFile(path.Clean(file), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case errors.Is(err, fs.ErrPermission):
		return nil, errors.New("you may not read it: change its mode")
	case err != nil:
		return nil, fmt.Errorf("it cannot be opened inside the root (a link must not lead out of it): %w", errors.Unwrap(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file: name a file of NAME=VALUE lines")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDotenv+1))
	if err == nil && len(text) > maxDotenv {
		err = fmt.Errorf("it has more than %d bytes: name a file of NAME=VALUE lines", maxDotenv)
	}
	return text, err
}

// parseDotenv parses a dotenv file. A ${NAME} is a variable that the same file set above, never one of the environment. Errors
// have file and line and never quote the file, which may contain secrets. It refuses what other tools read in different ways, and
// values that grow without limit: it parses in our process what an agent may have written. (github.com/joho/godotenv accepts all of
// these, expands from the environment, and quotes the file in its errors.)
func parseDotenv(file string, text []byte) (map[string]string, error) {
	s := &dotenvParser{text: bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n")), set: make(map[string]string)}
	if err := s.all(); err != nil {
		return nil, fmt.Errorf("%s:%s: %w", file, s.place(), err)
	}
	for name, value := range s.set {
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("%s: the value of %s contains a NUL byte, which no program can be given", file, name)
		}
	}
	return s.set, nil
}
