package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// Recovered tells how an interrupted apply or revert was settled.
type Recovered struct {
	What      string // apply | revert
	Run, Task string
	To        string // completed | undone
	Files     []string
	Left      []string  // those of Files that somebody edited since: they are left as they are
	Kept      string    // the folder with what Left held before the apply; empty without Left
	At        time.Time // when the apply began
}

// Recover completes an interrupted apply whose files are all in place, and undoes any other. Every verb calls it
// first. nil: nothing was interrupted. It waits for another process that applies, until ctx ends. It may itself be
// interrupted and called again.
func (t Tree) Recover(ctx context.Context) (*Recovered, error) {
	if err := recordfile.NoLinks(t.Fixes.Dir, t.dir()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(t.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != "lock" }) {
		return nil, nil
	}
	lock, err := t.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }() // ends with the process at the latest
	return t.settle(ctx)
}

// Unsettled returns what Recover would do. nil: nothing, or another process applies right now. It writes nothing and
// waits for nobody.
func (t Tree) Unsettled(ctx context.Context) (*Recovered, error) {
	if err := recordfile.NoLinks(t.Fixes.Dir, t.dir()); err != nil {
		return nil, err
	}
	if !recordfile.IsFolder(t.dir()) || recordfile.Locked(filepath.Join(t.dir(), "lock")) {
		return nil, nil
	}
	tx, r, err := t.interrupted(ctx)
	if tx == nil || err != nil {
		return nil, t.unsettled(err)
	}
	tx.tree.close()
	return r, nil
}

// settle is Recover for a caller that holds the lock.
func (t Tree) settle(ctx context.Context) (*Recovered, error) {
	tx, r, err := t.interrupted(ctx)
	if err != nil {
		return nil, t.unsettled(err)
	}
	if tx == nil { // it had not begun to write, or was done
		return nil, discard(t.dir())
	}
	defer tx.tree.close()
	if r.To == "completed" {
		if err := tx.complete(); err != nil {
			return nil, t.unsettled(err)
		}
		return r, nil
	}
	if r.Left, r.Kept, err = tx.undo(); err != nil {
		return nil, t.unsettled(err)
	}
	if err := tx.at("clear"); err != nil {
		return nil, err
	}
	return r, discard(t.dir())
}

// unsettled adds what a person can do when an interrupted apply cannot be settled; nil stays nil.
func (t Tree) unsettled(err error) error {
	if err == nil {
		return nil
	}
	tx := t.transaction(nil)
	return fmt.Errorf("an interrupted apply could not be settled: %w; its journal is %s, what the files held is in %s; "+
		"put the files right by hand, then remove %s", err, tx.file(), tx.originals(), tx.dir)
}

