package cache

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A store is the folder that the package comment describes. Several processes may use it at once. What it returns was
// checked against its digest.
type store struct {
	dir   string
	root  string // of the tree that it is used for
	tree  string // the folder for what is known about that tree; empty: dir
	looks bool   // nothing is removed: it is only looked at
	ready sync.Once
	err   error
}

// What is wrong with what was asked for.
var (
	errAbsent  = errors.New("it is not in the cache")
	errDamaged = errors.New("it is damaged")
)

// ignoreAll is the .gitignore of a cache.
const ignoreAll = "*\n"

// make makes the folder.
func (s *store) make() error {
	s.ready.Do(func() {
		// A repository can bring a link along, through which we would write where somebody else chose.
		if s.err = recordfile.NoLinks(filepath.Dir(s.dir), s.dir); s.err == nil {
			s.err = os.MkdirAll(s.dir, 0o750)
		}
		if s.err == nil && !recordfile.Exists(filepath.Join(s.dir, ".gitignore")) {
			s.err = recordfile.Write(filepath.Join(s.dir, ".gitignore"), []byte(ignoreAll), false)
		}
	})
	return s.err
}

// makeTree makes the folder of the tree, with the root in it.
func (s *store) makeTree() error {
	if err := s.make(); err != nil || s.tree == "" {
		return err
	}
	at := filepath.Join(s.tree, "root")
	if recordfile.Exists(at) {
		return nil
	}
	if err := os.MkdirAll(s.tree, 0o750); err != nil {
		return err
	}
	return recordfile.Write(at, []byte(s.root+"\n"), false)
}

func (s *store) blob(hash string) string { return filepath.Join(s.dir, "cas", hash[:2], hash) }

// has reports whether there is a blob of this name and size. Its content is checked when it is read.
func (s *store) has(d reapi.Digest) bool {
	info, err := os.Lstat(s.blob(d.Hash))
	return err == nil && info.Mode().IsRegular() && info.Size() == d.Size
}

// put stores bytes.
func (s *store) put(b []byte) (reapi.Digest, error) {
	d := reapi.DigestOf(b)
	if d.Size > limitBlob {
		return d, errTooLarge(d.Size)
	}
	if s.has(d) {
		return d, nil
	}
	return d, s.write(d, bytes.NewReader(b))
}

// write stores what r has, which must have the digest d.
func (s *store) write(d reapi.Digest, r io.Reader) error {
	if err := s.make(); err != nil {
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
	return os.Rename(f.Name(), at) // not synced: what a power cut damages is found when it is read
}

// errChanged means that a file is not what it was when its digest was made.
var errChanged = errors.New("it changed meanwhile")

// limitBlob bounds a message that is read back, in bytes.
const limitBlob = 64 << 20

// errTooLarge is the error of what get would not read back.
func errTooLarge(size int64) error {
	return fmt.Errorf("its log, patch or list of outputs has %s, and at most %s can be stored", english.Size(size), english.Size(limitBlob))
}

// get returns a blob.
func (s *store) get(d reapi.Digest) ([]byte, error) {
	if d.Size > limitBlob {
		return nil, errDamaged
	}
	b, err := recordfile.Read(s.blob(d.Hash), limitBlob)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errAbsent
	}
	if err != nil {
		return nil, err
	}
	if reapi.DigestOf(b) != d {
		s.drop(s.blob(d.Hash))
		return nil, errDamaged
	}
	return b, nil
}

// drop removes a damaged file, unless the store is only looked at.
func (s *store) drop(at string) {
	if !s.looks {
		_ = os.Remove(at)
	}
}

func (s *store) actionPath(key string) string {
	return filepath.Join(s.dir, "actions", key[:2], key)
}

// action returns the result of a key. errAbsent: there is none.
func (s *store) action(key string) (reapi.Result, error) {
	at := s.actionPath(key)
	b, err := recordfile.Read(at, limitBlob)
	if errors.Is(err, fs.ErrNotExist) {
		return reapi.Result{}, errAbsent
	}
	if err != nil {
		return reapi.Result{}, err
	}
	sum, b, ok := bytes.Cut(b, []byte("\n"))
	if !ok || string(sum) != reapi.DigestOf(b).Hash {
		s.drop(at)
		return reapi.Result{}, errDamaged
	}
	r, err := reapi.DecodeResult(b)
	if err != nil || slices.ContainsFunc(slices.Concat(r.Files, r.Closed), func(f reapi.File) bool { return files.Ours(f.Path) }) {
		s.drop(at)
		return reapi.Result{}, errDamaged
	}
	return r, nil
}

// touch notes that a result, or the sets of what a task reads, were used now, so that Collect keeps them.
func (s *store) touch(path string) {
	now := time.Now()
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > time.Hour {
		_ = os.Chtimes(path, now, now) // else it is removed a little earlier
	}
}

