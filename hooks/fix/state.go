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

// StateSuffix ends the name of the file in which what people do with a fix is recorded.
const StateSuffix = ".state.jsonl"

// A StateChange is one line of that file.
type StateChange struct {
	At       string   `json:"at"`
	By       string   `json:"by"` // empty (null in the file): nobody knows
	To       string   `json:"to"` // applied | rejected | superseded | reverted
	Files    []string `json:"files"`
	Accepted []string `json:"accepted"`
	Apply    string   `json:"apply"`  // id of the apply or revert that wrote the line; empty (null): none
	Reason   string   `json:"reason"` // why it was rejected; absent where nobody said
	Details
}

// Details of an apply; each is absent where it is empty.
type Details struct {
	Hunks       []Part   `json:"hunks,omitempty"`        // files of which only some hunks were selected
	Wrote       []Wrote  `json:"wrote,omitempty"`        // files whose contents were not those of the record, or were there already
	Merged      []string `json:"merged,omitempty"`       // files that were merged three ways
	Edited      bool     `json:"edited,omitempty"`       // a person edited the patch first
	PatchDigest string   `json:"patch_digest,omitempty"` // of the edited patch
}

// A Wrote is what a path held before and after an apply; nil where it was not there.
type Wrote struct {
	Path      string   `json:"path"`
	PathBytes []byte   `json:"path_b64,omitempty"`
	Before    *Content `json:"before"`
	After     *Content `json:"after"`
}

// FullPath returns the path as the tree has it.
func (w Wrote) FullPath() string { return FullPath(w.Path, w.PathBytes) }

// ReadState reads and checks what people did with a fix. path is of its state file, anchor the digest of its record.
// A missing file is no state change, if the journal of the hooks has none. Where the journal has more or others, the
// error is ErrDamaged, also where the record is not the one that was sealed; what is known is returned all the same.
func ReadState(path, anchor string) ([]StateChange, error) {
	// The journal first: AddState writes the two in the other order.
	return readRunJournal(filepath.Dir(path)).readState(path, anchor)
}

// readState is ReadState for a caller that has read the journal.
func (j *runJournal) readState(path, anchor string) ([]StateChange, error) {
	traces, traced := j.of(strings.TrimSuffix(filepath.Base(path), StateSuffix))
	text, err := recordfile.Read(path, recordfile.MaxJSON)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines, _, err := journal.Read(bytes.NewReader(text), &anchor)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	var all []StateChange
	var heads []string
	for i, line := range lines {
		var c StateChange
		if err := json.Unmarshal(line, &c); err != nil {
			return all, fmt.Errorf("%w: %s: line %d: %w", ErrDamaged, path, i+1, err)
		}
		if !slices.Contains([]string{Applied, Rejected, Superseded, Reverted}, c.To) {
			return all, fmt.Errorf("%w: %s: line %d: %q is nothing that can become of a fix", ErrDamaged,
				path, i+1, c.To)
		}
		all, heads = append(all, c), append(heads, recordfile.Digest(line))
	}
	if traced != nil {
		return all, traced
	}
	if err := j.unchanged(strings.TrimSuffix(filepath.Base(path), StateSuffix), anchor); err != nil {
		return all, err
	}
	for _, t := range traces {
		if t.Lines > int64(len(all)) { // the line is gone, but not what became of the fix
			all = append(all, StateChange{At: t.At, To: t.To})
		}
	}
	return all, compare(path, traces, heads)
}

// AddState appends a state change, then its trace to the journal of the hooks. The caller holds the lock of
// .async/apply.
func AddState(path, anchor string, c StateChange) (err error) {
	dir := filepath.Dir(path)
	sum, err := RunDigest(filepath.Dir(dir))
	if err != nil && !recordfile.Exists(filepath.Join(dir, EventsFile)) { // else its first line is there
		return err
	}
	hooks, err := OpenJournal(filepath.Dir(dir), sum, nil) // first: where no trace can be written, nothing is decided
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hooks.Close()) }()
	lines, head, err := appendState(path, anchor, c)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(path), StateSuffix)
	trace := map[string]any{"fix": name, "to": c.To, "lines": lines, "head": head}
	var f struct {
		Task string `json:"task"`
	}
	text, err := recordfile.Read(filepath.Join(dir, name+".json"), recordfile.MaxJSON)
	if err == nil && json.Unmarshal(text, &f) == nil {
		trace["task"] = f.Task
	}
	if err := hooks.Event(decided, trace); err != nil {
		return fmt.Errorf("%s has the decision, but no trace of it could be written beside it: %w", path, err)
	}
	return nil
}

// appendState writes a line, and returns how many there are now and the hash of this one.
func appendState(path, anchor string, c StateChange) (lines int64, head *string, err error) {
	// Nothing is cleaned: paths of the patch and ids of flags come from a record that is clean.
	j, err := journal.Open(path, &anchor, nil, nil)
	if err != nil {
		return 0, nil, err
	}
	Fill(&c.Files)
	Fill(&c.Accepted)
	fields := []journal.Field{
		{Name: "by", Value: OrNull(c.By)},
		{Name: "to", Value: c.To},
		{Name: "files", Value: c.Files},
		{Name: "accepted", Value: c.Accepted},
		{Name: "apply", Value: OrNull(c.Apply)},
	}
	add := func(name string, value any, there bool) {
		if there {
			fields = append(fields, journal.Field{Name: name, Value: value})
		}
	}
	add("reason", c.Reason, c.Reason != "")
	add("hunks", c.Hunks, len(c.Hunks) > 0)
	add("wrote", c.Wrote, len(c.Wrote) > 0)
	add("merged", c.Merged, len(c.Merged) > 0)
	add("edited", c.Edited, c.Edited)
	add("patch_digest", c.PatchDigest, c.PatchDigest != "")
	err = j.Append(fields...)
	if err == nil {
		err = j.Sync()
	}
	lines, head = j.End()
	return lines, head, errors.Join(err, j.Close())
}

