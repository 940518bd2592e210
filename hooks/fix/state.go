// state.jsonl: what people did with a fix.

package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A decision is one line of state.jsonl.
type StateChange struct {
	At       string   `json:"at"`
	By       string   `json:"by"` // null, read as "", where nobody knows
	To       string   `json:"to"` // applied | rejected | superseded | reverted
	Files    []string `json:"files"`
	Accepted []string `json:"accepted"`
	Apply    string   `json:"apply"`  // id of the apply or revert that wrote the line; null for a decision without one
	Reason   string   `json:"reason"` // why it was rejected; absent where nobody said
	Details
}

// Details of an apply, each absent where there is nothing to say.
type Details struct {
	Hunks       []Part   `json:"hunks,omitempty"`        // of Files: those of which only some hunks were chosen
	Wrote       []Wrote  `json:"wrote,omitempty"`        // of Files: those whose contents before and after are not the ones in the record
	Merged      []string `json:"merged,omitempty"`       // of Files: those that were merged three ways
	Edited      bool     `json:"edited,omitempty"`       // a person edited the patch first
	PatchDigest string   `json:"patch_digest,omitempty"` // of the patch as it was edited
}

// A wrote is what a path held before and after an apply; nil where it was not there.
type Wrote struct {
	Path      string   `json:"path"`
	PathBytes []byte   `json:"path_b64,omitempty"`
	Before    *Content `json:"before"`
	After     *Content `json:"after"`
}

// FullPath returns the path as the tree has it.
func (w Wrote) FullPath() string { return FullPath(w.Path, w.PathBytes) }

// readDecisions reads a chain and checks it; anchor is the digest of the record it belongs to. What is whole is given
// even when the rest is damaged. A missing file is no decision, if events.jsonl tells of none; that it tells of more than there
// are, or of others, is ErrDamaged; those that are gone are given as far as it tells of them.
func ReadState(path, anchor string) ([]StateChange, error) {
	return readTold(filepath.Dir(path)).decisions(path, anchor) // whoever decides right now writes the two in the other order
}

// decisions is readDecisions for who has read events.jsonl.
func (t *told) decisions(path, anchor string) ([]StateChange, error) {
	traces, traced := t.of(strings.TrimSuffix(filepath.Base(path), StateSuffix))
	text, err := recordfile.Read(path, recordfile.MaxJSON)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines, _, err := journal.Read(bytes.NewReader(text), &anchor)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	var all []StateChange
	var ends []string
	for i, line := range lines {
		var d StateChange
		if err := json.Unmarshal(line, &d); err != nil {
			return all, fmt.Errorf("%w: %s: line %d: %w", ErrDamaged, path, i+1, err)
		}
		if !slices.Contains([]string{Applied, Rejected, Superseded, Reverted}, d.To) {
			return all, fmt.Errorf("%w: %s: line %d: %q is nothing that can become of a fix", ErrDamaged, path, i+1, d.To)
		}
		all, ends = append(all, d), append(ends, recordfile.Digest(line))
	}
	if traced != nil {
		return all, traced
	}
	for _, t := range traces {
		if t.Lines > int64(len(all)) { // it is gone, which is said; what became of the fix is known all the same
			all = append(all, StateChange{At: t.At, To: t.To})
		}
	}
	return all, agree(path, traces, ends)
}

// addDecision appends d, then its trace; the caller holds the apply lock.
func AddState(path, anchor string, d StateChange) (err error) {
	traces, err := openTraces(path) // first: where there can be no trace, nothing is decided
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, traces.Close()) }()
	lines, head, err := AppendState(path, anchor, d)
	if err != nil {
		return err
	}
	if err := traces.trace(path, d.To, lines, head); err != nil {
		return fmt.Errorf("%s has the decision, but no trace of it could be written beside it: %w", path, err)
	}
	return nil
}

