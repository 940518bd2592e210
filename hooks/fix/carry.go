// Carrying out an apply or a revert: originals and journal first, then every file, then the record of it.

package fix

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// An applying is apply/journal.json. It is written before the first file of the tree is touched and goes after the last
// thing that an apply does. A revert is an apply of another kind.
type applying struct {
	SchemaVersion int            `json:"schema_version"`
	What          string         `json:"what"` // apply | revert
	ID            string         `json:"id"`
	Lock          uint64         `json:"lock"` // inode of apply/lock: a journal that came here with the files of a repository does not know it, and is not obeyed
	StartedAt     string         `json:"started_at"`
	Run           string         `json:"run"`
	Task          string         `json:"task"`
	Fix           string         `json:"fix"`    // name of the record's files
	Digest        string         `json:"digest"` // of <fix>.json
	Sub           string         `json:"sub"`    // the root relative to the folder where paths start
	By            string         `json:"by"`
	Files         []string       `json:"files"` // chosen, also those that were there already; for the record
	Accepted      []string       `json:"accepted"`
	Written       bool           `json:"written"` // every file is in its place: from here on it is completed, never undone
	Entries       []entry        `json:"entries"`
	Folders       []folderBefore `json:"folders"` // that may go with a deletion
	Made          []folderBefore `json:"made"`    // that were not there; Perm says nothing
	details
}

// An entry is one path that is written.
type entry struct {
	Path      string   `json:"path"`
	PathBytes []byte   `json:"path_b64,omitempty"`
	Perm      uint32   `json:"perm"` // permission bits it had
	Before    *Content `json:"before"`
	After     *Content `json:"after"`
}

type folderBefore struct {
	Path      string `json:"path"`
	PathBytes []byte `json:"path_b64,omitempty"`
	Perm      uint32 `json:"perm"`
}

func (e *entry) name() string       { return fullPath(e.Path, e.PathBytes) }
func (f folderBefore) name() string { return fullPath(f.Path, f.PathBytes) }

func (s *Store) journalPath() string  { return filepath.Join(s.applyDir(), "journal.json") }
func (s *Store) originalsDir() string { return filepath.Join(s.applyDir(), "originals") }
func (s *Store) original(n int) string {
	return filepath.Join(s.originalsDir(), fmt.Sprint(n))
}

// temp is the name of the n-th entry's new content before it has its own, below a folder.
func (j *applying) temp(dir string, n int) string {
	return path.Join(dir, fmt.Sprintf(".async-pipeline-%s-%d", j.ID, n))
}

// carry writes all of w or nothing.
func (s *Store) carry(w *work) error {
	j, err := s.begin(w)
	if err != nil {
		return errors.Join(fmt.Errorf("nothing was written: %w", err), s.clear())
	}
	if err := s.write(w, j); err != nil {
		return s.rollback(w.place, j, w.advise(err))
	}
	w.written = true // also should the journal not hear of it: with every file in its place it is completed, not undone
	j.Written = true
	if err := s.writeJournal(j); err != nil {
		return err
	}
	return s.finish(j)
}