// AsEdited reports whether a fix, or a part of it, was applied as a person had edited its patch, and not reverted since.
// What was verified is another patch.
func AsEdited(changes []StateChange) (edited bool) {
	for _, c := range changes {
		edited = c.To != Reverted && (edited || c.Edited)
	}
	return edited
}

// DispositionOf returns what became of a fix in the end, and which files of its patch are applied, sorted. A fix that was
// rejected or superseded stays so when what was applied of it before is reverted. A state change without files is about
// all of them. A file of which only some hunks are applied does not count.
func DispositionOf(f *Fix, changes []StateChange) (is string, in []string) {
	if f.State != Proposed || f.Patch == nil {
		return None, nil
	}
	extents := Extents(f, changes)
	whole, touched := true, false
	for _, p := range f.Patch.Files {
		e := extents[p.Path]
		if e.All {
			in = append(in, p.Path)
		}
		whole, touched = whole && e.All, touched || e.Any()
	}
	slices.Sort(in)
	last := ""
	for _, c := range changes {
		if c.To != Reverted || last != Rejected && last != Superseded { // a revert of an earlier apply changes neither
			last = c.To
		}
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

// LastTo returns the last change to a state, or nil.
func LastTo(changes []StateChange, to string) *StateChange {
	for i := range slices.Backward(changes) {
		if changes[i].To == to {
			return &changes[i]
		}
	}
	return nil
}

// An Extent is how much of one file is applied.
type Extent struct {
	All   bool
	Hunks []bool // where not all: which hunks are
}

// Any reports whether a part of the file is applied.
func (e Extent) Any() bool { return e.All || slices.Contains(e.Hunks, true) }

// Has reports whether every selected hunk is applied.
func (e Extent) Has(selected []bool) bool {
	return !slices.Contains(e.Without(selected), true)
}

// Without returns those of the selected hunks that are not applied.
func (e Extent) Without(selected []bool) []bool {
	rest := slices.Clone(selected)
	for i := range rest {
		rest[i] = rest[i] && !e.All && (i >= len(e.Hunks) || !e.Hunks[i])
	}
	return rest
}

// Extents returns how much of each file of a patch is applied.
func Extents(f *Fix, changes []StateChange) map[string]Extent {
	extents := map[string]Extent{}
	for _, c := range changes {
		if c.To != Applied && c.To != Reverted {
			continue
		}
		named := c.Named()
		for _, p := range f.Patch.Files {
			if !named.Has(p.Path) {
				continue
			}
			e := Extent{All: c.To == Applied}
			if part := named.Parts[p.Path]; part != nil && c.To == Applied {
				e = part.AddTo(extents[p.Path])
			}
			extents[p.Path] = e
		}
	}
	return extents
}

// Named is what a change of state names of its patch.
type Named struct {
	files map[string]bool  // nil: all
	Parts map[string]*Part // by path
}

// Named returns what the change names, for many questions.
func (c *StateChange) Named() Named {
	n := Named{Parts: map[string]*Part{}}
	if len(c.Files) > 0 {
		n.files = make(map[string]bool, len(c.Files))
	}
	for _, path := range c.Files {
		n.files[path] = true
	}
	for i := range slices.Backward(c.Hunks) { // the first of a path counts
		n.Parts[c.Hunks[i].Path] = &c.Hunks[i]
	}
	return n
}

// Has reports whether a file of the patch is meant.
func (n Named) Has(path string) bool { return n.files == nil || n.files[path] }

// A Part is some hunks of one file, counted from 1, and how many it has.
type Part struct {
	Path  string `json:"path"`
	Hunks []int  `json:"hunks"`
	Of    int    `json:"of"`
}

// maxHunks is more than any patch that is read can hold for one file.
const maxHunks = 1 << 22

// AddTo returns what is applied where it was before, and these hunks are too.
func (h Part) AddTo(before Extent) Extent {
	if before.All || h.Of < 1 || h.Of > maxHunks {
		return before
	}
	e := Extent{Hunks: make([]bool, h.Of)}
	copy(e.Hunks, before.Hunks)
	for _, n := range h.Hunks {
		if 0 < n && n <= h.Of {
			e.Hunks[n-1] = true
		}
	}
	e.All = !slices.Contains(e.Hunks, false)
	return e
}

// PartOf returns the hunks of a file that are set.
func PartOf(path string, hunks []bool) Part {
	p := Part{Path: path, Of: len(hunks)}
	for i, set := range hunks {
		if set {
			p.Hunks = append(p.Hunks, i+1)
		}
	}
	return p
}

// Partly reads the fix's state again, and returns the files of which only some hunks are applied.
func (p *Proposal) Partly() ([]Part, error) {
	changes, err := ReadState(p.StatePath(), p.Digest)
	if err != nil {
		return nil, err
	}
	return Partly(&p.Fix, changes), nil
}

// Partly returns the files of which only some hunks are applied, sorted.
func Partly(f *Fix, changes []StateChange) []Part {
	if f.State != Proposed || f.Patch == nil {
		return nil
	}
	var all []Part
	for name, e := range Extents(f, changes) {
		if !e.All && e.Any() {
			all = append(all, PartOf(name, e.Hunks))
		}
	}
	slices.SortFunc(all, func(a, b Part) int { return strings.Compare(a.Path, b.Path) })
	return all
}
