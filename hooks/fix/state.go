// state.jsonl: what people did with a fix.

package fix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// A decision is one line of state.jsonl.
type decision struct {
	At       string   `json:"at"`
	By       string   `json:"by"`
	To       string   `json:"to"` // applied | rejected | superseded | reverted
	Files    []string `json:"files"`
	Accepted []string `json:"accepted"`
	Apply    string   `json:"apply"` // id of the apply that wrote the line; empty for a decision without one
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
	lines, _ := splitLines(text)
	if err := checkChain(lines, &anchor); err != nil {
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
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	fill(&d.Files)
	fill(&d.Accepted)
	line := []field{{"by", d.By}, {"to", d.To}, {"files", d.Files}, {"accepted", d.Accepted}, {"apply", d.Apply}}
	asIs := func(b []byte) []byte { return b } // paths of the patch and ids of flags, from a record that is clean
	err = appendChain(f, asIs, &anchor, func(int) []field { return line })
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// disposition is what became of a fix in the end.
func disposition(state string, all []decision) string {
	switch {
	case state != Proposed:
		return none
	case len(all) == 0:
		return open
	}
	return all[len(all)-1].To
}
