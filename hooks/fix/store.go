// The fixes of all runs of one root.

package fix

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Store is the fixes of all runs of one root. The zero value of what is not exported is ready for use.
type Store struct {
	Root string
	Dir  string // Root/.async
}

// An Item is one line of `fix list --json`.
type Item struct {
	Run         string   `json:"run"`
	Task        string   `json:"task"`
	Name        string   `json:"name"` // what a verb takes for it: the task, or TASK@N for an older proposal beside the one that counts
	State       string   `json:"state"`
	Disposition string   `json:"disposition"` // open|applied|rejected|superseded|reverted|none
	Verdict     *string  `json:"verdict"`
	Flags       []Flag   `json:"flags"`
	Summary     *string  `json:"summary"`
	Files       []string `json:"files"`
	Applied     []string `json:"applied"` // of Files: what fix apply wrote and nobody reverted
	Partly      []Part   `json:"partly"`  // of Files: those of which only some hunks are applied
	Rescue      []string `json:"rescue"`  // relative to the run's folder; of all healings of this task in this run
	CreatedAt   string   `json:"created_at"`
	Fingerprint *string  `json:"fingerprint"`    // of the failure that it answers
	PassedIn    *string  `json:"passed_in"`      // the first later run in which the task passed with the fix in the tree; Follow fills it in
	RecurredIn  []string `json:"recurred_in"`    // later runs with the same failure although the fix was in the tree, oldest first; Follow fills it in
	Reason      *string  `json:"reason"`         // why State is what it is
	Kind        *string  `json:"kind"`           // error kind of the last attempt
	Later       *Later   `json:"later"`          // the newest healing of the task in the run, where it is newer than this and ended without a proposal
	Fits        *bool    `json:"fits"`           // of an open one: whether the files it touches are as it found them, or as it makes them; FitNow fills it in
	Without     *string  `json:"passed_without"` // the run since which the task passes, without the fix ever having been in the tree; Follow fills it in
	Verified    *string  `json:"verified_older"` // TASK@N of an older one in the run that is verified and may be applied, where this is not verified

	inTree stay
	of     *Proposal
}

// A Proposal is a sealed fix that can be read and applied; or an interrupted one, which can be read.
type Proposal struct {
	Fix
	Disposition string   // open|applied|rejected|superseded|reverted|none; applied only when every file is
	Applied     []string // paths of the patch that were applied and not reverted, sorted
	Dir         string   // the run's folder
	Diff        []byte   // the patch, checked against Fix.Patch.Digest; nil when there is none
	Rescue      []string // rescue patches, relative to Dir
	PassedIn    *string  // as of an Item; filled in by Follow
	RecurredIn  []string // as of an Item; filled in by Follow
	Without     *string  // as of an Item; filled in by Follow
	Later       *Later   // as of an Item
	Called      string   // as Name of an Item
	Verified    *string  // as of an Item
	ByNumber    bool     // a person named it as TASK@N: that a newer one took its place does not keep it from being applied

	several bool // its task was healed more than once in its run
	among   int  // proposals of its task in its run that wait
	inTree  stay
	Name    string // <name>.json …
	Digest  string // of <name>.json
	Decided []StateChange
	Fault   error // what is wrong with its decisions
}

// statePath is where decisions on the proposal are written.
func (p *Proposal) StatePath() string { return filepath.Join(p.Dir, "fixes", p.Name+".state.jsonl") }

// List gives every fix, newest first; of several healings of one task in one run the newest proposal counts, or the
// newest of all when there is none. Older proposals are listed too. What cannot be read is in the errors and hides nothing else. A draft never sealed,
// whose maker is gone, is State interrupted.
func (s *Store) List() ([]Item, []error) {
	runs, errs := s.Runs()
	items := []Item{}
	for _, run := range runs {
		fixes, others, faults := s.InRun(run)
		errs = append(errs, faults...)
		for _, p := range slices.Concat(fixes, others) {
			if p.State == Proposed || p.Called == p.Task {
				items = append(items, p.item())
			}
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.Run, a.Run), cmp.Compare(a.Task, b.Task), cmp.Compare(number(b.of.Name), number(a.of.Name)))
	})
	return items, errs
}

