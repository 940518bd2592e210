package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// An Abandoned is a fix that was begun and never sealed, and whose maker is gone.
type Abandoned struct{ Run, Task string }

// Abandoned returns them, oldest first. The errors name what cannot be read.
func (s *Store) Abandoned() ([]Abandoned, []error) {
	runs, errs := s.Runs()
	var all []Abandoned
	for _, run := range runs {
		dir := filepath.Join(s.Dir, "runs", run)
		names, err := Unsealed(dir)
		for _, name := range names {
			p, fault := ReadDraft(dir, run, name)
			if p != nil {
				all = append(all, Abandoned{run, p.Task})
			}
			err = errors.Join(err, fault)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return all, errs
}

// Unsealed returns the names of folders of fixes, in a run's folder, that have no record beside them. A link is an
// error.
func Unsealed(runDir string) (names []string, err error) {
	if err := CheckRunFolders(runDir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	folder := filepath.Join(runDir, "fixes")
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name := e.Name()
		switch path := filepath.Join(folder, name); {
		case strings.HasPrefix(name, "."), recordfile.Exists(path + ".json"):
		case e.IsDir():
			names = append(names, name)
		case !strings.Contains(name, "."):
			err = errors.Join(err, recordfile.NoLinks(path))
		}
	}
	return names, err
}

// Keeps returns why a run must not be removed: a proposal of it is open, a fix is being made or was not settled, or
// its fixes cannot be read. "": it may be.
func (s *Store) Keeps(run string) string {
	dir := filepath.Join(s.Dir, "runs", run)
	names, err := Unsealed(dir)
	if err != nil {
		return "its fixes cannot be read: " + err.Error()
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return recordfile.Exists(filepath.Join(dir, "fixes", name, "draft.json"))
	}) {
		return "a fix of it is not finished"
	}
	fixes, _, faults := s.InRun(run)
	if len(faults) > 0 {
		return "its fixes cannot be read: " + faults[0].Error()
	}
	if slices.ContainsFunc(fixes, func(p *Proposal) bool { return p.Disposition == Open }) {
		return "it has an open proposal"
	}
	return ""
}

// A HookRun is how an on_fail "run" ended.
type HookRun struct {
	Task       string  `json:"task"`
	ExitCode   *int    `json:"exit_code"`
	Error      string  `json:"error"` // empty when it passed
	DurationMS int64   `json:"duration_ms"`
	Log        *string `json:"log"` // relative to the run's folder
}

// HookRuns returns the on_fail "run" hooks of a run, in the order they ended; with an error those before a damaged
// line.
func (s *Store) HookRuns(run string) ([]HookRun, error) {
	dir := filepath.Join(s.Dir, "runs", run)
	if err := CheckRunFolders(dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	path := filepath.Join(dir, "fixes", "events.jsonl")
	text, err := recordfile.Read(path, recordfile.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []HookRun
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // a crash left half of it
		}
		var l struct {
			Type string `json:"type"`
			HookRun
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return all, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
		}
		if l.Type == "hook_run_finished" {
			all = append(all, l.HookRun)
		}
	}
	return all, nil
}
