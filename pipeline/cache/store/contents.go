package store

// How contents of files come from a tree into the store and back, and how many files are handled at once.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

const (
	mostInPart  = 64 // files that one worker takes before another may take more of their folder
	mostWorkers = 4
)

// inParts calls do with parts of all, which is sorted by path, from several workers. A part has files of one folder. The
// error is the first one.
func inParts(all []reapi.File, do func(some []reapi.File) error) error {
	var work tree.Stack[[]reapi.File]
	parts := 0
	for len(all) > 0 {
		n := 1
		for n < min(len(all), mostInPart) && path.Dir(all[n].Path) == path.Dir(all[0].Path) {
			n++
		}
		work.Push(all[:n])
		all = all[n:]
		parts++
	}
	var workers sync.WaitGroup
	for range min(parts, max(2, runtime.GOMAXPROCS(0)), mostWorkers) {
		workers.Go(func() {
			work.Work(func(some []reapi.File, stopped bool) error {
				if stopped {
					return nil
				}
				return do(some)
			})
		})
	}
	workers.Wait()
	return work.Err()
}

// PutFiles stores the contents of files below root. All are read through check, also those that the store has; where check
// is nil these are not read.
func (s *Store) PutFiles(all []reapi.File, root string, check func(io.Reader) io.Reader) error {
	return inParts(all, func(some []reapi.File) error {
		for _, f := range some {
			if check == nil && s.Has(f.Digest) {
				continue
			}
			if err := s.putFile(f, root, check); err != nil {
				return fmt.Errorf("output %s: %w", f.Path, err)
			}
		}
		return nil
	})
}

func (s *Store) putFile(f reapi.File, root string, check func(io.Reader) io.Reader) error {
	file, err := os.Open(filepath.Join(root, filepath.FromSlash(f.Path)))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // opened for reading
	if check == nil {
		return s.write(f.Digest, file)
	}
	if s.Has(f.Digest) {
		_, err := io.Copy(io.Discard, check(file))
		return err
	}
	return s.write(f.Digest, check(file))
}

// Extract writes files to their places in root, whose folders are there.
func (s *Store) Extract(all []reapi.File, root *os.Root) error {
	return inParts(all, func(some []reapi.File) error { return s.extract(some, root) })
}

// extract is Extract for files of one folder.
func (s *Store) extract(all []reapi.File, root *os.Root) error {
	dir, err := root.OpenRoot(path.Dir(all[0].Path))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for _, f := range all {
		if err := s.extractFile(f, dir); err != nil {
			return err
		}
	}
	return nil
}

// extractFile writes a file under a temporary name in its folder and renames it.
func (s *Store) extractFile(f reapi.File, dir *os.Root) (err error) {
	from, err := os.Open(s.blob(f.Digest.Hash))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrAbsent
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	perm := fs.FileMode(0o666)
	if f.Executable {
		perm = 0o777
	}
	if f.Mode != 0 {
		perm &= f.Mode | 0o700
	}
	temp := process.TempName(files.TempPrefix) + strconv.FormatUint(extracted.Add(1), 36)
	to, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(temp)
		}
	}()
	got, err := files.CopyHashed(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if got != f.Digest {
		_ = os.Remove(from.Name())
		return ErrDamaged
	}
	return dir.Rename(temp, path.Base(f.Path))
}

// extracted counts the files of this process, for their temporary names.
var extracted atomic.Uint64
