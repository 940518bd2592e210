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
		drafts, faults := s.drafts(run)
		errs = append(errs, faults...)
		for _, p := range drafts {
			all = append(all, Abandoned{run, p.Task})
		}
	}
	return all, errs
}

// drafts returns the abandoned fixes of one run.
func (s *Store) drafts(run string) ([]*Proposal, []error) {
	dir := filepath.Join(s.Dir, "runs", run)
	entries, err := s.entries(dir)
	if err != nil {
		return nil, []error{err}
	}
	var all []*Proposal
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") ||
			recordfile.Exists(filepath.Join(dir, "fixes", e.Name()+".json")) {
			continue
		}
		p, err := ReadDraft(dir, run, e.Name())
		if err != nil {
			errs = append(errs, err)
		}
		if p != nil {
			all = append(all, p)
		}
	}
	return all, errs
}

// entries lists the fixes folder of a run; none if there is no such folder.
func (s *Store) entries(runDir string) ([]os.DirEntry, error) {
	if err := CheckRunFolders(runDir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	entries, err := os.ReadDir(filepath.Join(runDir, "fixes"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Keeps returns why a run must not be removed: a proposal of it is open, a fix is being made or was not settled, or
// its fixes cannot be read. "": it may be.
func (s *Store) Keeps(run string) string {
	dir := filepath.Join(s.Dir, "runs", run)
	entries, err := s.entries(dir)
	if err != nil {
		return "its fixes cannot be read: " + err.Error()
	}
	if len(entries) == 0 {
		return ""
	}
	for _, e := range entries {
		if e.IsDir() && recordfile.Exists(filepath.Join(dir, "fixes", e.Name(), "draft.json")) &&
			!recordfile.Exists(filepath.Join(dir, "fixes", e.Name()+".json")) {
			return "a healing of it has not ended"
		}
	}
	fixes, _, faults := s.InRun(run)
	if len(faults) > 0 {
		return "its fixes cannot be read: " + faults[0].Error()
	}
	if slices.ContainsFunc(fixes, func(p *Proposal) bool { return p.Disposition == Open }) {
		return "it has a proposal that nobody has decided on"
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
