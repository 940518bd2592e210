// Package runaudit checks whether everything in the folder of a run is still what its records say, and takes in runs
// that were made elsewhere and pass that check.
package runaudit

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

	"github.com/async-pipeline/async-pipeline/hooks/fix/audit"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// An Audited tells what an audit of one run found. Files are relative to the run's folder.
type Audited struct {
	Run    string          `json:"run"`
	Fixes  []string        `json:"fixes"`  // names of the audited fixes, as their files have them
	Files  int             `json:"files"`  // how many files some record speaks of
	Faults []journal.Fault `json:"faults"` // what is not as a record says
	Notes  []journal.Note  `json:"notes"`  // what was not checked, and why

	unclaimed []string // files that no record speaks of, sorted
}

// Audit compares everything in a run's folder with what run.json, the journals and the fixes say of it. With a task
// it audits only the fixes of that task. It writes nothing. An error means that the audit could not be carried out;
// what is not as a record says is in Faults.
func Audit(store *record.Store, id, task string) (a Audited, err error) {
	var unclaimed []string
	e := store.Entry(id)
	root, err := os.OpenRoot(e.Dir)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	r := journal.NewReport(root)
	switch {
	case e.Err != nil:
		r.Fault("run.json", "whole file", "a verdict", e.Err.Error())
	case e.Sealed != nil:
		e.Sealed.Audit(r)
	case e.Live:
		r.Note("run.json", "the run is still running: nothing is sealed")
	default:
		r.Note("run.json", "%s", noVerdict(e.Dir))
	}
	looked, err := audit.Run(r, e.Dir, task)
	if err != nil {
		return a, err
	}
	err = audit.Import(r, e.Dir)
	if e.Sealed != nil && err == nil {
		if len(looked) == 0 && task == "" && !r.Files["fixes/events.jsonl"] {
			r.Note("run.json", "no fix and no journal of the hooks has its digest: of its own bytes only what events.jsonl tells too was checked")
		}
		unclaimed, err = unknown(r, root)
	}
	slices.SortStableFunc(r.Faults, func(a, b journal.Fault) int { return strings.Compare(a.File, b.File) })
	return Audited{
		Run: id, Fixes: append([]string{}, looked...), Files: len(r.Files), Faults: r.Faults, Notes: r.Notes,
		unclaimed: unclaimed,
	}, err
}

// noVerdict returns what is known of a run without run.json whose maker is gone.
func noVerdict(dir string) string {
	// What cannot be read tells nothing.
	text, _ := recordfile.Read(filepath.Join(dir, "events.jsonl"), recordfile.MaxJSON)
	last := text[bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1:]
	var end struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	}
	if json.Unmarshal(last, &end) == nil && end.Type == "run_finished" {
		return fmt.Sprintf("there is none, though events.jsonl ends with its verdict (%s): it was removed, or its "+
			"runner was killed right before it wrote it", end.Status)
	}
	return "there is none: the run was interrupted, and nothing says what its files were"
}

// makerFile names the process that records a run. Once there is a verdict nobody reads it, so no record has its
// digest.
const makerFile = "maker.json"

// plainMaker reports whether makerFile is as a runner writes it: then it needs no note.
func plainMaker(root *os.Root, e fs.DirEntry) bool {
	info, err := e.Info()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return false
	}
	text, err := root.ReadFile(makerFile)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var stamp process.Stamp
	return err == nil && d.Decode(&stamp) == nil && stamp.PID > 0 && !d.More()
}

// unknown notes and returns the files that no record speaks of.
func unknown(r *journal.Report, root *os.Root) (unclaimed []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir(), r.Files[file], file == makerFile && plainMaker(root, e),
			strings.HasSuffix(file, journal.EndSuffix) && r.Files[strings.TrimSuffix(file, journal.EndSuffix)]:
		default:
			r.Note(file, "no record says anything about it")
			unclaimed = append(unclaimed, file)
		}
		return nil
	})
	return unclaimed, err
}
