// Package store keeps results of tasks by their keys, and the contents that belong to them by their digests. It may be
// deleted at any moment, also while a run is at work; the worst is that a task runs again. What is read is compared with
// its digest: what is damaged counts as absent, and is removed.
//
//	cas/<2 hex>/<sha256>    blobs by content: outputs, logs, Directory messages
//	cas/<2 hex>/.<sha256>*  one that is being written
//	actions/<2 hex>/<key>   a result: its sha256 in hexadecimal, a line end, an ActionResult; written last
//	.gitignore              keeps git out
//
// Nothing is synced: what a power cut damages is found when it is read. A result whose blobs are gone is of no use, and a
// blob that no result needs stays until Collect removes it. The other files of the folder belong to pipeline/cache.
package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/rmtree"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// A Store is such a folder. Several processes and goroutines may use it at once. What it returns was checked against its
// digest.
type Store struct {
	Dir      string
	ReadOnly bool // damaged files are reported, and not removed

	ready sync.Once
	err   error
}

// What is wrong with what was asked for.
var (
	ErrAbsent  = errors.New("it is not in the cache")
	ErrDamaged = errors.New("it is damaged")
)

// ignoreAll is the .gitignore of a cache.
const ignoreAll = "*\n"

// Make makes the folder.
func (s *Store) Make() error {
	s.ready.Do(func() {
		// A repository can bring a link along, through which we would write where somebody else chose.
		if s.err = recordfile.NoLinks(filepath.Dir(s.Dir), s.Dir); s.err == nil {
			s.err = os.MkdirAll(s.Dir, 0o750)
		}
		if s.err == nil && !recordfile.Exists(filepath.Join(s.Dir, ".gitignore")) {
			s.err = recordfile.Write(filepath.Join(s.Dir, ".gitignore"), []byte(ignoreAll), false)
		}
	})
	return s.err
}

// Fits reports whether a folder is a store, or can become one: it is not there, or nothing is in it.
func Fits(dir string) bool {
	names, err := os.ReadDir(dir)
	if err != nil || len(names) == 0 || recordfile.IsFolder(filepath.Join(dir, "cas")) {
		return true
	}
	rules, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	return err == nil && string(rules) == ignoreAll
}

// IsThere reports whether something was stored in a folder.
func IsThere(dir string) bool { return recordfile.Exists(filepath.Join(dir, "cas")) }

// NoLinks returns an error if a link leads out of the store.
func (s *Store) NoLinks() error {
	return recordfile.NoLinks(filepath.Dir(s.Dir), s.Dir, filepath.Join(s.Dir, "cas"), filepath.Join(s.Dir, "actions"))
}

func (s *Store) blob(hash string) string { return filepath.Join(s.Dir, "cas", hash[:2], hash) }

// Has reports whether there is a blob of this name and size. Its content is checked when it is read.
func (s *Store) Has(d reapi.Digest) bool {
	info, err := os.Lstat(s.blob(d.Hash))
	return err == nil && info.Mode().IsRegular() && info.Size() == d.Size
}

// Put stores bytes.
func (s *Store) Put(b []byte) (reapi.Digest, error) {
	d := reapi.DigestOf(b)
	if d.Size > limitBlob {
		return d, errTooLarge(d.Size)
	}
	if s.Has(d) {
		return d, nil
	}
	return d, s.write(d, bytes.NewReader(b))
}

// write stores what r has, which must have the digest d.
func (s *Store) write(d reapi.Digest, r io.Reader) error {
	if err := s.Make(); err != nil {
		return err
	}
	at := s.blob(d.Hash)
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return err
	}
	f, err := renameio.NewPendingFile(at, renameio.WithPermissions(0o400), renameio.WithTempDir(filepath.Dir(at)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	got, err := files.CopyHashed(f, r)
	if err != nil {
		return err
	}
	if got != d {
		return errChanged
	}
	if err := f.Close(); err != nil {
		return err
	}
	// Not synced: what a power cut damages is found when it is read.
	return s.replace(at, func() error { return os.Rename(f.Name(), at) })
}

// replace calls put, which replaces a file of the store by a rename. A folder in its place, which no rename replaces, is
// removed, unless it is outside of the store by way of a link.
func (s *Store) replace(at string, put func() error) error {
	err := put()
	if err == nil || !recordfile.IsFolder(at) {
		return err
	}
	if err := s.remove(at); err != nil {
		return err
	}
	return put()
}

// remove removes what is in the place of a file of the store, also a folder with all that is in it.
func (s *Store) remove(at string) error {
	name, err := filepath.Rel(s.Dir, at)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // what was done in it is done
	return rmtree.In(root, name)
}

// errChanged means that a file is not what it was when its digest was made.
var errChanged = errors.New("it changed meanwhile")

// limitBlob bounds a message that is read back, in bytes.
const limitBlob = 64 << 20

// errTooLarge is the error of what Get would not read back.
func errTooLarge(size int64) error {
	return fmt.Errorf("its log, patch or list of outputs has %s, and at most %s can be stored", english.Size(size), english.Size(limitBlob))
}

// Get returns a blob.
func (s *Store) Get(d reapi.Digest) ([]byte, error) {
	if d.Size > limitBlob {
		return nil, ErrDamaged
	}
	b, err := recordfile.Read(s.blob(d.Hash), limitBlob)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, err
	}
	if reapi.DigestOf(b) != d {
		s.drop(s.blob(d.Hash))
		return nil, ErrDamaged
	}
	return b, nil
}

// drop removes a damaged file, unless the store is only looked at.
func (s *Store) drop(at string) {
	if !s.ReadOnly {
		_ = os.Remove(at)
	}
}

func (s *Store) actionPath(key string) string {
	return filepath.Join(s.Dir, "actions", key[:2], key)
}

// Action returns the result of a key. ErrAbsent: there is none.
func (s *Store) Action(key string) (reapi.Result, error) {
	at := s.actionPath(key)
	b, err := recordfile.Read(at, limitBlob)
	if errors.Is(err, fs.ErrNotExist) {
		return reapi.Result{}, ErrAbsent
	}
	if err != nil {
		return reapi.Result{}, err
	}
	sum, b, ok := bytes.Cut(b, []byte("\n"))
	if !ok || string(sum) != reapi.DigestOf(b).Hash {
		s.drop(at)
		return reapi.Result{}, ErrDamaged
	}
	r, err := reapi.DecodeResult(b)
	if err != nil || slices.ContainsFunc(slices.Concat(r.Files, r.Closed), func(f reapi.File) bool { return files.Ours(f.Path) }) {
		s.drop(at)
		return reapi.Result{}, ErrDamaged
	}
	return r, nil
}

// Used notes that a result was used now.
func (s *Store) Used(key string) { Touch(s.actionPath(key)) }

// Touch notes that a file was used now, so that it is not removed as an old one.
func Touch(path string) {
	now := time.Now()
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > time.Hour {
		_ = os.Chtimes(path, now, now) // else it is removed a little earlier
	}
}

// PutAction stores a result. All blobs that it needs must be stored by then.
func (s *Store) PutAction(key string, r reapi.Result) error {
	if err := s.Make(); err != nil {
		return err
	}
	at := s.actionPath(key)
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return err
	}
	b := r.Encode()
	if len(b) >= limitBlob-100 { // with its digest
		return errTooLarge(int64(len(b)))
	}
	return s.replace(at, func() error { // not synced: it has its own digest
		return recordfile.Write(at, append([]byte(reapi.DigestOf(b).Hash+"\n"), b...), false)
	})
}
