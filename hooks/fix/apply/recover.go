// Recover settles what an interrupted apply left.

package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Recovered says what an interrupted apply or revert was settled to.
type Recovered struct {
	What      string // apply | revert
	Run, Task string
	To        string // completed | undone
	Files     []string
	Left      []string  // files that somebody edited since: not touched
	Kept      string    // folder with what those held before the apply; empty when none is left
	At        time.Time // when the apply had begun
}

// Recover completes or undoes an interrupted apply: completes it when every file is in its place, else undoes it. The
// hall calls it before any verb. nil: nothing was to be done. While another process applies it waits, until ctx ends. It
// may itself be interrupted and called again.
func (t Tree) Recover(ctx context.Context) (*Recovered, error) {
	if err := recordfile.NoLinks(t.Fixes.Dir, t.applyDir()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(t.applyDir())
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
	defer func() { _ = lock.Close() }() // the kernel takes it back with the process at the latest
	return t.settle(ctx)
}

// Unsettled says what Recover would do: To is completed or undone. nil: nothing is to be done, or another process applies
// right now. Nothing is written, and nobody is waited for.
func (t Tree) Unsettled(ctx context.Context) (*Recovered, error) {
	if err := recordfile.NoLinks(t.Fixes.Dir, t.applyDir()); err != nil {
		return nil, err
	}
	if !recordfile.IsFolder(t.applyDir()) || recordfile.Locked(filepath.Join(t.applyDir(), "lock")) {
		return nil, nil
	}
	a, err := t.interrupted(ctx)
	if err != nil {
		return nil, t.unsettled(err)
	}
	if a == nil {
		return nil, nil
	}
	a.pl.close()
	return a.recovered(), nil
}

// settle is Recover for who holds the lock.
func (t Tree) settle(ctx context.Context) (*Recovered, error) {
	a, err := t.interrupted(ctx)
	if err != nil {
		return nil, t.unsettled(err)
	}
	if a == nil { // it had not begun to write, or was done
		return nil, t.clear()
	}
	defer a.pl.close()
	r := a.recovered()
	if a.complete {
		if err := t.complete(a.pl, a.j); err != nil {
			return nil, t.unsettled(err)
		}
		return r, nil
	}
	if r.Left, r.Kept, err = t.undo(a.pl, a.j); err != nil {
		return nil, t.unsettled(err)
	}
	if err := t.at("clear"); err != nil {
		return nil, err
	}
	return r, t.clear()
}

// An interruption is an apply that was begun and not ended.
type interruption struct {
	j        *applying
	pl       *place // open
	complete bool   // every file is in its place
}

// interrupted looks at what an interrupted apply left, and changes nothing; nil: there is none. The place is the caller's to
// close.
func (t Tree) interrupted(ctx context.Context) (*interruption, error) {
	text, err := recordfile.Read(t.journalPath(), recordfile.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j, err := t.readJournal(text)
	if err != nil {
		return nil, err
	}
	top, _, err := t.top(ctx, nil)
	if err != nil {
		return nil, err
	}
	sub, err := t.under(top)
	if err != nil {
		return nil, err
	}
	if sub != j.Sub {
		return nil, fmt.Errorf("the pipeline's folder was at %q of its work tree then and is at %q now", j.Sub, sub)
	}
	pl, err := openPlace(top)
	if err != nil {
		return nil, err
	}
	complete, err := j.complete(pl)
	if err != nil {
		pl.close()
		return nil, err
	}
	return &interruption{j, pl, complete}, nil
}

// recovered says what becomes of it.
func (a *interruption) recovered() *Recovered {
	r := &Recovered{What: cmp.Or(a.j.What, toApply), Run: a.j.Run, Task: a.j.Task, To: "undone", Files: []string{}}
	if a.complete {
		r.To = "completed"
	}
	r.At, _ = time.Parse(time.RFC3339, a.j.StartedAt) // for the message only
	for i := range a.j.Entries {
		r.Files = append(r.Files, a.j.Entries[i].name())
	}
	return r
}

// unsettled says what a person can do when an interrupted apply cannot be settled.
func (t Tree) unsettled(err error) error {
	return fmt.Errorf("an interrupted apply could not be settled: %w; its journal is %s, what the files held is in %s; put the files right by hand, then remove %s",
		err, t.journalPath(), t.originalsDir(), t.applyDir())
}

// readJournal reads a journal and believes only one that was written here.
func (t Tree) readJournal(text []byte) (*applying, error) {
	if err := fix.CheckVersion(t.journalPath(), text); err != nil {
		return nil, err
	}
	j := &applying{}
	if err := json.Unmarshal(text, j); err != nil {
		return nil, err
	}
	lock, err := inode(filepath.Join(t.applyDir(), "lock"))
	if err != nil {
		return nil, err
	}
	if lock != j.Lock {
		return nil, errors.New("the journal was not written in this place (it came here with a copy or a repository)")
	}
	for _, name := range []string{j.Run, j.Fix, j.ID} {
		if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
			return nil, fmt.Errorf("%q is no name of a run or fix", name)
		}
	}
	var names []string
	for i := range j.Entries {
		names = append(names, j.Entries[i].name())
	}
	for _, f := range slices.Concat(j.Folders, j.Made) {
		names = append(names, f.name())
	}
	for _, name := range names {
		if err := safePath(name); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// complete says whether every file is in its place.
func (j *applying) complete(pl *place) (bool, error) {
	if j.Written {
		return true, nil
	}
	for i := range j.Entries {
		e := &j.Entries[i]
		h, err := pl.look(e.name(), most(e.Before, e.After))
		if err != nil {
			return false, err
		}
		if !h.holds(e.After) && (e.After != nil || !h.dir) { // a folder may have taken the place of a deleted file
			return false, nil
		}
	}
	return true, nil
}

// complete ends an apply whose files are all in their place.
func (t Tree) complete(pl *place, j *applying) error {
	if !j.Written {
		if err := removeTemps(pl, j); err != nil {
			return err
		}
		for i := range j.Entries {
			if e := &j.Entries[i]; e.After == nil {
				if err := emptied(pl, e.name()); err != nil {
					return err
				}
			}
		}
		if err := syncFolders(pl, j); err != nil {
			return err
		}
		if err := t.at("written"); err != nil {
			return err
		}
		j.Written = true // a person who edits from now on keeps the edit
		if err := t.writeJournal(j); err != nil {
			return err
		}
	}
	return t.finish(j)
}

// undo takes back what was written: of each file only if it still holds what the apply wrote. Files that somebody
// edited since are left as they are, and what they held is kept in a folder of its own. It may be interrupted and done
// again.
func (t Tree) undo(pl *place, j *applying) (left []string, kept string, err error) {
	if err := removeTemps(pl, j); err != nil {
		return nil, "", err
	}
	// What was added goes first: it may stand where a folder has to come back.
	for i := range j.Entries {
		e := &j.Entries[i]
		if e.Before != nil {
			continue
		}
		if err := t.at("undo " + e.name()); err != nil {
			return nil, "", err
		}
		h, err := pl.look(e.name(), most(nil, e.After))
		switch {
		case err != nil:
		case h.holds(e.After):
			err = pl.unlink(e.name())
		case h.file != nil || h.other:
			left = append(left, e.name())
		}
		if err != nil {
			return nil, "", err
		}
	}
	for _, dir := range slices.Backward(j.Made) {
		if err := pl.rmdir(dir.name()); err != nil {
			return nil, "", err
		}
	}
	for _, f := range j.Folders {
		if err := pl.mkdir(f.name(), f.Perm, true); err != nil && !absent(err) {
			return nil, "", err
		}
	}
	for i := range j.Entries {
		e := &j.Entries[i]
		if e.Before == nil {
			continue
		}
		if err := t.at("undo " + e.name()); err != nil {
			return nil, "", err
		}
		back, err := t.restore(pl, j, i)
		if err != nil {
			return nil, "", err
		}
		if !back {
			left = append(left, e.name())
			if kept, err = t.keep(j, i); err != nil {
				return nil, "", err
			}
		}
	}
	return left, kept, syncFolders(pl, j)
}

// restore puts the n-th entry back as it was; false when somebody edited it since.
func (t Tree) restore(pl *place, j *applying, n int) (bool, error) {
	e := &j.Entries[n]
	h, err := pl.look(e.name(), most(e.Before, e.After))
	if err != nil {
		return false, err
	}
	if h.holds(e.Before) {
		return true, nil
	}
	if !h.holds(e.After) {
		return false, nil
	}
	dir, err := pl.nearest(e.name())
	if err != nil {
		return false, err
	}
	if ps := parents(e.name()); len(ps) > 0 && dir != ps[0] {
		return false, nil // somebody put something else where its folder was
	}
	f, err := t.stored(j, n)
	if err != nil {
		return false, err
	}
	temp := j.temp(dir, n)
	if err := pl.stage(temp, f, e.Perm, true); err != nil {
		return false, err
	}
	if err := t.at("restore " + e.name()); err != nil {
		return false, err
	}
	return true, pl.rename(temp, e.name())
}

// keep copies an original to where it stays.
func (t Tree) keep(j *applying, n int) (string, error) {
	if err := recordfile.NoLinks(filepath.Join(t.Fixes.Dir, "kept")); err != nil {
		return "", err
	}
	dir := filepath.Join(t.Fixes.Dir, "kept", j.ID)
	f, err := t.stored(j, n)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, filepath.FromSlash(j.Entries[n].name()))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	return dir, recordfile.Write(to, f.Data, true)
}

// removeTemps removes contents that were staged and have no name yet.
func removeTemps(pl *place, j *applying) error {
	for i := range j.Entries {
		for _, dir := range append(parents(j.Entries[i].name()), ".") {
			if temp := j.temp(dir, i); !pl.nothing(temp) {
				if err := pl.unlink(temp); err != nil && !absent(err) {
					return err
				}
			}
		}
	}
	return nil
}
