package fix

import (
	"bytes"
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
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

// A Store finds and reads the fixes of all runs of one pipeline. It writes nothing.
type Store struct {
	Root string // the pipeline's folder
	Dir  string // Root/.async
	// Typed returns a call of this program as a person types it, for messages; nil: by its name, where they are.
	Typed func(args ...string) string
}

// Command returns a call of this program as a person types it.
func (s *Store) Command(args ...string) string {
	if s.Typed != nil {
		return s.Typed(args...)
	}
	words := []string{"async-pipeline"}
	for _, a := range args {
		words = append(words, shelltext.Quote(a))
	}
	return strings.Join(words, " ")
}

// Runs returns the ids of all runs, oldest first, those ahead of the clock before all others. A link is no run; it
// is among the errors.
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
		case !journal.IsRun(e.Name()): // not ours, as for record.Store
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
		fixes, _, _ := s.ended(run)
		all = append(all, fixes...)
	}
	return all
}

// InRun returns the fixes of one run: those that count, sorted by task, and the others of the same tasks, by number.
// Of several fixes of one task the newest proposal counts, or the newest of all when there is none.
func (s *Store) InRun(run string) (counts, others []*Proposal, errs []error) {
	all, _, errs := s.ended(run)
	slices.SortStableFunc(all, func(a, b *Proposal) int { return cmp.Compare(number(a.Name), number(b.Name)) })
	best, rescued := map[string]*Proposal{}, map[string][]string{}
	for _, p := range all {
		rescued[p.Task] = append(rescued[p.Task], p.Rescue...)
		if old := best[p.Task]; old == nil || newer(p, old) {
			best[p.Task] = p
		}
	}
	for _, p := range all {
		if best[p.Task] == p {
			p.Called = p.Task
			counts = append(counts, p)
			continue
		}
		if p.Disposition == Open { // of an older version, which did not record it
			p.Disposition = Superseded
		}
		best[p.Task].after(p)
		others = append(others, p)
	}
	for _, p := range counts {
		p.Rescue = rescued[p.Task]
		p.compare(others)
	}
	slices.SortFunc(counts, func(a, b *Proposal) int { return cmp.Compare(a.Task, b.Task) })
	return counts, others, errs
}

// newer reports whether p counts before old: a proposal before anything else, then the later one. A fix that came to
// nothing does not hide an earlier proposal, and what was skipped hides nothing.
func newer(p, old *Proposal) bool {
	rank := func(p *Proposal) int {
		switch p.State {
		case Proposed:
			return 2
		case Skipped:
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(p), rank(old)), cmp.Compare(number(p.Name), number(old.Name))) > 0
}

// ended returns every fix of one run that has ended, in the order of their names, and the journal, nil where nothing
// is sealed.
func (s *Store) ended(run string) (all []*Proposal, j *runJournal, errs []error) {
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
			if j == nil {
				j = readRunJournal(folder)
			}
			p, err = readFix(j, dir, run, name)
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
		if p != nil {
			p.Rescue, p.Called = rescues(dir, name), CalledBy(p.Task, name)
			all = append(all, p)
		}
	}
	return all, j, errs
}

// readFix reads <name>.json. A fix whose state changes are damaged is returned with the error.
func readFix(j *runJournal, dir, run, name string) (*Proposal, error) {
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
	p.Decided, p.Fault = j.readState(p.StatePath(), p.Digest)
	p.Disposition, p.Applied = DispositionOf(&p.Fix, p.Decided)
	p.inTree = stayOf(&p.Fix, p.Decided)
	return p, p.Fault
}