func (p *Proposal) item() Item {
	i := Item{
		Run: p.Run, Task: p.Task, Name: p.Called, State: p.State, Disposition: p.Disposition, Verdict: p.Verdict,
		Flags: p.Flags, Files: []string{}, Applied: p.Applied, Rescue: p.Rescue, CreatedAt: p.CreatedAt,
		Fingerprint: p.Fingerprint, Reason: p.Reason, Kind: p.Kind, Later: p.Later, Verified: p.Verified, inTree: p.inTree, of: p,
	}
	Fill(&i.RecurredIn)
	i.Partly = Partly(&p.Fix, p.Decided)
	Fill(&i.Applied)
	Fill(&i.Partly)
	Fill(&i.Flags)
	Fill(&i.Rescue)
	if p.AgentSaid != nil {
		i.Summary = &p.AgentSaid.Summary
	}
	if p.Patch != nil {
		for _, f := range p.Patch.Files {
			i.Files = append(i.Files, f.Path)
		}
	}
	return i
}

// runs lists the runs' folders, oldest first, those that are ahead of the clock before all others. A link is no run, and an error that hides nothing else.
func (s *Store) Runs() ([]string, []error) {
	dir := filepath.Join(s.Dir, "runs")
	if err := recordfile.NoLinks(s.Dir, dir); err != nil {
		return nil, []error{fmt.Errorf("%w: %w", ErrDamaged, err)}
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{err}
	}
	var runs []string
	var errs []error
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			runs = append(runs, e.Name())
		case e.Type()&fs.ModeSymlink != 0:
			errs = append(errs, fmt.Errorf("%w: %w", ErrDamaged, recordfile.NoLinks(filepath.Join(dir, e.Name()))))
		}
	}
	journal.InOrder(runs, time.Now())
	return runs, errs
}

// All returns every fix that has ended and can be read, the oldest run first.
func (s *Store) All() []*Proposal {
	runs, _ := s.Runs()
	var all []*Proposal
	for _, run := range runs {
		fixes, _ := s.Healings(run)
		all = append(all, fixes...)
	}
	return all
}

// ofRun gives the fixes of one run that count, sorted by task.
func (s *Store) OfRun(run string) ([]*Proposal, []error) {
	counts, _, errs := s.InRun(run)
	return counts, errs
}

// inRun gives the fixes of one run that count, sorted by task, and the other healings of the same tasks, by number.
func (s *Store) InRun(run string) (counts, others []*Proposal, errs []error) {
	every, errs := s.Healings(run)
	slices.SortStableFunc(every, func(a, b *Proposal) int { return cmp.Compare(number(a.Name), number(b.Name)) })
	best, kept := map[string]*Proposal{}, map[string][]string{}
	for _, p := range every {
		kept[p.Task] = append(kept[p.Task], p.Rescue...)
		if old := best[p.Task]; old == nil || newer(p, old) {
			best[p.Task] = p
		}
	}
	for _, p := range every {
		if best[p.Task] == p {
			p.Called = p.Task
			counts = append(counts, p)
			continue
		}
		if p.Disposition == Open { // of an older version, which did not write it down
			p.Disposition = Superseded
		}
		best[p.Task].after(p)
		others = append(others, p)
	}
	for _, p := range counts {
		p.Rescue = kept[p.Task]
		p.compared(others)
	}
	slices.SortFunc(counts, func(a, b *Proposal) int { return cmp.Compare(a.Task, b.Task) })
	return counts, others, errs
}

// healings gives every healing of one run that has ended, in the order of their names.
func (s *Store) Healings(run string) ([]*Proposal, []error) {
	all, _, errs := s.healed(run)
	return all, errs
}

