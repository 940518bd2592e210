package tree

import (
	"encoding/gob"
	"errors"
	"io"
)

// A memory is a manifest with its stat data, as it is stored. It is gob, because names are bytes.
type memory struct {
	Version int
	Root    string
	Boot    string
	Start   int64
	Starts  []int64 // of the entries, where they are of several walks
	Entries []Entry
	Facts   []fact
}

// memoryVersion is increased when the form of a memory changes.
const memoryVersion = 1

// Save writes m, a walk of root, for Recall. boot identifies the start of the machine. Entries for which secret
// returns true are left out: a digest of a short text gives it away.
func (m *Manifest) Save(w io.Writer, root, boot string, secret func(path string) bool) error {
	stored := memory{Version: memoryVersion, Root: root, Boot: boot, Start: m.start}
	for i, e := range m.Entries {
		if i < len(m.facts) && !secret(e.Path) {
			stored.Entries, stored.Facts = append(stored.Entries, e), append(stored.Facts, m.facts[i])
			if m.starts != nil {
				stored.Starts = append(stored.Starts, m.starts[i])
			}
		}
	}
	return gob.NewEncoder(w).Encode(stored)
}

// Recall reads a manifest that Save wrote, for Options.Known. The error is not nil if it is of another root, or of
// another start of the machine: after a power cut the files may be other ones with the same stat data.
func Recall(r io.Reader, root, boot string) (*Manifest, error) {
	var m memory
	if err := gob.NewDecoder(r).Decode(&m); err != nil {
		return nil, err
	}
	if m.Version != memoryVersion || m.Root != root || m.Boot != boot || len(m.Entries) != len(m.Facts) ||
		m.Starts != nil && len(m.Starts) != len(m.Entries) {
		return nil, errors.New("the stored walk is not of this tree")
	}
	return &Manifest{Entries: m.Entries, facts: m.Facts, start: m.Start, starts: m.Starts}, nil
}