// CheckVersion returns an error if text, which was read from path, is in no format that this version reads.
func CheckVersion(path string, text []byte) error {
	var head struct {
		SchemaVersion int `json:"schema_version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	switch v := head.SchemaVersion; {
	case v > SchemaVersion:
		return fmt.Errorf("%s was written by a newer async-pipeline (format %d, this one reads up to %d): "+
			"upgrade to read it", path, v, SchemaVersion)
	case v < 1:
		return fmt.Errorf("%w: %s: schema_version is missing", ErrDamaged, path)
	}
	return nil
}

// A DraftFile is draft.json: a fix that is being made, or whose maker was killed.
type DraftFile struct {
	SchemaVersion int    `json:"schema_version"`
	Run           string `json:"run"`
	RunDigest     string `json:"run_digest"`
	Task          string `json:"task"`
	StartedAt     string `json:"started_at"`
}

// abandonedDraft reads a draft whose maker is gone; nil while the maker is at work, or if there is none.
func abandonedDraft(path string) (*DraftFile, error) {
	if !recordfile.Exists(path) || recordfile.Locked(path) {
		return nil, nil
	}
	text, err := recordfile.Read(path, recordfile.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) { // sealed or finished meanwhile
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := CheckVersion(path, text); err != nil {
		return nil, err
	}
	d := &DraftFile{}
	if err := json.Unmarshal(text, d); err != nil || d.Task == "" {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, cmp.Or(err, errors.New("task is missing")))
	}
	return d, nil
}

// ReadDraft returns, as interrupted, a fix that was begun and never sealed; nil while its maker is at work, or if
// none was begun.
func ReadDraft(dir, run, name string) (*Proposal, error) {
	d, err := abandonedDraft(filepath.Join(dir, "fixes", name, "draft.json"))
	if d == nil || err != nil {
		return nil, err
	}
	f := Fix{
		SchemaVersion: d.SchemaVersion, Run: run, RunDigest: d.RunDigest, Task: d.Task, CreatedAt: d.StartedAt,
		State: Interrupted,
	}
	FillLists(&f)
	return &Proposal{Fix: f, Disposition: None, Dir: dir, Name: name}, nil
}

// AttemptOf returns the number in the name of a file of one attempt, attempt-<n> and a suffix; 0 for another file.
func AttemptOf(file, suffix string) int {
	n, ok := strings.CutPrefix(file, "attempt-")
	n, also := strings.CutSuffix(n, suffix)
	i, err := strconv.Atoi(n)
	if !ok || !also || err != nil {
		return 0
	}
	return i
}

// rescues returns the rescue patches of one fix, by attempt, relative to the run's folder.
func rescues(dir, name string) []string {
	folder := filepath.Join(dir, "fixes", name)
	if !recordfile.IsFolder(folder) {
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	attempt := func(file string) int {
		return cmp.Or(AttemptOf(file, ".patch"), AttemptOf(file, ".redacted.patch"))
	}
	var files []string
	for _, e := range entries {
		if attempt(e.Name()) > 0 && e.Type().IsRegular() {
			files = append(files, e.Name())
		}
	}
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(cmp.Compare(attempt(a), attempt(b)), cmp.Compare(a, b)) // .patch before .redacted.patch
	})
	for i, file := range files {
		files[i] = "fixes/" + name + "/" + file
	}
	return files
}

// An Abandoned is a fix that was begun and never sealed, or an agent task that was never finished, and whose maker is
// gone.
type Abandoned struct {
	Run, Task string
	AgentTask bool
}

// Abandoned returns them, oldest first. The errors name what cannot be read.
func (s *Store) Abandoned() ([]Abandoned, []error) {
	runs, errs := s.Runs()
	var all []Abandoned
	for _, run := range runs {
		dir := filepath.Join(s.Dir, "runs", run)
		tasks, err := abandonedTasks(dir, run)
		if all = append(all, tasks...); err != nil {
			errs = append(errs, err)
		}
		if !recordfile.Exists(filepath.Join(dir, "fixes")) { // as most runs
			continue
		}
		names, err := Unsealed(dir)
		for _, name := range names {
			p, fault := ReadDraft(dir, run, name)
			if p != nil {
				all = append(all, Abandoned{Run: run, Task: p.Task})
			}
			err = errors.Join(err, fault)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return all, errs
}

// Unsealed returns the names of folders of fixes, in a run's folder, that have no record beside them. A link is an
// error.
func Unsealed(runDir string) (names []string, err error) {
	if err := CheckRunFolders(runDir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	folder := filepath.Join(runDir, "fixes")
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name := e.Name()
		switch path := filepath.Join(folder, name); {
		case strings.HasPrefix(name, "."), recordfile.Exists(path + ".json"):
		case e.IsDir():
			names = append(names, name)
		case !strings.Contains(name, "."):
			err = errors.Join(err, recordfile.NoLinks(path))
		}
	}
	return names, err
}

// Keeps returns why a run must not be removed: a proposal of it is open, a fix is being made or was not settled, or
// its fixes cannot be read. "": it may be.
func (s *Store) Keeps(run string) string {
	dir := filepath.Join(s.Dir, "runs", run)
	names, err := Unsealed(dir)
	if err != nil {
		return "its fixes cannot be read: " + err.Error()
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return recordfile.Exists(filepath.Join(dir, "fixes", name, "draft.json"))
	}) {
		return "a fix of it is not finished"
	}
	if tasks, err := UnfinishedTasks(dir); err != nil || len(tasks) > 0 {
		return "an agent task of it is not finished"
	}
	fixes, _, faults := s.InRun(run)
	if len(faults) > 0 {
		return "its fixes cannot be read: " + faults[0].Error()
	}
	if slices.ContainsFunc(fixes, func(p *Proposal) bool { return p.Disposition == Open }) {
		return "it has an open proposal"
	}
	return ""
}

// A HookRun is how an on_fail "run" ended.
type HookRun struct {
	Task       string  `json:"task"`
	ExitCode   *int    `json:"exit_code"`
	Error      string  `json:"error"` // empty when it passed
	DurationMS int64   `json:"duration_ms"`
	Log        *string `json:"log"` // relative to the run's folder
}

// HookRuns returns the on_fail "run" hooks of a run, in the order they ended; with an error those before a damaged
// line.
func (s *Store) HookRuns(run string) ([]HookRun, error) {
	dir := filepath.Join(s.Dir, "runs", run)
	if err := CheckRunFolders(dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	path := filepath.Join(dir, "fixes", EventsFile)
	text, err := recordfile.Read(path, recordfile.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []HookRun
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // a crash left half of it
		}
		var l struct {
			Type string `json:"type"`
			HookRun
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return all, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
		}
		if l.Type == "hook_run_finished" {
			all = append(all, l.HookRun)
		}
	}
	return all, nil
}
