// Carrying out an apply or a revert: originals and journal first, then every file, then the record of it.

package apply

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

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
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
	fix.Details
}

// An entry is one path that is written.
type entry struct {
	Path      string       `json:"path"`
	PathBytes []byte       `json:"path_b64,omitempty"`
	Perm      uint32       `json:"perm"` // permission bits it had
	Before    *fix.Content `json:"before"`
	After     *fix.Content `json:"after"`
}

type folderBefore struct {
	Path      string `json:"path"`
	PathBytes []byte `json:"path_b64,omitempty"`
	Perm      uint32 `json:"perm"`
}

func (e *entry) name() string       { return fix.FullPath(e.Path, e.PathBytes) }
func (f folderBefore) name() string { return fix.FullPath(f.Path, f.PathBytes) }

func (t Tree) journalPath() string  { return filepath.Join(t.applyDir(), "journal.json") }
func (t Tree) originalsDir() string { return filepath.Join(t.applyDir(), "originals") }
func (t Tree) original(n int) string {
	return filepath.Join(t.originalsDir(), fmt.Sprint(n))
}

// temp is the name of the n-th entry's new content before it has its own, below a folder.
func (j *applying) temp(dir string, n int) string {
	return path.Join(dir, fmt.Sprintf(".async-pipeline-%s-%d", j.ID, n))
}

// carry writes all of w or nothing.
func (t Tree) carry(w *work) error {
	j, err := t.begin(w)
	if err != nil {
		return errors.Join(fmt.Errorf("nothing was written: %w", err), t.clear())
	}
	if err := t.write(w, j); err != nil {
		return t.rollback(w.place, j, w.advise(err))
	}
	w.written = true // also should the journal not hear of it: with every file in its place it is completed, not undone
	j.Written = true
	if err := t.writeJournal(j); err != nil {
		return err
	}
	return t.finish(j)
}

// begin stores originals and journal; after it a crash can be undone.
func (t Tree) begin(w *work) (*applying, error) {
	lock, err := inode(filepath.Join(t.applyDir(), "lock"))
	if err != nil {
		return nil, err
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	p := w.proposal
	j := &applying{
		SchemaVersion: fix.SchemaVersion, What: w.what, Details: w.Details, ID: hex.EncodeToString(id), Lock: lock, StartedAt: timestamp.Now(),
		Run: p.Run, Task: p.Task, Fix: p.Name, Digest: p.Digest, Sub: w.sub, By: w.by, Files: w.files, Accepted: w.accepted,
	}
	if err := w.keepContents(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(t.originalsDir(), 0o700); err != nil {
		return nil, advice.Writing(err, t.originalsDir())
	}
	for i, m := range w.moves {
		j.Entries = append(j.Entries, entry{Path: m.path, PathBytes: fix.RawPath(m.path), Perm: m.perm, Before: m.before, After: m.after})
		if m.was == nil {
			continue
		}
		if err := t.at("original " + m.path); err != nil {
			return nil, err
		}
		if err := recordfile.WriteNew(t.original(i), m.was.Data); err != nil {
			return nil, err
		}
	}
	if err := j.plan(w); err != nil {
		return nil, err
	}
	if err := recordfile.SyncDir(t.originalsDir()); err != nil {
		return nil, err
	}
	if err := t.at("journal"); err != nil {
		return nil, err
	}
	return j, t.writeJournal(j)
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
				j.Folders = append(j.Folders, folderBefore{Path: dir, PathBytes: fix.RawPath(dir), Perm: h.perm})
			case h.dir:
				seen[dir] = false // a deletion may name it yet
			case dir != m.path:
				j.Made = append(j.Made, folderBefore{Path: dir, PathBytes: fix.RawPath(dir)})
			}
		}
	}
	byName := func(a, b folderBefore) int { return strings.Compare(a.name(), b.name()) }
	slices.SortFunc(j.Folders, byName)
	slices.SortFunc(j.Made, byName)
	return nil
}

func (t Tree) writeJournal(j *applying) error {
	text, err := recordfile.JSON(j)
	if err != nil {
		return err
	}
	return recordfile.Write(t.journalPath(), append(text, '\n'), true)
}

// write puts every new content beside its place, then moves each in, deletions first. What can fail for want of room
// or permission has mostly failed before the first file changes.
func (t Tree) write(w *work, j *applying) error {
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
		if err := t.at("stage " + m.path); err != nil {
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
		if err := t.at("delete " + m.path); err != nil {
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
		if err := t.at("write " + m.path); err != nil {
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
	return t.at("written")
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
		return refused("%w: %s (changed this moment); try again", fix.ErrConflict, m.path)
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
func (t Tree) rollback(pl *place, j *applying, cause error) error {
	left, kept, err := t.undo(pl, j)
	if err != nil {
		return errors.Join(fmt.Errorf("%w; what was written could not be taken back yet, the next command tries again", cause), err)
	}
	if len(left) > 0 {
		cause = fmt.Errorf("%w; everything was taken back but %s, which somebody edited meanwhile (what it held is in %s)", cause, english.List(left, 10), kept)
	} else {
		cause = fmt.Errorf("%w; everything was taken back", cause)
	}
	return errors.Join(cause, t.clear())
}

// finish records the apply and clears the journal. It may be called again after a crash anywhere in it.
func (t Tree) finish(j *applying) error {
	if err := t.at("record"); err != nil {
		return err
	}
	dir := filepath.Join(t.Fixes.Dir, "runs", j.Run, "fixes")
	state := filepath.Join(dir, j.Fix+".state.jsonl")
	if err := fix.CheckRunFolders(filepath.Dir(dir)); err != nil {
		return err
	}
	decisions, err := fix.ReadState(state, j.Digest)
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(decisions, func(d fix.StateChange) bool { return d.Apply == j.ID }):
	case !recordfile.IsFolder(dir): // the run was pruned meanwhile: nobody is left to tell
	default:
		to := fix.Applied
		if j.What == toRevert {
			to = fix.Reverted
		}
		err = fix.AddState(state, j.Digest, fix.StateChange{By: j.By, To: to, Files: j.Files, Accepted: j.Accepted, Apply: j.ID, Details: j.Details})
	}
	if err != nil {
		return err
	}
	if err := t.at("clear"); err != nil {
		return err
	}
	return t.clear()
}

// clear removes everything below apply/ but the lock; the journal first, since without it nothing else counts.
func (t Tree) clear() error {
	if recordfile.Exists(t.journalPath()) {
		if err := os.Remove(t.journalPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(t.applyDir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "lock" {
			continue
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(t.applyDir(), e.Name())))
	}
	return errors.Join(err, recordfile.SyncDir(t.applyDir()))
}

func inode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, err
	}
	return st.Ino, nil
}

// stored gives the original of the n-th entry, checked.
func (t Tree) stored(j *applying, n int) (*patch.File, error) {
	e := j.Entries[n]
	b, err := recordfile.Read(t.original(n), recordfile.MaxPatch)
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
		return nil, fmt.Errorf("%s does not hold what %s held", t.original(n), e.name())
	}
	return f, nil
}
