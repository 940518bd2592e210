package fix

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Proposal is a fix that was found in the store: sealed, or interrupted, and proposed or not.
type Proposal struct {
	Fix
	Name        string // of its files: <name>.json …
	Digest      string // of <name>.json
	Dir         string // the run's folder
	Decided     []StateChange
	Fault       error    // what is wrong with Decided
	Disposition string   // open|applied|rejected|superseded|reverted|none; applied if every file is
	Applied     []string // paths of the patch that were applied and not reverted, sorted
	Diff        []byte   // the patch, checked against Fix.Patch.Digest; nil: none, or not read yet
	Rescue      []string // rescue patches, relative to Dir
	PassedIn    *string  // this and the next four are as of an Item; Follow sets the first three
	RecurredIn  []string
	Without     *string
	Later       *Later
	Verified    *string
	Called      string // as Name of an Item
	ByNumber    bool   // a person named it as TASK@N: Apply takes it also when a newer one superseded it

	several bool // its run has more fixes of its task
	among   int  // proposals of its task in its run that a person may still apply
	inTree  stay
}

// StatePath returns the file in which what people do with the fix is recorded.
func (p *Proposal) StatePath() string { return filepath.Join(p.Dir, "fixes", p.Name+StateSuffix) }

// PatchPath returns the file of the patch.
func (p *Proposal) PatchPath() string { return filepath.Join(p.Dir, filepath.FromSlash(p.Patch.Path)) }

// ReadPatch reads the patch and compares it with the record's digest.
func (p *Proposal) ReadPatch() ([]byte, error) {
	b, err := recordfile.Read(p.PatchPath(), recordfile.MaxPatch)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if got := recordfile.Digest(b); got != p.Patch.Digest {
		return nil, fmt.Errorf("%w: %s has digest %s, the record says %s: it was changed after it was proposed; run heal again",
			ErrDamaged, p.PatchPath(), got, p.Patch.Digest)
	}
	return b, nil
}

// ParseDiff parses Diff, and returns the entries of the record, by path. They must name the same files.
func (p *Proposal) ParseDiff() (*patch.Patch, map[string]PatchFile, error) {
	parsed, err := patch.Parse(p.Diff)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.PatchPath(), err)
	}
	recorded := map[string]PatchFile{}
	for _, f := range p.Patch.Files {
		recorded[f.FullPath()] = f
	}
	named := map[string]bool{}
	for _, f := range parsed.Files {
		if r, ok := recorded[f.Path]; !ok || r.Before == nil && r.After == nil {
			return nil, nil, fmt.Errorf("%w: the patch touches %q, of which the record says nothing",
				ErrDamaged, f.Path)
		}
		named[f.Path] = true
	}
	if len(named) != len(recorded) {
		return nil, nil, fmt.Errorf("%w: the record names files that the patch does not touch", ErrDamaged)
	}
	return parsed, recorded, nil
}

// CheckFolders returns an error if a folder of the fix, or one above it, is a link.
func (p *Proposal) CheckFolders() error {
	if err := CheckRunFolders(p.Dir); err != nil {
		return err
	}
	return recordfile.NoLinks(filepath.Join(p.Dir, "fixes", p.Name))
}

// CheckRunFolders returns an error if .async, runs, a run or its fixes is a link. runDir is .async/runs/<run>.
func CheckRunFolders(runDir string) error {
	runs := filepath.Dir(runDir)
	return recordfile.NoLinks(filepath.Dir(runs), runs, runDir, filepath.Join(runDir, "fixes"))
}

// CheckRun returns an error if the fix was not made for the run beside it.
func (p *Proposal) CheckRun() error {
	sum, err := RunDigest(p.Dir)
	if err != nil {
		return err
	}
	if sum != p.RunDigest {
		return fmt.Errorf("%w: %s was made for a run.json with digest %s, the one in %s has %s: "+
			"one of them was changed; run again",
			ErrDamaged, filepath.Join(p.Dir, "fixes", p.Name+".json"), p.RunDigest, p.Dir, sum)
	}
	return nil
}

// RunDigest returns the digest of run.json, which every fix of the run names.
func RunDigest(runDir string) (string, error) {
	text, err := recordfile.Read(filepath.Join(runDir, "run.json"), recordfile.MaxJSON)
	if err != nil {
		return "", fmt.Errorf("%w: its run has no verdict that can be read: %w", ErrDamaged, err)
	}
	return recordfile.Digest(text), nil
}

