package store

// Whether what is stored is still what it was.

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// Verified is what Verify found.
type Verified struct {
	Results int   // actions
	Blobs   int   // outputs, logs, Directory messages
	Bytes   int64 // of both
	Damaged []Damaged
}

// A Damaged is a file of the store that is not what it was, or a result that lacks a blob. A task that needs it runs again.
type Damaged struct {
	Path    string
	Result  bool   // an action, else a blob
	Why     string // in words
	Removed bool
	Err     error // why it was not removed, although that was asked for
}

// Verify reads every blob and action in dir and compares it with its digest, and looks for the blobs that each action
// needs; with remove it removes the damaged ones. Other files are not looked at. Runs may be at work meanwhile.
func Verify(ctx context.Context, dir string, remove bool) (Verified, error) {
	var v Verified
	s := &Store{Dir: dir, ReadOnly: true}
	bad := map[string]bool{} // hashes of damaged blobs
	if err := s.NoLinks(); err != nil {
		return v, err
	}
	each := func(folder string, at func(hash string) string, check func(path, hash string) (int64, string, error), found func()) error {
		top := filepath.Join(dir, folder)
		return filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, fs.ErrNotExist):
				return nil // removed meanwhile, or nothing was stored yet
			case err != nil:
				return err
			case !reapi.IsHash(d.Name()) || p != at(d.Name()):
				return nil // no name of ours: it is never read
			}
			var next error
			if d.IsDir() {
				next = fs.SkipDir
			}
			size, why, err := check(p, d.Name())
			if errors.Is(err, fs.ErrNotExist) {
				return next
			}
			if err != nil {
				why = err.Error()
			}
			found()
			v.Bytes += size
			if why == "" {
				return next
			}
			it := Damaged{Path: p, Result: folder == "actions", Why: why}
			if remove {
				it.Err = s.remove(p)
				it.Removed = it.Err == nil
			}
			if !it.Result && !it.Removed { // another tree may store it again
				bad[d.Name()] = true
			}
			v.Damaged = append(v.Damaged, it)
			return next
		})
	}
	action := func(path, key string) (size int64, why string, err error) {
		if size, why, err = verifyAction(path); why == "" && err == nil {
			why, err = s.lacks(key, bad)
		}
		return size, why, err
	}
	return v, errors.Join(
		each("cas", s.blob, verifyBlob, func() { v.Blobs++ }),
		each("actions", s.actionPath, action, func() { v.Results++ }),
	)
}

// lacks returns what a result needs and does not have, or "". bad has the hashes of damaged blobs.
func (s *Store) lacks(key string, bad map[string]bool) (string, error) {
	r, err := s.Action(key)
	if errors.Is(err, ErrAbsent) {
		return "", fs.ErrNotExist // it was removed meanwhile
	}
	if err != nil {
		return "", err
	}
	needs := slices.Clone(r.Beside)
	if r.Log.Size > 0 {
		needs = append(needs, reapi.File{Digest: r.Log})
	}
	for _, f := range r.Files {
		if !f.Folder && f.Link == "" && !f.Found && !f.Unstored {
			needs = append(needs, f)
		}
	}
	seen := map[string]bool{}
	var lost []string
	for _, f := range needs {
		if hash := f.Digest.Hash; !seen[hash] && (bad[hash] || !s.Has(f.Digest)) {
			seen[hash] = true
			lost = append(lost, hash)
		}
	}
	if len(lost) == 0 {
		return "", nil
	}
	if !recordfile.Exists(s.actionPath(key)) {
		return "", fs.ErrNotExist // and then its blobs were
	}
	const most = 3
	return "it lacks " + english.Count(len(lost), "blob") + ": " + english.List(lost, most), nil
}

// verifyBlob returns the size of a blob, and what is wrong with it.
func verifyBlob(path, hash string) (size int64, why string, err error) {
	f, err := openRegular(path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = f.Close() }() // opened for reading
	got, err := files.CopyHashed(io.Discard, f)
	if err == nil && got.Hash != hash {
		why = "it has other contents than its name says"
	}
	return got.Size, why, err
}

// verifyAction returns the size of an action, and what is wrong with it: its first line is the digest of the rest.
func verifyAction(path string) (size int64, why string, err error) {
	f, err := openRegular(path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = f.Close() }() // opened for reading
	info, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	var line [sha256.Size*2 + 1]byte
	_, err = io.ReadFull(r, line[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return info.Size(), "it is cut", nil
	}
	if err != nil {
		return info.Size(), "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return info.Size(), "", err
	}
	if string(line[:]) != hex.EncodeToString(h.Sum(nil))+"\n" {
		return info.Size(), "it has other contents than its first line says", nil
	}
	return info.Size(), "", nil
}

// openRegular opens a file for reading, and nothing else in its place.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, errors.New("it is a symbolic link")
	}
	if at := (*fs.PathError)(nil); errors.As(err, &at) && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it cannot be read: %w", at.Err)
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("it is not a regular file"), err, f.Close())
	}
	return f, nil
}
