// Package audit checks whether the records of a run's fixes are still what they were, and takes in records that were
// made elsewhere.
//
// What is believed, from the top: fixes/events.jsonl, a chain with its end file, names the digest of run.json and of
// each sealed <name>.json. That names the digest of every file of the fix and of the context pack; the journal names
// those of the packs too, also of tasks that nobody tried to fix. <name>.state.jsonl is a chain that begins with the
// digest of <name>.json and has an end file; events.jsonl has a line for each of its lines too. So one flipped byte
// or one missing line or file is found, and where it is. Nobody finds who writes all of this anew, consistently: no
// anchor lies outside the folder.
package audit

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// An audit checks the fixes of one run against what their journal says.
type audit struct {
	*journal.Report
	dir, run  string
	runDigest string // of run.json as it is; empty: it cannot be read
	events
}

// Run adds to a report everything that is not as the records of a run's fixes say. runDir is .async/runs/<run>. task
// selects the fixes of one task, or with TASK@N one of them; empty: all. It returns the names of the fixes that it
// checked.
func Run(r *journal.Report, runDir, task string) ([]string, error) {
	a := &audit{Report: r, dir: runDir, run: filepath.Base(runDir)}
	if err := fix.CheckRunFolders(a.dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(a.dir, "fixes"))
	if errors.Is(err, fs.ErrNotExist) && !recordfile.Exists(filepath.Join(a.dir, fix.MarkFile)) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names, drafts []string
	ended, marked := false, ""
	for _, e := range entries {
		name, sealed := strings.CutSuffix(e.Name(), ".json")
		switch {
		case strings.HasPrefix(name, "."):
		case sealed:
			names = append(names, name)
			var f struct {
				Provenance *struct{}       `json:"provenance"`
				Advice     json.RawMessage `json:"advice"` // null counts: versions that wrote no mark had no such field
			}
			text, err := recordfile.Read(filepath.Join(a.dir, "fixes", e.Name()), recordfile.MaxJSON)
			if err == nil && json.Unmarshal(text, &f) == nil {
				ended = ended || f.Provenance != nil
				if f.Advice != nil {
					marked = e.Name()
				}
			}
		case e.IsDir() && !recordfile.Exists(filepath.Join(a.dir, "fixes", e.Name()+".json")):
			drafts = append(drafts, e.Name())
		}
	}
	a.readEvents(ended)
	a.mark(marked)
	var checked []string
	for _, name := range names {
		if a.fix(name, task) {
			checked = append(checked, name)
		}
	}
	for name, s := range a.sealed {
		if !slices.Contains(names, name) {
			a.Fault("fixes/"+name+".json", s.where(), "a sealed fix", "none: it is gone")
			a.own(name)
		}
	}
	for _, name := range drafts {
		if _, sealed := a.sealed[name]; !sealed {
			a.own(name)
			a.Note("fixes/"+name, "a fix that was begun and not sealed: nothing tells what its files were")
		}
	}
	for file, p := range a.packs {
		switch {
		case path.Dir(file) != "context" || !filepath.IsLocal(filepath.FromSlash(file)):
			a.Fault(eventsFile, p.where(), "a file below context", file)
		case !a.Files[file]: // those that a fix names were checked
			a.Digest(file, p.where(), -1, p.digest)
		}
	}
	return checked, nil
}
