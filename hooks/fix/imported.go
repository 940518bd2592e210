package fix

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// An Imported is imported.json of a run: its records were made elsewhere, and nothing in them was seen to happen
// here.
type Imported struct {
	SchemaVersion int     `json:"schema_version"`
	At            string  `json:"at"`
	By            *string `json:"by"`
	From          string  `json:"from"` // the folder it was taken from, as it was typed
	RunDigest     string  `json:"run_digest"`
	// How far fixes/events.jsonl went when it came: what it tells of decisions up to there stayed where they were
	// made.
	Journal *journal.End `json:"journal,omitempty"`
	Digest  string       `json:"digest"` // of the other fields as one line of JSON, in this order
}

// ImportedFile is the mark of an imported run, in its folder.
const ImportedFile = "imported.json"

// Sum returns what Digest should be.
func (i Imported) Sum() string {
	i.Digest = ""
	text, err := recordfile.JSON(i)
	if err != nil {
		return ""
	}
	return recordfile.Digest(text)
}

// Imported returns where the records of a fix came from; nil: they were made here.
func (p *Proposal) Imported() *Imported {
	text, err := recordfile.Read(filepath.Join(p.Dir, ImportedFile), 1<<16)
	if errors.Is(err, fs.ErrNotExist) || p.Dir == "" {
		return nil
	}
	var i Imported
	if err != nil || json.Unmarshal(text, &i) != nil { // that it was imported is known all the same
		return &Imported{}
	}
	return &i
}