// interrupted reads what an interrupted apply left, and what should become of it; it changes nothing. nil: there is
// none. The caller closes the transaction's tree.
func (t Tree) interrupted(ctx context.Context) (*transaction, *Recovered, error) {
	tx := t.transaction(nil)
	text, err := recordfile.Read(tx.file(), recordfile.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err == nil {
		err = tx.load(text)
	}
	if err != nil {
		return nil, nil, err
	}
	root, err := t.root(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	if root.sub != tx.Sub {
		return nil, nil, fmt.Errorf("the pipeline's folder was at %q of its work tree then and is at %q now", tx.Sub,
			root.sub)
	}
	if tx.tree, err = openWorktree(root.top); err != nil {
		return nil, nil, err
	}
	complete, err := tx.inPlace()
	if err != nil {
		tx.tree.close()
		return nil, nil, err
	}
	r := &Recovered{What: cmp.Or(tx.What, toApply), Run: tx.Run, Task: tx.Task, To: "undone", Files: tx.written()}
	if complete {
		r.To = "completed"
	}
	r.At, _ = time.Parse(time.RFC3339, tx.StartedAt) // for the message only
	return tx, r, nil
}

// written returns the paths of the entries.
func (j *journal) written() []string {
	paths := []string{}
	for _, e := range j.Entries {
		paths = append(paths, e.FullPath())
	}
	return paths
}

// load reads a journal, and obeys only one that was written here.
func (tx *transaction) load(text []byte) error {
	if err := fix.CheckVersion(tx.file(), text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &tx.journal); err != nil {
		return err
	}
	lock, err := inode(filepath.Join(tx.dir, "lock"))
	if err != nil {
		return err
	}
	if lock != tx.Lock {
		return errors.New("the journal was not written in this place (it came here with a copy or a repository)")
	}
	for _, name := range []string{tx.Run, tx.Fix, tx.ID} {
		if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return fmt.Errorf("%q is no name of a run or fix", name)
		}
	}
	names := tx.written()
	for _, f := range slices.Concat(tx.Folders, tx.Made) {
		names = append(names, f.FullPath())
	}
	for _, name := range names {
		if err := patch.CheckPath(name); err != nil {
			return err
		}
	}
	return nil
}

// inPlace reports whether every file is written.
func (tx *transaction) inPlace() (bool, error) {
	if tx.Written {
		return true, nil
	}
	for i := range tx.Entries {
		e := &tx.Entries[i]
		now, err := tx.tree.read(e.FullPath(), larger(e.Before, e.After))
		if err != nil {
			return false, err
		}
		if !now.is(e.After) && (e.After != nil || !now.dir) { // a folder may have taken the place of a deleted file
			return false, nil
		}
	}
	return true, nil
}

// complete ends a transaction whose files are all in place.
func (tx *transaction) complete() error {
	if !tx.Written {
		if err := tx.removeTemps(); err != nil {
			return err
		}
		for i := range tx.Entries {
			if e := &tx.Entries[i]; e.After == nil {
				if err := tx.tree.removeEmpty(e.FullPath()); err != nil {
					return err
				}
			}
		}
		if err := tx.sync(); err != nil {
			return err
		}
		if err := tx.at("written"); err != nil {
			return err
		}
		tx.Written = true // from now on the edits of a person are kept
		if err := tx.save(); err != nil {
			return err
		}
	}
	return tx.finish()
}

// undo takes back what was written, of each file only if it still holds that. Files that somebody edited since are
// left as they are, and what they held before is kept in a folder of its own. It may be interrupted and called
// again.
func (tx *transaction) undo() (left []string, kept string, err error) {
	if err := tx.removeTemps(); err != nil {
		return nil, "", err
	}
	// What was added goes first: a folder may have to come back in its place.
	for i := range tx.Entries {
		e := &tx.Entries[i]
		if e.Before != nil {
			continue
		}
		if err := tx.at("undo " + e.FullPath()); err != nil {
			return nil, "", err
		}
		now, err := tx.tree.read(e.FullPath(), larger(nil, e.After))
		switch {
		case err != nil:
		case now.is(e.After):
			err = tx.tree.unlink(e.FullPath())
		case now.file != nil || now.other:
			left = append(left, e.FullPath())
		}
		if err != nil {
			return nil, "", err
		}
	}
	for _, dir := range slices.Backward(tx.Made) {
		if err := tx.tree.rmdir(dir.FullPath()); err != nil {
			return nil, "", err
		}
	}
	for _, f := range tx.Folders {
		if err := tx.tree.mkdir(f.FullPath(), f.Perm, true); err != nil && !notThere(err) {
			return nil, "", err
		}
	}
	for i := range tx.Entries {
		e := &tx.Entries[i]
		if e.Before == nil {
			continue
		}
		if err := tx.at("undo " + e.FullPath()); err != nil {
			return nil, "", err
		}
		back, err := tx.restore(i)
		if err != nil {
			return nil, "", err
		}
		if !back {
			left = append(left, e.FullPath())
			if kept, err = tx.keep(i); err != nil {
				return nil, "", err
			}
		}
	}
	return left, kept, tx.sync()
}

// restore writes what the n-th entry held before; false when somebody edited it since.
func (tx *transaction) restore(n int) (bool, error) {
	e := &tx.Entries[n]
	now, err := tx.tree.read(e.FullPath(), larger(e.Before, e.After))
	if err != nil {
		return false, err
	}
	if now.is(e.Before) {
		return true, nil
	}
	if !now.is(e.After) {
		return false, nil
	}
	dir, err := tx.tree.nearest(e.FullPath())
	if err != nil {
		return false, err
	}
	if above := parents(e.FullPath()); len(above) > 0 && dir != above[0] {
		return false, nil // somebody put something else where its folder was
	}
	f, err := tx.stored(n)
	if err != nil {
		return false, err
	}
	temp := tx.temp(dir, n)
	if err := tx.tree.stage(temp, f, e.Perm, true); err != nil {
		return false, err
	}
	if err := tx.tree.give(temp, e.FullPath()); err != nil {
		return false, err
	}
	if err := tx.at("restore " + e.FullPath()); err != nil {
		return false, err
	}
	return true, tx.tree.rename(temp, e.FullPath())
}

// stored returns the original of the n-th entry, checked against the journal.
func (tx *transaction) stored(n int) (*patch.File, error) {
	e := tx.Entries[n]
	b, err := recordfile.Read(tx.original(n), recordfile.MaxPatch)
	if err != nil {
		return nil, err
	}
	f := e.Before.File(b)
	if !(node{file: f}).is(e.Before) {
		return nil, fmt.Errorf("%s is not what %s contained", tx.original(n), e.FullPath())
	}
	return f, nil
}

// keep copies an original to a folder where it stays.
func (tx *transaction) keep(n int) (string, error) {
	kept := filepath.Join(tx.async, "kept")
	if err := recordfile.NoLinks(kept); err != nil {
		return "", err
	}
	f, err := tx.stored(n)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(kept, tx.ID)
	to := filepath.Join(dir, filepath.FromSlash(tx.Entries[n].FullPath()))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	return dir, recordfile.Write(to, f.Data, true)
}

// removeTemps removes contents that were staged and not moved into place.
func (tx *transaction) removeTemps() error {
	for i, name := range tx.written() {
		for _, dir := range append(parents(name), ".") {
			if temp := tx.temp(dir, i); !tx.tree.absent(temp) {
				if err := tx.tree.unlink(temp); err != nil && !notThere(err) {
					return err
				}
			}
		}
	}
	return nil
}
