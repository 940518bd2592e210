package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// gone begins the name of a run's folder that is being removed.
const gone = ".gone-"

// Interrupted lists the ids of runs without run.json whose maker is no longer alive, oldest first.
func (s *Store) Interrupted() ([]string, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range ids {
		dir := filepath.Join(s.runs(), id)
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || s.hasVerdict(id) {
			continue
		}
		b, err := readFile(dir, "maker.json", 4096)
		var maker stamp
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// Between the folder and the stamp there are a few microseconds.
			if time.Since(info.ModTime()) < 10*time.Second {
				continue
			}
		case err == nil && json.Unmarshal(b, &maker) == nil && maker.alive():
			continue
		}
		// The maker may have sealed the run and ended while we looked.
		if !s.hasVerdict(id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// Prune removes sealed runs that keep says no to. While hooks are at work (heal.lock is held, by this process too) it
// removes nothing: the next Prune does. keep must say yes to a run with an open proposal.
func (s *Store) Prune(keep func(id string) bool) error {
	ids, err := s.ids()
	if err != nil {
		return err
	}
	var old []string
	for _, id := range ids {
		if s.hasVerdict(id) && !keep(id) {
			old = append(old, id)
		}
	}
	rest, err := s.leftovers()
	if err != nil {
		return err
	}
	if len(old)+len(rest) == 0 {
		return nil
	}
	lock, err := s.HealLock()
	if errors.Is(err, ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	var errs []error
	for _, id := range old {
		// First another name, at once: a run that is half removed must not look like one that was interrupted.
		to := filepath.Join(s.runs(), gone+id)
		if err := os.Rename(filepath.Join(s.runs(), id), to); err != nil {
			errs = append(errs, fmt.Errorf("removing run %s: %w", id, advise(err, s.runs())))
			continue
		}
		rest = append(rest, to)
	}
	for _, dir := range rest {
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, fmt.Errorf("removing what is left of a run: %w", err))
		}
	}
	return errors.Join(errs...)
}

// leftovers lists the folders that an earlier Prune did not get to the end of.
func (s *Store) leftovers() ([]string, error) {
	entries, err := os.ReadDir(s.runs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var dirs []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), gone) {
			dirs = append(dirs, filepath.Join(s.runs(), e.Name()))
		}
	}
	return dirs, err
}
