package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

const eventsFile = "fixes/" + fix.EventsFile

// events is what the journal of the hooks says of other files.
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

// readEvents checks the journal and reads what it says. ended: it must have an end file.
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
