package runaudit

import (
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
	"github.com/async-pipeline/async-pipeline/hooks/fix/audit"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// An ImportedRun is a run that Import copied into the store.
type ImportedRun struct {
	Run     string
	Dir     string
	Fixes   []fix.Item
	Already bool     // it was here
	Called  string   // the name of the folder, where it is not the run's id
	LeftOut []string // files that stayed where they are, because no record of the run speaks of them; sorted
}

// ErrImport means that a folder is not imported: it is damaged, or this program cannot have made it.
var ErrImport = errors.New("not imported")

func notImported(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrImport}, args...)...)
}

// staging is the beginning of the name of a folder of .async in which a run is checked before it is imported.
const staging = "importing-"

// Import copies the runs in a folder into the store: from is a run's folder, an .async, or a folder that holds one.
// Each is copied and audited, and only then given its name: the id in its run.json, whatever the folder is called.
// Only files that its records speak of are copied, and the run is marked as imported. A run that is here already is
// left as it is. The error is ErrImport for one of the same id with other contents, and for a run that fails the
// audit. Of several runs those before the error are imported.
func Import(ctx context.Context, store *record.Store, from, typed, by string) (all []ImportedRun, err error) {
	dirs, err := runsIn(from)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(dirs, func(dir string) bool { return recordfile.Exists(filepath.Join(dir, "fixes")) }) {
		return nil, notImported("%s has no fixes/ folder: no fix was made there, or not all of the run was kept", dirs[0])
	}
	lock, err := store.HealLock() // nobody prunes or settles meanwhile
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := sweepStaging(store); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		r, err := importRun(ctx, store, dir, typed, by)
		if err != nil {
			return all, err
		}
		all = append(all, *r)
	}
	return all, nil
}

// runName matches the names of runs' folders.
var runName = lazily.Regexp(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}$`)

// runsIn returns from itself where that is a run's folder, else the runs' folders in it.
func runsIn(from string) ([]string, error) {
	if recordfile.Exists(filepath.Join(from, "run.json")) {
		return []string{from}, nil
	}
	for _, dir := range []string{filepath.Join(from, ".async", "runs"), filepath.Join(from, "runs"), from} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var found []string
		for _, e := range entries {
			if e.IsDir() && runName().MatchString(e.Name()) &&
				recordfile.Exists(filepath.Join(dir, e.Name(), "run.json")) {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, notImported("%s has no run.json, and no runs: name the folder of a run, or an .async folder", from)
}

// sweepStaging removes what a killed import left.
func sweepStaging(store *record.Store) error {
	entries, err := os.ReadDir(store.Dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), staging) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(store.Dir, e.Name())))
		}
	}
	return err
}

// importRun imports one run.
func importRun(ctx context.Context, store *record.Store, dir, typed, by string) (_ *ImportedRun, err error) {
	id, err := idOf(dir)
	if err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(store.Dir, staging)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	if err := os.Mkdir(filepath.Join(stage, "runs"), 0o700); err != nil {
		return nil, err
	}
	copied := filepath.Join(stage, "runs", id)
	hidden, err := audit.CopyRun(dir, copied)
	if err != nil {
		return nil, notImported("%s: %w", dir, err)
	}
	staged := &record.Store{Root: store.Root, Dir: stage}
	e := staged.Entry(id)
	if e.Sealed == nil {
		return nil, notImported("%s: %w", dir, errors.Join(errors.New("its verdict cannot be used"), e.Err))
	}
	if err := audit.MarkImported(copied, typed, by); err != nil { // before the audit: the mark tells which decisions were left out
		return nil, notImported("%s: %w", dir, err)
	}
	audited, err := Audit(staged, id, "")
	if err != nil {
		return nil, notImported("%s: %w", dir, err)
	}
	if len(audited.Faults) > 0 {
		f := audited.Faults[0]
		more := ""
		if n := len(audited.Faults) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		return nil, notImported("%s is damaged: %s: %s: expected %s, found %s%s", dir, f.File, f.Where,
			f.Expected, f.Found,
			more)
	}
	left, err := claimed(copied, audited.unclaimed)
	if err != nil {
		return nil, err
	}
	left = append(left, hidden...)
	slices.Sort(left)
	fixes := &fix.Store{Root: store.Root, Dir: stage}
	if err := audit.Importable(ctx, fixes, id, store.Root); err != nil {
		return nil, notImported("%s: %w", dir, err)
	}
	here := filepath.Join(store.Dir, "runs", id)
	done := &ImportedRun{Run: id, Dir: here, LeftOut: left}
	if name := filepath.Base(dir); name != id {
		done.Called = name
	}
	if recordfile.Exists(here) {
		same, err := audit.SameRun(copied, here)
		if err != nil {
			return nil, err
		}
		if !same {
			return nil, notImported("run %s is here already, with other contents: one of the two was changed; `async-pipeline fix audit %s` looks at the one here", id, id)
		}
		done.Already = true
	} else {
		if err := os.MkdirAll(filepath.Dir(here), 0o700); err != nil {
			return nil, err
		}
		if err := os.Rename(copied, here); err != nil {
			return nil, err
		}
	}
	items, _ := (&fix.Store{Root: store.Root, Dir: store.Dir}).List() // errors are of other runs: this one was audited
	for _, i := range items {
		if i.Run == id {
			done.Fixes = append(done.Fixes, i)
		}
	}
	return done, nil
}

// claimed removes from a run's folder, and returns, the files that no record speaks of, and those of fixes that were
// never sealed. Folders that become empty are removed, too.
func claimed(runDir string, unclaimed []string) ([]string, error) {
	unsealed, err := audit.Unsealed(runDir)
	if err != nil {
		return nil, err
	}
	left := slices.Concat(unclaimed, unsealed)
	slices.Sort(left)
	left = slices.Compact(left)
	for _, file := range left {
		if err := os.Remove(filepath.Join(runDir, filepath.FromSlash(file))); err != nil {
			return nil, err
		}
	}
	var folders []string
	err = filepath.WalkDir(runDir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path != runDir {
			folders = append(folders, path)
		}
		return err
	})
	for _, dir := range slices.Backward(folders) { // what is in a folder comes after it
		if entries, readErr := os.ReadDir(dir); readErr == nil && len(entries) == 0 {
			err = errors.Join(err, os.Remove(dir))
		}
	}
	return left, err
}

// idOf returns the id in a run's verdict: its folder may have been renamed.
func idOf(dir string) (string, error) {
	name := filepath.Join(dir, "run.json")
	text, err := recordfile.Read(name, 64<<20)
	if err != nil {
		return "", notImported("%w", err)
	}
	var r struct {
		SchemaVersion int    `json:"schema_version"`
		ID            string `json:"id"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return "", notImported("%s cannot be read: %w", name, err)
	}
	if r.SchemaVersion > record.SchemaVersion {
		return "", notImported("%s was made by a newer version of async-pipeline (schema_version %d, this one reads up to %d): update it", name, r.SchemaVersion, record.SchemaVersion)
	}
	if !runName().MatchString(r.ID) || record.Began(r.ID).After(time.Now().Add(24*time.Hour)) {
		return "", notImported("%s says that it is run %q, which is no id of a run", name, r.ID)
	}
	return r.ID, nil
}
