package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Receipt is cache/<task>.json of a run: what the cache said about a task, and what its key was made of.
type Receipt struct {
	SchemaVersion int    `json:"schema_version"`
	Task          string `json:"task"`
	Cache
	Reasons []string `json:"reasons"` // of a miss: all that differed from the last pass; Reason has the first three
	MadeOf  *MadeOf  `json:"made_of"` // nil where the key could not be made
}

// MadeOf is what a task was made of: its key in parts. It has neither contents nor secrets.
type MadeOf struct {
	KeyID      string            `json:"key_id"`  // tells the key of the hashes; those of different keys cannot be compared
	Command    string            `json:"command"` // digest of argv, directory and outputs; words with a secret are hashed with a key
	Inputs     string            `json:"input_root"`
	InputBytes int64             `json:"input_root_bytes"` // of the Directory message, not of the files
	Env        map[string]string `json:"env"`              // keyed hashes of the values
	Shown      map[string]string `json:"shown"`            // values that PIPELINE.hcl has in plain text
	Platform   map[string]string `json:"platform"`         // programs, too
}

func receiptFile(task string) string { return "cache/" + filename.Of(task) + ".json" }

// PutReceipt writes the receipt of a task, and returns its digest. Its texts are redacted like every other of the record.
func (d *Draft) PutReceipt(r *Receipt) (digest string, err error) {
	r.SchemaVersion = SchemaVersion
	name := receiptFile(r.Task)
	path := filepath.Join(d.Dir, name)
	b, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	if clean := d.clean.values(); clean != nil {
		b = clean(b)
	}
	b = append(b, '\n')
	digest = recordfile.Digest(b)
	// That of a hit says what the one of the last hit says.
	if before := d.before(); before != "" && recordfile.LinkSame(filepath.Join(before, name), path, b) {
		return digest, nil
	}
	if err := recordfile.WriteNew(path, b, false); !errors.Is(err, fs.ErrExist) {
		return digest, writing(err, path)
	}
	return digest, WriteFile(path, b, false)
}

// ReadReceipt reads the receipt of a task of the run in a folder, which may have no verdict. The error is fs.ErrNotExist
// where the run has none: the task has no inputs, or was not looked at.
func ReadReceipt(runDir, task string) (*Receipt, error) {
	b, err := readFile(runDir, receiptFile(task), recordfile.MaxJSON)
	if err != nil {
		return nil, err
	}
	r := &Receipt{}
	path := filepath.Join(runDir, receiptFile(task))
	if json.Unmarshal(b, r) != nil {
		return nil, fmt.Errorf("%s is damaged: it is no receipt of a task", path)
	}
	if r.SchemaVersion > SchemaVersion {
		return nil, fmt.Errorf("%s was %w: update async-pipeline to read it", path, errNewer)
	}
	return r, nil
}