// WellFormed returns an error if nobody could work with a fix that is <name>.json of a run. Seal writes no such fix.
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

var (
	states   = []string{Skipped, NotReproduced, Flaky, NoFix, Failed, Cancelled, Interrupted, Proposed}
	verdicts = []string{"verified", "suspect", "unverified"}
)

// Consistent returns an error if a fix contradicts itself.
func Consistent(f *Fix) error {
	switch {
	case !slices.Contains(states, f.State):
		return fmt.Errorf("%q is no state of a fix", f.State)
	case f.State == Proposed && f.Patch == nil:
		return errors.New("proposed, but without a patch")
	case f.State != Proposed && f.Patch != nil:
		return fmt.Errorf("state %s does not go with a patch", f.State)
	case f.State == Proposed && f.Verdict == nil:
		return errors.New("proposed, but without a verdict")
	case f.State != Proposed && f.Verdict != nil:
		return fmt.Errorf("state %s does not go with verdict %s", f.State, *f.Verdict)
	case f.Patch == nil:
		return nil
	case len(f.Patch.Files) == 0:
		return errors.New("the patch names no file")
	case !slices.Contains(verdicts, *f.Verdict):
		return fmt.Errorf("%q is no verdict", *f.Verdict)
	case *f.Verdict == "unverified":
		return nil
	}
	v := f.Verification
	if v == nil {
		v = &Verification{}
	}
	if err := f.allPassed("the patch as proposed", v.Proposed); err != nil {
		return fmt.Errorf("verdict %s, but %w", *f.Verdict, err)
	}
	if *f.Verdict == "suspect" {
		return nil
	}
	if err := f.allPassed("the original checks", v.OriginalChecks); err != nil {
		return fmt.Errorf("verdict verified, but %w", err)
	}
	for _, g := range f.Flags {
		if g.Caps {
			return fmt.Errorf("verdict verified, but flag %s %s keeps it from that", g.ID, g.Rule)
		}
	}
	return nil
}

// allPassed returns an error if a check did not pass, or if there is none. Of the failed task it is enough that its core
// did.
func (f *Fix) allPassed(with string, checks []Check) error {
	if len(checks) == 0 {
		return fmt.Errorf("nothing was checked with %s", with)
	}
	for _, c := range checks {
		passed := c.Passed && (c.ExitCode == nil || *c.ExitCode == 0)
		if !passed && (!c.CorePassed || c.Task != f.Task || *f.Verdict == "verified" && f.Verification.Tests == nil) {
			return fmt.Errorf("with %s the check %q did not pass", with, c.Task)
		}
	}
	return nil
}

// A Later is a fix that was made after the one that counts, and came to nothing.
type Later struct {
	Name      string  `json:"name"` // of its files
	State     string  `json:"state"`
	Reason    *string `json:"reason"`
	Kind      *string `json:"kind"`
	CreatedAt string  `json:"created_at"`
}

// after sets Later to another fix of the same task and run, if that came later. One that was skipped because of p
// tells nothing new.
func (p *Proposal) after(o *Proposal) {
	skipped := o.State == Skipped && ParseReason(known(o.Reason)).Code == OpenProposal
	if p.State != Proposed || o.State == Proposed || skipped || number(o.Name) < number(p.Name) {
		return
	}
	if p.Later == nil || number(o.Name) > number(p.Later.Name) {
		p.Later = &Later{Name: o.Name, State: o.State, Reason: o.Reason, Kind: o.Kind, CreatedAt: o.CreatedAt}
	}
}

// compare sets what the fix that counts and the others of its task and run have to do with each other.
func (p *Proposal) compare(others []*Proposal) {
	in, best := p.InTheTree(), (*Proposal)(nil)
	if p.State == Proposed && p.waits() {
		p.among++
	}
	for _, o := range others {
		if o.Task != p.Task {
			continue
		}
		p.several, o.several = true, true
		in = in || o.InTheTree()
		if o.State != Proposed || !o.waits() {
			continue
		}
		p.among++
		if o.verified() && o.Fault == nil && (best == nil || newer(o, best)) {
			best = o
		}
	}
	if best != nil && !in && p.State == Proposed && !p.verified() {
		p.Verified = &best.Called
	}
}

