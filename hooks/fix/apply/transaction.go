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

// A journal is apply/journal.json. It is written before the first file of the tree is touched and removed as the
// last step.
type journal struct {
	SchemaVersion int      `json:"schema_version"`
	What          string   `json:"what"` // apply | revert
	ID            string   `json:"id"`
	Lock          uint64   `json:"lock"` // inode of apply/lock: a journal that a repository brought along is not obeyed
	StartedAt     string   `json:"started_at"`
	Run           string   `json:"run"`
	Task          string   `json:"task"`
	Fix           string   `json:"fix"`    // name of the record's files
	Digest        string   `json:"digest"` // of <fix>.json
	Sub           string   `json:"sub"`    // the pipeline's folder relative to where paths begin
	By            string   `json:"by"`
	Files         []string `json:"files"` // selected, also those that were in place already; for the record
	Accepted      []string `json:"accepted"`
	Written       bool     `json:"written"` // every file is in place: from here on it is completed, never undone
	Entries       []entry  `json:"entries"`
	Folders       []folder `json:"folders"` // that may go with a deletion
	Made          []folder `json:"made"`    // that were not there, without Perm
	fix.Details
}

// journal returns the journal of a plan before its first step.
func (p *plan) journal() journal {
	return journal{
		SchemaVersion: fix.SchemaVersion, What: p.kind, StartedAt: timestamp.Now(),
		Run: p.Run, Task: p.Task, Fix: p.Name, Digest: p.Digest, Sub: p.sub,
		By: p.by, Files: p.files, Accepted: p.accepted, Details: p.Details,
	}
}

// stateChange returns the line of state.jsonl that records the apply or revert.
func (j journal) stateChange() fix.StateChange {
	to := fix.Applied
	if j.What == toRevert {
		to = fix.Reverted
	}
	return fix.StateChange{By: j.By, To: to, Files: j.Files, Accepted: j.Accepted, Apply: j.ID, Details: j.Details}
}

// An entry is one path that is written.
type entry struct {
	fix.Wrote
	Perm uint32 `json:"perm"` // permission bits it had
}

// A folder is as it was before.
type folder struct {
	Path      string `json:"path"`
	PathBytes []byte `json:"path_b64,omitempty"`
	Perm      uint32 `json:"perm"`
}

// FullPath returns the path as the tree has it.
func (f folder) FullPath() string { return fix.FullPath(f.Path, f.PathBytes) }

// A transaction writes all files of a plan or none. Until it ends, .async/apply holds its journal and what the files
// held.
type transaction struct {
	journal
	async string // .async
	dir   string // .async/apply
	tree  *worktree
	step  func(string) error // may be nil
}

func (t Tree) transaction(w *worktree) *transaction {
	return &transaction{async: t.Fixes.Dir, dir: t.dir(), tree: w, step: t.step}
}

// at calls step before a step of the transaction.
func (tx *transaction) at(step string) error {
	if tx.step == nil {
		return nil
	}
	return tx.step(step)
}

func (tx *transaction) file() string          { return filepath.Join(tx.dir, "journal.json") }
func (tx *transaction) originals() string     { return filepath.Join(tx.dir, "originals") }
func (tx *transaction) original(n int) string { return filepath.Join(tx.originals(), fmt.Sprint(n)) }

// temp returns the name below dir that the new content of the n-th entry has before it is moved into place.
func (tx *transaction) temp(dir string, n int) string {
	return path.Join(dir, fmt.Sprintf(".async-pipeline-%s-%d", tx.ID, n))
}