// begin stores originals and journal; after it a crash can be undone.
func (s *Store) begin(w *work) (*applying, error) {
	lock, err := inode(filepath.Join(s.applyDir(), "lock"))
	if err != nil {
		return nil, err
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	p := w.proposal
	j := &applying{
		SchemaVersion: SchemaVersion, What: w.what, details: w.details, ID: hex.EncodeToString(id), Lock: lock, StartedAt: stamp(time.Now()),
		Run: p.Run, Task: p.Task, Fix: p.name, Digest: p.digest, Sub: w.sub, By: w.by, Files: w.files, Accepted: w.accepted,
	}
	if err := w.keepContents(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(s.originalsDir(), 0o700); err != nil {
		return nil, advice.Writing(err, s.originalsDir())
	}
	for i, m := range w.moves {
		j.Entries = append(j.Entries, entry{Path: m.path, PathBytes: rawPath(m.path), Perm: m.perm, Before: m.before, After: m.after})
		if m.was == nil {
			continue
		}
		if err := s.at("original " + m.path); err != nil {
			return nil, err
		}
		if err := writeSynced(s.original(i), m.was.Data); err != nil {
			return nil, err
		}
	}
	if err := j.plan(w); err != nil {
		return nil, err
	}
	if err := syncDir(s.originalsDir()); err != nil {
		return nil, err
	}
	if err := s.at("journal"); err != nil {
		return nil, err
	}
	return j, s.writeJournal(j)
}

// plan lists the folders that are there and may go, and those that are not there and will be made.
func (j *applying) plan(w *work) error {
	seen := map[string]bool{}
	for _, m := range w.moves {
		dirs := parents(m.path)
		if m.before == nil {
			dirs = append(dirs, m.path) // perhaps an empty folder stands there
		}
		for _, dir := range dirs {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			h, err := w.place.look(dir, 0)
			if err != nil {
				return err
			}
			switch {
			case h.dir && (m.after == nil || dir == m.path):
				j.Folders = append(j.Folders, folderBefore{Path: dir, PathBytes: rawPath(dir), Perm: h.perm})
			case h.dir:
				seen[dir] = false // a deletion may name it yet
			case dir != m.path:
				j.Made = append(j.Made, folderBefore{Path: dir, PathBytes: rawPath(dir)})
			}
		}
	}
	byName := func(a, b folderBefore) int { return strings.Compare(a.name(), b.name()) }
	slices.SortFunc(j.Folders, byName)
	slices.SortFunc(j.Made, byName)
	return nil
}

func (s *Store) writeJournal(j *applying) error {
	text, err := encodeJSON(j)
	if err != nil {
		return err
	}
	return writeFile(s.journalPath(), append(text, '\n'), true)
}

// write puts every new content beside its place, then moves each in, deletions first. What can fail for want of room
// or permission has mostly failed before the first file changes.
func (s *Store) write(w *work, j *applying) error {
	temps := make([]string, len(w.moves))
	for i, m := range w.moves {
		if m.to == nil {
			continue
		}
		dir, err := w.place.nearest(m.path)
		if err != nil {
			return err
		}
		temps[i] = j.temp(dir, i)
		if err := s.at("stage " + m.path); err != nil {
			return err
		}
		if err := w.stage(temps[i], m); err != nil {
			return err
		}
	}
	for _, m := range w.moves {
		if m.after != nil {
			continue
		}
		if err := s.at("delete " + m.path); err != nil {
			return err
		}
		if err := w.still(m); err != nil {
			return err
		}
		if err := w.place.unlink(m.path); err != nil {
			return err
		}
		if err := emptied(w.place, m.path); err != nil {
			return err
		}
	}
	for i, m := range w.moves {
		if m.after == nil {
			continue
		}
		if err := s.at("write " + m.path); err != nil {
			return err
		}
		if err := w.still(m); err != nil {
			return err
		}
		if err := w.moveIn(temps[i], m); err != nil {
			return err
		}
	}
	if err := syncFolders(w.place, j); err != nil {
		return err
	}
	return s.at("written")
}

// stage writes the new content of m beside its place, so that no cache takes a source for the one that stands there (patch.Stamp). What has to
// wait for the next second does so before the first file changes.
func (w *work) stage(temp string, m move) error {
	perm, exact := m.target()
	for again := patch.Rewrites; ; again-- {
		if err := w.place.stage(temp, m.to, perm, exact); err != nil {
			return err
		}
		if again == 0 || m.was == nil || !patch.IsSource(m.path) || bytes.Equal(m.was.Data, m.to.Data) {
			return nil
		}
		stands, err := w.place.stamp(m.path)
		if err != nil {
			return err
		}
		now, err := w.place.stamp(temp)
		if err != nil {
			return err
		}
		wait := now.Wait(stands)
		if wait == 0 {
			return nil
		}
		time.Sleep(wait)
		if err := w.place.unlink(temp); err != nil {
			return err
		}
	}
}

// stamp is what caches know of a file; of what is no file, or not there, they know nothing.
func (p *place) stamp(name string) (s patch.Stamp, err error) {
	err = p.in(name, func(dir int, base string) error {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFREG {
			s = patch.Stamp{Size: st.Size, Time: time.Unix(0, st.Mtim.Nano())}
		}
		return nil
	})
	if absent(err) {
		err = nil
	}
	return s, err
}

// advise says what to do about an error of writing the tree.
func (w *work) advise(err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return err
	}
	return advice.Writing(err, filepath.Join(w.place.top.Name(), filepath.FromSlash(path.Dir(at.Path))))
}

// moveIn gives a staged content its name; folders on the way are made.
func (w *work) moveIn(temp string, m move) error {
	for _, dir := range slices.Backward(parents(m.path)) {
		if err := w.place.mkdir(dir, 0o755, false); err != nil {
			return err
		}
	}
	if m.before == nil {
		if err := w.place.rmdir(m.path); err != nil && !errors.Is(err, unix.ENOTDIR) {
			return err
		}
	}
	return w.place.rename(temp, m.path)
}

// still checks once more, right before it is replaced, that nobody edited a file meanwhile.
func (w *work) still(m move) error {
	h, err := w.place.look(m.path, most(m.before, m.after))
	if err != nil {
		return err
	}
	if !h.holds(m.before) && (m.before != nil || !h.dir) {
		return refused("%w: %s (changed this moment); try again", ErrConflict, m.path)
	}
	return nil
}

// emptied removes the folders that a deletion left empty, as git does.
func emptied(pl *place, deleted string) error {
	for _, dir := range parents(deleted) {
		if err := pl.rmdir(dir); err != nil {
			return err
		}
	}
	return nil
}

// syncFolders puts the new names on the disk.
func syncFolders(pl *place, j *applying) error {
	seen := map[string]bool{}
	for i := range j.Entries {
		for _, dir := range append(parents(j.Entries[i].name()), ".") {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			if err := pl.sync(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// rollback undoes what was written before cause.
func (s *Store) rollback(pl *place, j *applying, cause error) error {
	left, kept, err := s.undo(pl, j)
	if err != nil {
		return errors.Join(fmt.Errorf("%w; what was written could not be taken back yet, the next command tries again", cause), err)
	}
	if len(left) > 0 {
		cause = fmt.Errorf("%w; everything was taken back but %s, which somebody edited meanwhile (what it held is in %s)", cause, list(left), kept)
	} else {
		cause = fmt.Errorf("%w; everything was taken back", cause)
	}
	return errors.Join(cause, s.clear())
}

// finish records the apply and clears the journal. It may be called again after a crash anywhere in it.
func (s *Store) finish(j *applying) error {
	if err := s.at("record"); err != nil {
		return err
	}
	dir := filepath.Join(s.Dir, "runs", j.Run, "fixes")
	state := filepath.Join(dir, j.Fix+".state.jsonl")
	if err := realRun(filepath.Dir(dir)); err != nil {
		return err
	}
	decisions, err := readDecisions(state, j.Digest)
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(decisions, func(d decision) bool { return d.Apply == j.ID }):
	case !isDir(dir): // the run was pruned meanwhile: nobody is left to tell
	default:
		to := applied
		if j.What == toRevert {
			to = reverted
		}
		err = addDecision(state, j.Digest, decision{By: j.By, To: to, Files: j.Files, Accepted: j.Accepted, Apply: j.ID, details: j.details})
	}
	if err != nil {
		return err
	}
	if err := s.at("clear"); err != nil {
		return err
	}
	return s.clear()
}

// clear removes everything below apply/ but the lock; the journal first, since without it nothing else counts.
func (s *Store) clear() error {
	if exists(s.journalPath()) {
		if err := os.Remove(s.journalPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(s.applyDir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "lock" {
			continue
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.applyDir(), e.Name())))
	}
	return errors.Join(err, syncDir(s.applyDir()))
}

func inode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, err
	}
	return st.Ino, nil
}

// stored gives the original of the n-th entry, checked.
func (s *Store) stored(j *applying, n int) (*patch.File, error) {
	e := j.Entries[n]
	b, err := readFile(s.original(n), maxPatch)
	if err != nil {
		return nil, err
	}
	f := &patch.File{Mode: 0o644, Data: b}
	switch e.Before.Mode {
	case "100755":
		f.Mode = 0o755
	case "120000":
		f.Mode = fs.ModeSymlink | 0o777
	}
	if !(held{file: f}).holds(e.Before) {
		return nil, fmt.Errorf("%s does not hold what %s held", s.original(n), e.name())
	}
	return f, nil
}