func (p *Proposal) verified() bool {
	return p.State == Proposed && known(p.Verdict) == "verified"
}

// waits reports whether a person may still apply the fix.
func (p *Proposal) waits() bool { return p.Disposition == Open || p.Disposition == Superseded }

// InTheTree reports whether any of the fix was applied and not reverted.
func (p *Proposal) InTheTree() bool {
	return len(p.Applied)+len(Partly(&p.Fix, p.Decided)) > 0
}

// Among returns how many proposals of the task a person may still apply in the run; 0 for one, or where p was named
// by number.
func (p *Proposal) Among() int {
	if p.ByNumber || p.State != Proposed || p.among < 2 {
		return 0
	}
	return p.among
}

// Exact returns what a verb takes for this fix and no other: the task, or TASK@N where the run has several of the
// task or where only that applies it.
func (p *Proposal) Exact() string {
	if p.several || p.ByNumber {
		return CalledBy(p.Task, p.Name)
	}
	return p.Task
}

// Exact returns what a verb takes for this fix and no later one: the task, or TASK@N where it is not the first of
// its task in its run.
func (f *Fix) Exact() string {
	if f.Patch == nil {
		return f.Task
	}
	if name := strings.TrimSuffix(path.Base(f.Patch.Path), ".patch"); number(name) > 1 {
		return CalledBy(f.Task, name)
	}
	return f.Task
}

// Numbered returns the name of the n-th fix of a task in one run: <task>, <task>@2 …. base is the escaped task, in
// which internal/filename leaves no other "@".
func Numbered(base string, n int) string {
	if n < 2 {
		return base
	}
	return base + "@" + strconv.Itoa(n)
}

// number returns the n of a numbered name.
func number(name string) int {
	_, after, _ := strings.Cut(name, "@")
	n, err := strconv.Atoi(after)
	if err != nil || n < 2 {
		return 1
	}
	return n
}

// CalledBy returns what a verb takes for one fix of a task, whether or not it counts: TASK@N, also TASK@1.
func CalledBy(task, name string) string { return task + "@" + strconv.Itoa(number(name)) }

// address splits TASK@N; n is 0 where no number is named.
func address(typed string) (task string, n int) {
	at := strings.LastIndexByte(typed, '@')
	if at < 1 {
		return typed, 0
	}
	n, err := strconv.Atoi(typed[at+1:])
	if err != nil || n < 1 || strconv.Itoa(n) != typed[at+1:] {
		return typed, 0
	}
	return typed[:at], n
}

// Means reports whether a person who types a task, or TASK@N, means the fix with this name.
func Means(typed, task, name string) bool {
	return typed == task || typed == CalledBy(task, name)
}

// quotaRuns is how many of the newest runs ResumesAt reads.
const quotaRuns = 20

// ResumesAt returns when an agent that ran into a limit can go on, as its newest recorded attempt said, and the
// error kind of that attempt. The zero time: it can now, as far as is known.
func (s *Store) ResumesAt(agent string, now time.Time) (at time.Time, kind string) {
	runs, _ := s.Runs() // what cannot be read is no reason to wait
	if len(runs) > quotaRuns {
		runs = runs[len(runs)-quotaRuns:]
	}
	var newest *Attempt
	for _, run := range runs {
		all, _, _ := s.ended(run)
		for _, p := range all {
			for i := range p.Attempts {
				if a := &p.Attempts[i]; a.Agent == agent && (newest == nil || a.StartedAt >= newest.StartedAt) {
					newest = a
				}
			}
		}
	}
	if newest == nil || newest.Decision == nil || newest.Decision.ResumeAt == nil {
		return time.Time{}, ""
	}
	at, err := time.Parse(time.RFC3339, *newest.Decision.ResumeAt)
	if err != nil || !at.After(now) {
		return time.Time{}, ""
	}
	return at, known(newest.Kind)
}

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
	i, err := imported(p.Dir)
	if errors.Is(err, fs.ErrNotExist) || p.Dir == "" {
		return nil
	}
	if err != nil { // that it was imported is known all the same
		return &Imported{}
	}
	return &i
}

func imported(runDir string) (i Imported, err error) {
	text, err := recordfile.Read(filepath.Join(runDir, ImportedFile), 1<<16)
	if err == nil {
		err = json.Unmarshal(text, &i)
	}
	return i, err
}