// healed is healings, with what events.jsonl tells; nil where nothing is sealed.
func (s *Store) healed(run string) (all []*Proposal, t *told, errs []error) {
	dir := filepath.Join(s.Dir, "runs", run)
	folder := filepath.Join(dir, "fixes")
	if !recordfile.Exists(folder) {
		return nil, nil, nil
	}
	if err := CheckRunFolders(dir); err != nil {
		return nil, nil, []error{fmt.Errorf("%w: %w", ErrDamaged, err)}
	}
	if !recordfile.IsFolder(folder) {
		return nil, nil, []error{fmt.Errorf("%w: %s is not a folder", ErrDamaged, folder)}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, []error{err}
	}
	for _, e := range entries {
		name, sealed := strings.CutSuffix(e.Name(), ".json")
		var p *Proposal
		switch {
		case strings.HasPrefix(name, "."):
			continue
		case sealed:
			if t == nil {
				t = readTold(folder)
			}
			p, err = readFix(t, dir, run, name)
		case e.IsDir() && !recordfile.Exists(filepath.Join(folder, name+".json")):
			p, err = ReadDraft(dir, run, name)
		case e.Type()&fs.ModeSymlink != 0 && !strings.Contains(name, "."):
			p, err = nil, fmt.Errorf("%w: %w", ErrDamaged, recordfile.NoLinks(filepath.Join(folder, name)))
		default:
			continue
		}
		if err != nil {
			errs = append(errs, err)
		}
		if p == nil {
			continue
		}
		p.Rescue, p.Called = rescues(dir, name), CalledBy(p.Task, name)
		all = append(all, p)
	}
	return all, t, errs
}

// newer says whether p counts before old: a proposal before what is none, then the later healing. A heal that found
// nothing does not hide the proposal that an earlier one made.
func newer(p, old *Proposal) bool {
	if a, b := weight(p.State), weight(old.State); a != b {
		return a > b
	}
	return number(p.Name) > number(old.Name)
}

// weight of a state: what was skipped hides nothing.
func weight(state string) int {
	switch state {
	case Proposed:
		return 2
	case Skipped:
		return 0
	}
	return 1
}

// readFix reads <name>.json; t is what the run's events.jsonl tells. A fix whose decisions are damaged is given together with the error.
func readFix(t *told, dir, run, name string) (*Proposal, error) {
	path := filepath.Join(dir, "fixes", name+".json")
	text, err := recordfile.Read(path, recordfile.MaxJSON)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	p := &Proposal{Dir: dir, Name: name, Digest: recordfile.Digest(text)}
	if err := CheckVersion(path, text); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &p.Fix); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	if err := p.WellFormed(run, name); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	if err := p.CheckRun(); err != nil {
		return nil, err
	}
	p.Decided, err = t.decisions(p.StatePath(), p.Digest)
	p.Disposition, p.Applied = DispositionOf(&p.Fix, p.Decided)
	p.inTree = stayOf(&p.Fix, p.Decided)
	p.Fault = err
	return p, err
}

// wellFormed says why nobody could work with a fix that stands in <name>.json of a run. Seal writes nothing that it
// refuses.
func (f *Fix) WellFormed(run, name string) error {
	switch {
	case f.Task == "" || f.State == "":
		return errors.New("task or state is missing")
	case f.Run != run:
		return fmt.Errorf("it says that it belongs to run %q", f.Run)
	case f.Patch != nil && f.Patch.Path != "fixes/"+name+".patch":
		return fmt.Errorf("its patch is %q, not the file beside it", f.Patch.Path)
	}
	return Consistent(f)
}

