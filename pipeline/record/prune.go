package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// gone is the prefix of the name of a run that is being removed. It is not the name of a run, so what a crash leaves
// is not read as one.
const gone = ".gone-"

// Prune removes, oldest first, runs for which keep returns false: sealed ones, and interrupted ones whose maker is
// gone; never a run in progress, nor a sealed one while hooks work here (heal.lock), as they may work for it. It
// returns the ids removed. A run that cannot be removed completely is named in the error; the others are removed all
// the same. It also removes what an earlier Prune left when it was killed.
func (s *Store) Prune(keep func(id string) bool) ([]string, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	if ours, err := s.isOurs(); !ours {
		return nil, err
	}
	runs, err := os.OpenRoot(s.runs()) // from here on no link can lead elsewhere
	if err != nil {
		return nil, err
	}
	defer func() { _ = runs.Close() }()

	// Held, so that no heal begins on a run while it is being removed.
	heal, err := s.HealLock()
	if err != nil && !errors.Is(err, ErrLocked) {
		return nil, err
	}
	if heal != nil {
		defer func() { _ = heal.Unlock() }()
	}
	dead, err := s.Interrupted()
	if err != nil {
		return nil, err
	}
	errs := []error{sweep(runs)}
	var removed []string
	for _, id := range ids {
		if sealed := s.HasVerdict(id); sealed && heal == nil || !sealed && !slices.Contains(dead, id) || keep(id) {
			continue
		}
		switch err := remove(runs, id); {
		case errors.Is(err, fs.ErrNotExist): // somebody else was quicker
		case err != nil:
			errs = append(errs, fmt.Errorf("run %s could not be removed whole: %w; remove what is left of it by hand: %s", id, err, filepath.Join(s.runs(), gone+id)))
		default:
			removed = append(removed, id)
		}
	}
	return removed, errors.Join(errs...)
}

// remove takes a run out of the store by a rename, and then removes its files.
func remove(runs *os.Root, id string) error {
	if err := runs.Rename(id, gone+id); err != nil {
		return err
	}
	return runs.RemoveAll(gone + id)
}

// sweep removes what is left of runs whose removal was interrupted.
func sweep(runs *os.Root) error {
	dir, err := runs.Open(".")
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	errs := []error{err, dir.Close()}
	for _, name := range names {
		if id, ok := strings.CutPrefix(name, gone); ok && journal.IsRun(id) {
			errs = append(errs, runs.RemoveAll(name))
		}
	}
	return errors.Join(errs...)
}
