// Package audit checks whether the records of a run's fixes are still what they were, and takes in records that were
// made elsewhere.
//
// What is believed, from the top: fixes/events.jsonl, a chain with its end file, names the digest of run.json and of
// each sealed <name>.json. That names the digest of every file of the fix and of the context pack; the journal names
// those of the packs too, also of tasks that nobody tried to fix. <name>.state.jsonl is a chain that begins with the
// digest of <name>.json and has an end file; events.jsonl has a line for each of its lines too. So one flipped byte
// or one missing line or file is found, and where it is. Nobody finds who writes all of this anew, consistently: no
// anchor is outside the folder.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
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

const eventsFile = "fixes/" + fix.EventsFile

// events is what the journal of the hooks tells of other files.
type events struct {
	chain     journal.Chain
	whole     bool                   // the journal is as it was written
	opened    string                 // digest of run.json
	sealed    map[string]told        // <name>.json, by name
	packs     map[string]told        // context packs, by file
	decisions map[string][]fix.Trace // by name
}

// A told is a digest in one line of the journal.
type told struct {
	digest string
	line   int
}

func (t told) where() string { return fmt.Sprintf("line %d of %s", t.line, eventsFile) }

// readEvents checks the journal and reads its events. ended: it must have an end file.
func (a *audit) readEvents(ended bool) {
	a.events = events{sealed: map[string]told{}, packs: map[string]told{}}
	a.Files["run.json"] = true
	if b, err := recordfile.Read(filepath.Join(a.dir, "run.json"), recordfile.MaxJSON); err == nil {
		a.runDigest = recordfile.Digest(b)
	}
	a.chain, a.whole = a.Chain(eventsFile, "the journal of the hooks", nil, nil, ended)
	for i, line := range a.chain.Lines {
		var l struct {
			Type      string  `json:"type"`
			RunDigest string  `json:"run_digest"`
			Fix       string  `json:"fix"`
			Path      string  `json:"path"`
			Digest    string  `json:"digest"`
			Log       *string `json:"log"`
			LogDigest *string `json:"log_digest"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			a.Fault(eventsFile, fmt.Sprintf("line %d", i+1), "fields of an event", err.Error())
			continue
		}
		said := told{l.Digest, i + 1}
		switch l.Type {
		case "opened":
			a.opened = l.RunDigest
			if l.RunDigest != a.runDigest {
				a.Fault("run.json", said.where(), l.RunDigest, a.runDigest)
			}
		case "sealed":
			a.sealed[l.Fix] = said
		case fix.Packed:
			a.packs[l.Path] = said
		case "hook_run_finished":
			switch {
			case l.Log == nil:
			case l.LogDigest != nil && path.Dir(*l.Log) == "fixes" && filepath.IsLocal(*l.Log):
				a.Digest(*l.Log, said.where(), -1, *l.LogDigest)
			default:
				a.Files[*l.Log] = true
				a.Note(*l.Log, "the journal has no digest of it")
			}
		}
	}
	var err error
	if a.decisions, err = fix.Traces(a.dir, a.chain); err != nil {
		a.Fault(eventsFile, "what it tells of decisions", "a fix, how many, and the hash of the last", err.Error())
	}
}

// mark checks the mark that the hooks have a journal. marked is a fix of a version that always wrote one; empty:
// there is none.
func (a *audit) mark(marked string) {
	if _, err := os.Lstat(filepath.Join(a.dir, fix.MarkFile)); os.IsNotExist(err) {
		if marked != "" {
			a.Fault(fix.MarkFile, "fixes/"+marked, "the mark that the hooks have a journal", "none: it is gone")
		}
		return
	}
	text, ok := a.Read(fix.MarkFile, "the mark that the hooks have a journal", 1<<16)
	digest := a.opened
	if digest == "" {
		digest = a.runDigest
	}
	if want, err := fix.Mark(digest); ok && (err != nil || string(text) != want) {
		a.Fault(fix.MarkFile, "whole file", want[:max(len(want)-1, 0)], "another text")
	}
}