func CheckVersion(path string, text []byte) error {
	var head struct {
		SchemaVersion int `json:"schema_version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	switch v := head.SchemaVersion; {
	case v > SchemaVersion:
		return fmt.Errorf("%s was written by a newer async-pipeline (format %d, this one reads up to %d): upgrade to read it", path, v, SchemaVersion)
	case v < 1:
		return fmt.Errorf("%w: %s: schema_version is missing", ErrDamaged, path)
	}
	return nil
}

// readDraft gives what a healing that was never sealed left; nil while somebody is at work, or when nothing was begun.
func ReadDraft(dir, run, name string) (*Proposal, error) {
	path := filepath.Join(dir, "fixes", name, "draft.json")
	if !recordfile.Exists(path) || recordfile.Locked(path) {
		return nil, nil
	}
	text, err := recordfile.Read(path, recordfile.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) { // sealed meanwhile
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := CheckVersion(path, text); err != nil {
		return nil, err
	}
	var o DraftFile
	if err := json.Unmarshal(text, &o); err != nil || o.Task == "" {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, cmp.Or(err, errors.New("task is missing")))
	}
	f := Fix{SchemaVersion: o.SchemaVersion, Run: run, RunDigest: o.RunDigest, Task: o.Task, CreatedAt: o.StartedAt, State: Interrupted}
	FillLists(&f)
	return &Proposal{Fix: f, Disposition: None, Dir: dir, Name: name}, nil
}

// rescues lists the rescue patches of one healing, by attempt.
func rescues(dir, name string) []string {
	folder := filepath.Join(dir, "fixes", name)
	if !recordfile.IsFolder(folder) {
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	type rescue struct {
		attempt int
		rel     string
	}
	var found []rescue
	for _, e := range entries {
		n, ok := strings.CutPrefix(e.Name(), "attempt-")
		n, patch := strings.CutSuffix(n, ".patch")
		n, _ = strings.CutSuffix(n, ".redacted")
		if i, err := strconv.Atoi(n); ok && patch && err == nil && e.Type().IsRegular() {
			found = append(found, rescue{i, "fixes/" + name + "/" + e.Name()})
		}
	}
	slices.SortFunc(found, func(a, b rescue) int {
		return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.rel, b.rel)) // .patch before .redacted.patch
	})
	var rel []string
	for _, r := range found {
		rel = append(rel, r.rel)
	}
	return rel
}

// readPatch reads the patch and checks it against the record.
func (p *Proposal) ReadPatch() ([]byte, error) {
	path := filepath.Join(p.Dir, filepath.FromSlash(p.Patch.Path))
	b, err := recordfile.Read(path, recordfile.MaxPatch)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if got := recordfile.Digest(b); got != p.Patch.Digest {
		return nil, fmt.Errorf("%w: %s has digest %s, the record says %s: it was changed after it was proposed; heal again", ErrDamaged, path, got, p.Patch.Digest)
	}
	return b, nil
}

func (p *Proposal) PatchPath() string { return filepath.Join(p.Dir, filepath.FromSlash(p.Patch.Path)) }

// readDiff parses the patch and compares it with what the record says of each file, by path.
func (p *Proposal) ParseDiff() (*patch.Patch, map[string]PatchFile, error) {
	parsed, err := patch.Parse(p.Diff)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.PatchPath(), err)
	}
	recorded := map[string]PatchFile{}
	for _, f := range p.Patch.Files {
		recorded[FullPath(f.Path, f.PathBytes)] = f
	}
	named := map[string]bool{}
	for _, f := range parsed.Files {
		if r, ok := recorded[f.Path]; !ok || r.Before == nil && r.After == nil {
			return nil, nil, fmt.Errorf("%w: the patch touches %q, of which the record says nothing", ErrDamaged, f.Path)
		}
		named[f.Path] = true
	}
	if len(named) != len(recorded) {
		return nil, nil, fmt.Errorf("%w: the record names files that the patch does not touch", ErrDamaged)
	}
	return parsed, recorded, nil
}

// An opened is draft.json.
type DraftFile struct {
	SchemaVersion int    `json:"schema_version"`
	Run           string `json:"run"`
	RunDigest     string `json:"run_digest"`
	Task          string `json:"task"`
	StartedAt     string `json:"started_at"`
}

// Proposal is the fix that the line is about; nil: it was not listed.
func (i *Item) Proposal() *Proposal { return i.of }
