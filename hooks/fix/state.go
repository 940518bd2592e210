// state.jsonl: what people did with a fix.

package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// A decision is one line of state.jsonl.
type decision struct {
	At       string   `json:"at"`
	By       string   `json:"by"` // null, read as "", where nobody knows
	To       string   `json:"to"` // applied | rejected | superseded | reverted
	Files    []string `json:"files"`
	Accepted []string `json:"accepted"`
	Apply    string   `json:"apply"` // id of the apply that wrote the line; null for a decision without one
}

// readDecisions reads a chain and checks it; anchor is the digest of the record it belongs to. What is whole is given
// even when the rest is damaged. A missing file is no decision.
func readDecisions(path, anchor string) ([]decision, error) {
	text, err := readFile(path, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines, _, err := journal.Read(bytes.NewReader(text), &anchor)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	var all []decision
	for i, line := range lines {
		var d decision
		if err := json.Unmarshal(line, &d); err != nil {
			return all, fmt.Errorf("%w: %s: line %d: %w", ErrDamaged, path, i+1, err)
		}
		if !slices.Contains([]string{applied, rejected, superseded, reverted}, d.To) {
			return all, fmt.Errorf("%w: %s: line %d: %q is nothing that can become of a fix", ErrDamaged, path, i+1, d.To)
		}
		all = append(all, d)
	}
	return all, nil
}

// addDecision appends d; the caller holds the apply lock.
func addDecision(path, anchor string, d decision) error {
	// Nothing is cleaned: paths of the patch and ids of flags come from a record that is clean.
	j, err := journal.Open(path, &anchor, nil, nil)
	if err != nil {
		return err
	}
	fill(&d.Files)
	fill(&d.Accepted)
	err = j.Append(
		journal.Field{Name: "by", Value: known(d.By)}, journal.Field{Name: "to", Value: d.To}, journal.Field{Name: "files", Value: d.Files},
		journal.Field{Name: "accepted", Value: d.Accepted}, journal.Field{Name: "apply", Value: known(d.Apply)},
	)
	if err == nil {
		err = j.Sync()
	}
	return errors.Join(err, j.Close())
}

// known is s, or nil where it is empty: what is not known is null.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// disposition is what became of a fix in the end, and which files of its patch are applied, sorted. A decision that
// names no files is about all of them.
func disposition(f *Fix, all []decision) (is string, in []string) {
	if f.State != Proposed || f.Patch == nil {
		return none, nil
	}
	files := map[string]bool{}
	for _, d := range all {
		if d.To != applied && d.To != reverted {
			continue
		}
		for _, p := range f.Patch.Files {
			if len(d.Files) == 0 || slices.Contains(d.Files, p.Path) {
				files[p.Path] = d.To == applied
			}
		}
	}
	whole := true
	for _, p := range f.Patch.Files {
		if files[p.Path] {
			in = append(in, p.Path)
		} else {
			whole = false
		}
	}
	slices.Sort(in)
	last := ""
	if len(all) > 0 {
		last = all[len(all)-1].To
	}
	switch {
	case last == rejected || last == superseded:
		return last, in
	case whole:
		return applied, in
	case last == reverted && len(in) == 0:
		return reverted, nil
	}
	return open, in
}