func (s *store) putAction(key string, r reapi.Result) error {
	if err := s.make(); err != nil {
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
	return recordfile.Write(at, append([]byte(reapi.DigestOf(b).Hash+"\n"), b...), false) // not synced: it has its own digest
}

// A baseline is what the last pass of a task was made of: what a miss is compared with.
type baseline struct {
	Version int    `json:"schema_version"`
	Key     string `json:"key"`
	Run     string `json:"run"`
	record.MadeOf
	Made map[string]string `json:"made"`           // outputs that it made, with their digests
	Args bool              `json:"args,omitempty"` // the task ran with the arguments of a command line
}

const baselineVersion = 1

// madeOf returns what the pass was made of; of no pass nothing.
func (l *baseline) madeOf() *record.MadeOf {
	if l == nil {
		return &record.MadeOf{}
	}
	return &l.MadeOf
}

func (s *store) baselinePath(task string) string {
	return filepath.Join(cmp.Or(s.tree, s.dir), "baselines", filename.Of(task)+".json")
}

// baseline returns that of a task, or nil.
func (s *store) baseline(task string) *baseline {
	b, err := recordfile.Read(s.baselinePath(task), limitBlob)
	if err != nil {
		return nil
	}
	var l baseline
	if json.Unmarshal(b, &l) != nil || l.Version != baselineVersion || !reapi.IsHash(l.Key) || !reapi.IsHash(l.Inputs) {
		return nil
	}
	l.Made = renamed(l.Made, files.Untext)
	return &l
}

func (s *store) putBaseline(task string, l *baseline) error {
	if err := s.makeTree(); err != nil {
		return err
	}
	at := s.baselinePath(task)
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return err
	}
	stored := *l
	stored.Made = renamed(l.Made, files.Text)
	return recordfile.WriteJSON(at, stored, false)
}

// renamed returns what was made under changed names. It is made itself where they stay the same.
func renamed(made map[string]string, change func(string) string) map[string]string {
	var all map[string]string
	for p := range made {
		if change(p) != p && all == nil {
			all = make(map[string]string, len(made))
		}
	}
	if all == nil {
		return made
	}
	for p, what := range made {
		all[change(p)] = what
	}
	return all
}

// leftPath returns the path of the file with what runs of a task made whose result was not stored.
func (s *store) leftPath(task string) string {
	return strings.TrimSuffix(s.baselinePath(task), ".json") + ".left"
}

// left returns what runs of a task made whose result was not stored, since it was stored or restored last: as
// baseline.Made.
func (s *store) left(task string) map[string]string {
	b, err := recordfile.Read(s.leftPath(task), limitBlob)
	var made map[string]string
	if err != nil || json.Unmarshal(b, &made) != nil {
		return nil
	}
	return renamed(made, files.Untext)
}

func (s *store) putLeft(task string, made map[string]string) error {
	if err := s.makeTree(); err != nil {
		return err
	}
	at := s.leftPath(task)
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return err
	}
	return recordfile.WriteJSON(at, renamed(made, files.Text), false)
}

// open returns secretKey, and an error if a link leads out of the store.
func (s *store) open(stored bool) ([]byte, error) {
	paths := []string{filepath.Dir(s.dir), s.dir}
	for _, name := range []string{"cas", "actions", "baselines", treesFolder} {
		paths = append(paths, filepath.Join(s.dir, name))
	}
	if s.tree != "" {
		paths = append(paths, s.tree, filepath.Join(s.tree, "baselines"))
	}
	if err := recordfile.NoLinks(paths...); err != nil {
		return nil, err
	}
	return s.secretKey(stored)
}

// keyPrefix is what a key is called before it is linked to its name, with the process that makes it.
const keyPrefix = "key-"

// secretKey returns the key with which values are hashed: a digest of a short value alone would give it away.
// Without one, a new one is stored, or only returned.
func (s *store) secretKey(stored bool) ([]byte, error) {
	at := filepath.Join(s.dir, "key")
	for range 3 {
		if b, err := recordfile.Read(at, 1<<10); err == nil && len(b) == 32 {
			return b, nil
		}
		if !stored {
			return make([]byte, 32), nil
		}
		if err := s.make(); err != nil {
			return nil, err
		}
		b := make([]byte, 32)
		_, _ = rand.Read(b) // never fails
		temp := filepath.Join(s.dir, process.TempName(keyPrefix))
		if err := os.WriteFile(temp, b, 0o600); err != nil {
			return nil, err
		}
		err := os.Link(temp, at) // another process may have been first
		_ = os.Remove(temp)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if errors.Is(err, fs.ErrExist) {
			if b, err := recordfile.Read(at, 1<<10); err != nil || len(b) != 32 {
				_ = os.Remove(at) // it is damaged
			}
		}
	}
	return nil, fmt.Errorf("%s cannot be read", at)
}

// hashed returns a keyed digest of a value.
func hashed(key []byte, value string) string {
	m := hmac.New(sha256.New, key)
	_, _ = io.WriteString(m, value)
	return hex.EncodeToString(m.Sum(nil))
}