// run writes what is planned and records it. An error that is not errUnrecorded means that nothing is written.
func (tx *transaction) run(p *plan) error {
	if err := tx.begin(p); err != nil {
		return errors.Join(fmt.Errorf("nothing was written: %w", err), discard(tx.dir))
	}
	if err := tx.write(p.moves); err != nil {
		return tx.rollback(tx.advise(err))
	}
	tx.Written = true // also if the journal cannot be written: with every file in place it is completed, not undone
	err := tx.save()
	if err == nil {
		err = tx.finish()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	return nil
}

// begin stores the originals, then the journal. From then on a crash can be undone.
func (tx *transaction) begin(p *plan) error {
	lock, err := inode(filepath.Join(tx.dir, "lock"))
	if err != nil {
		return err
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	tx.journal = p.journal()
	tx.ID, tx.Lock = hex.EncodeToString(id), lock
	if err := p.keepContents(); err != nil {
		return err
	}
	if err := os.Mkdir(tx.originals(), 0o700); err != nil {
		return advice.Writing(err, tx.originals())
	}
	bulk := together(p.moves)
	for i, m := range p.moves {
		tx.Entries = append(tx.Entries, m.entry)
		if m.was == nil {
			continue
		}
		if err := tx.at("original " + m.path); err != nil {
			return err
		}
		if err := recordfile.WriteNew(tx.original(i), m.was.Data, !bulk); err != nil {
			return err
		}
	}
	if err := tx.noteFolders(p.moves); err != nil {
		return err
	}
	sync := recordfile.SyncDir
	if bulk {
		sync = syncAll
	}
	if err := sync(tx.originals()); err != nil {
		return err
	}
	if err := tx.at("journal"); err != nil {
		return err
	}
	return tx.save()
}

// manyMoves is how many files are synced one by one. Of more, the whole file system is: it takes one wait for the disk
// instead of two a file.
const manyMoves = 256

// together reports whether the contents of moves are synced all at once.
func together(moves []move) bool { return recordfile.CanSyncAll && len(moves) > manyMoves }

func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // opened for reading
	return recordfile.SyncAll(d)
}

// noteFolders lists the folders that are there and may go, and those that are not there and will be made.
func (tx *transaction) noteFolders(moves []move) error {
	seen := map[string]bool{}
	for _, m := range moves {
		dirs := parents(m.path)
		if m.Before == nil {
			dirs = append(dirs, m.path) // perhaps an empty folder is there
		}
		for _, dir := range dirs {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			now, err := tx.tree.read(dir, 0)
			if err != nil {
				return err
			}
			switch {
			case now.dir && (m.After == nil || dir == m.path):
				tx.Folders = append(tx.Folders, folder{Path: dir, PathBytes: fix.RawPath(dir), Perm: now.perm})
			case now.dir:
				seen[dir] = false // a deletion may list it yet
			case dir != m.path:
				tx.Made = append(tx.Made, folder{Path: dir, PathBytes: fix.RawPath(dir)})
			}
		}
	}
	byName := func(a, b folder) int { return strings.Compare(a.FullPath(), b.FullPath()) }
	slices.SortFunc(tx.Folders, byName)
	slices.SortFunc(tx.Made, byName)
	return nil
}

// save writes the journal.
func (tx *transaction) save() error { return recordfile.WriteJSON(tx.file(), &tx.journal, true) }

// write puts every new content beside its path, then moves each into place, deletions first. Most of what can fail
// for want of space or permission fails before the first file changes.
func (tx *transaction) write(moves []move) error {
	temps := make([]string, len(moves))
	if together(moves) {
		tx.tree.staged = map[uint64]string{}
		defer func() { tx.tree.staged = nil }()
	}
	for i, m := range moves {
		if m.to == nil {
			continue
		}
		dir, err := tx.tree.nearest(m.path)
		if err != nil {
			return err
		}
		temps[i] = tx.temp(dir, i)
		if err := tx.at("stage " + m.path); err != nil {
			return err
		}
		if err := tx.stage(temps[i], m); err != nil {
			return err
		}
	}
	if err := tx.tree.syncStaged(); err != nil {
		return err
	}
	for _, deletions := range []bool{true, false} {
		for i, m := range moves {
			if deletions != (m.After == nil) {
				continue
			}
			if err := tx.replace(m, temps[i]); err != nil {
				return err
			}
		}
	}
	if err := tx.sync(); err != nil {
		return err
	}
	return tx.at("written")
}

// replace puts a staged content in the place of what was there, or removes that.
func (tx *transaction) replace(m move, temp string) error {
	step := "write "
	if m.After == nil {
		step = "delete "
	}
	if err := tx.at(step + m.path); err != nil {
		return err
	}
	if err := tx.unedited(m); err != nil {
		return err
	}
	if m.After != nil {
		return tx.moveIn(temp, m)
	}
	if err := tx.tree.unlink(m.path); err != nil {
		return err
	}
	return tx.tree.removeEmpty(m.path)
}

// stage writes the new content of a path beside it. Caches must not take a source for the one that was there, so its
// stamp has to differ (patch.Stamp): stage waits for that before the first file changes.
func (tx *transaction) stage(temp string, m move) error {
	perm, exact := m.target()
	for again := patch.Rewrites; ; again-- {
		if err := tx.tree.stage(temp, m.to, perm, exact); err != nil {
			return err
		}
		if err := tx.tree.give(temp, m.path); err != nil {
			return err
		}
		if again == 0 || m.was == nil || !patch.IsSource(m.path) || bytes.Equal(m.was.Data, m.to.Data) {
			return nil
		}
		old, err := tx.tree.stamp(m.path)
		if err != nil {
			return err
		}
		now, err := tx.tree.stamp(temp)
		if err != nil {
			return err
		}
		wait := now.Wait(old)
		if wait == 0 {
			return nil
		}
		time.Sleep(wait)
		if err := tx.tree.unlink(temp); err != nil {
			return err
		}
	}
}

// target returns the permission bits of what a move writes: those the file had, with the executable bits as the
// patch says. Of a new file the umask clears some (not exact). Bits that make a program run as somebody else do not
// survive a change.
func (m *move) target() (perm uint32, exact bool) {
	executable := m.After.Mode == "100755"
	if m.Before == nil || m.Before.Mode == "120000" {
		if executable {
			return 0o755, false
		}
		return 0o644, false
	}
	perm = m.Perm &^ (unix.S_ISUID | unix.S_ISGID)
	switch {
	case executable == (m.Before.Mode == "100755"):
	case executable:
		perm |= perm & 0o444 >> 2
	default:
		perm &^= 0o111
	}
	return perm, true
}

// moveIn moves a staged content into place, and makes the folders on the way.
func (tx *transaction) moveIn(temp string, m move) error {
	for _, dir := range slices.Backward(parents(m.path)) {
		if err := tx.tree.mkdir(dir, 0o755, false); err != nil {
			return err
		}
	}
	if m.Before == nil {
		if err := tx.tree.rmdir(m.path); err != nil && !errors.Is(err, unix.ENOTDIR) {
			return err
		}
	}
	return tx.tree.rename(temp, m.path)
}

// unedited checks once more, right before a file is replaced, that nobody edited it meanwhile.
func (tx *transaction) unedited(m move) error {
	now, err := tx.tree.read(m.path, larger(m.Before, m.After))
	if err != nil {
		return err
	}
	if !now.is(m.Before) && (m.Before != nil || !now.dir) {
		return refused("%w: %s (changed this moment); try again", ErrConflict, m.path)
	}
	return nil
}

// sync makes the new names last through a crash of the machine.
func (tx *transaction) sync() error {
	seen := map[string]bool{}
	for _, name := range tx.written() {
		for _, dir := range append(parents(name), ".") {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			if err := tx.tree.sync(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// advise adds to an error of writing the tree what to do about it.
func (tx *transaction) advise(err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return err
	}
	return advice.Writing(err, filepath.Join(tx.tree.top.Name(), filepath.FromSlash(path.Dir(at.Path))))
}

// rollback undoes what was written before cause.
func (tx *transaction) rollback(cause error) error {
	left, kept, err := tx.undo()
	if err != nil {
		return errors.Join(fmt.Errorf("%w; what was written could not be taken back yet, the next command tries again",
			cause), err)
	}
	if len(left) > 0 {
		cause = fmt.Errorf("%w; everything was undone but %s, which was edited meanwhile (its earlier content is in %s)",
			cause, english.List(left, 10), kept)
	} else {
		cause = fmt.Errorf("%w; everything was taken back", cause)
	}
	return errors.Join(cause, discard(tx.dir))
}

// finish records what was written and removes the journal. It may be called again after a crash anywhere in it.
func (tx *transaction) finish() error {
	if err := tx.at("record"); err != nil {
		return err
	}
	run := filepath.Join(tx.async, "runs", tx.Run)
	state := filepath.Join(run, "fixes", tx.Fix+fix.StateSuffix)
	if err := fix.CheckRunFolders(run); err != nil {
		return err
	}
	changes, err := fix.ReadState(state, tx.Digest)
	if err != nil {
		return err
	}
	recorded := slices.ContainsFunc(changes, func(c fix.StateChange) bool { return c.Apply == tx.ID })
	if !recorded && recordfile.IsFolder(filepath.Dir(state)) { // else the run was pruned meanwhile
		if err := fix.AddState(state, tx.Digest, tx.stateChange()); err != nil {
			return err
		}
	}
	if err := tx.at("clear"); err != nil {
		return err
	}
	return discard(tx.dir)
}

// discard removes everything in .async/apply but the lock; the journal first, since without it nothing else counts.
func discard(dir string) error {
	file := filepath.Join(dir, "journal.json")
	if recordfile.Exists(file) { // removing nothing fails too, where the file system is read-only
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lock" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, recordfile.SyncDir(dir))
}

func inode(file string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(file, &st); err != nil {
		return 0, err
	}
	return st.Ino, nil
}