// appendDecision puts d on the disk, and gives how many there are now and the hash of the line.
func AppendState(path, anchor string, d StateChange) (lines int64, head *string, err error) {
	// Nothing is cleaned: paths of the patch and ids of flags come from a record that is clean.
	j, err := journal.Open(path, &anchor, nil, nil)
	if err != nil {
		return 0, nil, err
	}
	Fill(&d.Files)
	Fill(&d.Accepted)
	fields := []journal.Field{
		{Name: "by", Value: known(d.By)},
		{Name: "to", Value: d.To},
		{Name: "files", Value: d.Files},
		{Name: "accepted", Value: d.Accepted},
		{Name: "apply", Value: known(d.Apply)},
	}
	for _, f := range []struct {
		journal.Field
		there bool
	}{
		{journal.Field{Name: "reason", Value: d.Reason}, d.Reason != ""},
		{journal.Field{Name: "hunks", Value: d.Hunks}, len(d.Hunks) > 0},
		{journal.Field{Name: "wrote", Value: d.Wrote}, len(d.Wrote) > 0},
		{journal.Field{Name: "merged", Value: d.Merged}, len(d.Merged) > 0},
		{journal.Field{Name: "edited", Value: d.Edited}, d.Edited},
		{journal.Field{Name: "patch_digest", Value: d.PatchDigest}, d.PatchDigest != ""},
	} {
		if f.there {
			fields = append(fields, f.Field)
		}
	}
	err = j.Append(fields...)
	if err == nil {
		err = j.Sync()
	}
	lines, head = j.End()
	return lines, head, errors.Join(err, j.Close())
}

// known is s, or nil where it is empty: what is not known is null.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// disposition is what became of a fix in the end, and which files of its patch are applied, sorted. A decision that
// names no files is about all of them; a file of which only some hunks are applied is not.
func DispositionOf(f *Fix, all []StateChange) (is string, in []string) {
	if f.State != Proposed || f.Patch == nil {
		return None, nil
	}
	files := Extents(f, all)
	whole, touched := true, false
	for _, p := range f.Patch.Files {
		got := files[p.Path]
		switch {
		case got.All:
			in = append(in, p.Path)
		default:
			whole = false
		}
		touched = touched || got.Any()
	}
	slices.Sort(in)
	last := ""
	if len(all) > 0 {
		last = all[len(all)-1].To
	}
	switch {
	case last == Rejected || last == Superseded:
		return last, in
	case whole:
		return Applied, in
	case last == Reverted && !touched:
		return Reverted, nil
	}
	return Open, in
}

// A standing is how much of one path is applied.
type Extent struct {
	All   bool
	Hunks []bool // where not all: those that are
}

func (s Extent) Any() bool { return s.All || slices.Contains(s.Hunks, true) }

// standingOf follows the decisions path by path.
func Extents(f *Fix, all []StateChange) map[string]Extent {
	files := map[string]Extent{}
	for _, d := range all {
		if d.To != Applied && d.To != Reverted {
			continue
		}
		for _, p := range f.Patch.Files {
			if len(d.Files) > 0 && !slices.Contains(d.Files, p.Path) {
				continue
			}
			s := Extent{All: d.To == Applied}
			if n := slices.IndexFunc(d.Hunks, func(h Part) bool { return h.Path == p.Path }); n >= 0 && d.To == Applied {
				s = d.Hunks[n].added(files[p.Path])
			}
			files[p.Path] = s
		}
	}
	return files
}

// added is what stands when these hunks join those that stood before.
func (h Part) added(to Extent) Extent {
	if to.All || h.Of < 1 || h.Of > maxHunks {
		return to
	}
	s := Extent{Hunks: make([]bool, h.Of)}
	copy(s.Hunks, to.Hunks)
	for _, n := range h.Hunks {
		if 0 < n && n <= h.Of {
			s.Hunks[n-1] = true
		}
	}
	s.All = !slices.Contains(s.Hunks, false)
	return s
}

// maxHunks is more than any patch that is read can hold for one file.
const maxHunks = 1 << 22

// A Part says which hunks of one path were chosen, counted from 1, and how many it has.
type Part struct {
	Path  string `json:"path"`
	Hunks []int  `json:"hunks"`
	Of    int    `json:"of"`
}

// partOf are the hunks of a path that are set.
func PartOf(path string, hunks []bool) Part {
	p := Part{Path: path, Of: len(hunks)}
	for i, set := range hunks {
		if set {
			p.Hunks = append(p.Hunks, i+1)
		}
	}
	return p
}

// Partly says of which files only some hunks are applied.
func (p *Proposal) Partly() ([]Part, error) {
	decisions, err := ReadState(p.StatePath(), p.Digest)
	if err != nil {
		return nil, err
	}
	return Partly(&p.Fix, decisions), nil
}

func Partly(f *Fix, decisions []StateChange) []Part {
	if f.State != Proposed || f.Patch == nil {
		return nil
	}
	var all []Part
	for name, s := range Extents(f, decisions) {
		if !s.All && s.Any() {
			all = append(all, PartOf(name, s.Hunks))
		}
	}
	slices.SortFunc(all, func(a, b Part) int { return strings.Compare(a.Path, b.Path) })
	return all
}
