// Package draft collects the evidence of a fix while it is made, and seals it: what the agent said and printed, the
// base that it worked on, what every attempt left, and the proposed patch. Package fix documents the files.
package draft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

// A Draft collects the evidence of one fix before it is sealed. Secrets are removed from everything it writes, but
// for patches and base contents: those hold none, or are not written. It is safe for concurrent use; the fields are
// set before it is shared.
type Draft struct {
	Run, Task string
	Secrets   *redact.Set // what no patch, base content or stream may hold; nil: nothing
	Name      string      // of the files: <name>.json …; Begin chooses it
	// scratch.Base.Sub: the pipeline's folder relative to where paths of changes begin; may be empty
	Sub      string
	BaseTook time.Duration // to make the base, with StoreBase

	runDir, runDigest string
	task              bool // of an agent task, see OfTask: there is no journal
	clean             func([]byte) []byte
	journal           *fix.Journal
	alive             *os.File // draft.json; locked while its maker lives

	mu         sync.Mutex
	transcript *os.File
	lines      int
	prompts    []fix.PromptRef
	base       *storedBase
	closed     bool
}

// Begin opens a draft below runDir/fixes. A second fix of the same task gets the suffix @2, @3 …. clean removes
// secrets and may be nil. The caller closes the draft, also after Seal.
func Begin(runDir, runID, runDigest, task string, clean func([]byte) []byte) (*Draft, error) {
	j, err := fix.OpenJournal(runDir, runDigest, clean)
	if err != nil {
		return nil, err
	}
	d := &Draft{Run: runID, Task: task, runDir: runDir, runDigest: runDigest, clean: orNothing(clean), journal: j}
	if err := d.claim(); err != nil {
		return nil, errors.Join(fmt.Errorf("fix of task %q: %w", task, err), d.Close())
	}
	return d, nil
}

// orNothing returns clean, or a function that cleans nothing.
func orNothing(clean func([]byte) []byte) func([]byte) []byte {
	if clean == nil {
		return func(b []byte) []byte { return b }
	}
	return clean
}

// claim takes the first free name: only one process can make its folder.
func (d *Draft) claim() error {
	base := filename.Of(d.Task)
	for n := 1; ; n++ {
		d.Name = fix.Numbered(base, n)
		if recordfile.Exists(d.path(".json")) {
			continue
		}
		err := os.Mkdir(d.path(""), 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return advice.Writing(err, d.path(""))
		}
		break
	}
	return d.hold()
}

// hold writes draft.json, locked, and opens the transcript.
func (d *Draft) hold() error {
	// Locked before it gets its name, the file is never seen unlocked while its maker lives.
	tmp := d.path("/.draft")
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return advice.Writing(err, tmp)
	}
	d.alive = f
	if err := recordfile.Lock(f); err != nil {
		return err
	}
	text, err := recordfile.JSON(fix.DraftFile{
		SchemaVersion: fix.SchemaVersion, Run: d.Run, RunDigest: d.runDigest,
		Task: d.Task, StartedAt: timestamp.Now(),
	})
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil { // names and digests only
		return advice.Writing(err, tmp)
	}
	if err := os.Rename(tmp, d.path("/draft.json")); err != nil {
		return err
	}
	d.transcript, err = os.OpenFile(d.path(".transcript.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW,
		0o600)
	return advice.Writing(err, d.path(".transcript.jsonl"))
}

// path returns the absolute path of one of the draft's files.
func (d *Draft) path(suffix string) string {
	return filepath.Join(d.runDir, d.folder(), d.Name+filepath.FromSlash(suffix))
}

// rel returns the same path relative to the run's folder, as the record has it.
func (d *Draft) rel(suffix string) string { return d.folder() + "/" + d.Name + suffix }

// Event appends a line about this fix to the journal of the hooks. An agent task has none.
func (d *Draft) Event(kind string, data map[string]any) error {
	if d.task {
		return nil
	}
	with := map[string]any{"task": d.Task, "fix": d.Name}
	maps.Copy(with, data)
	return d.journal.Event(kind, with)
}

// Seal writes <name>.json, fsynced, last. It fills in what the draft knows: schema version, run, task, base, a
// missing time, and of the provenance all but policy, sandbox and agent. Then it writes the digest of <name>.json to
// the journal of the hooks. A draft that is never sealed counts as interrupted.
func (d *Draft) Seal(f *fix.Fix) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return fmt.Errorf("fix %s: %w", d.Name, os.ErrClosed)
	case recordfile.Exists(d.path(".json")):
		return fmt.Errorf("%s is sealed: it never changes", d.path(".json"))
	}
	f.SchemaVersion, f.Run, f.RunDigest, f.Task = fix.SchemaVersion, d.Run, d.runDigest, d.Task
	if f.CreatedAt == "" {
		f.CreatedAt = timestamp.Now()
	}
	if d.base != nil {
		f.Base = d.base.said(d.Sub, d.BaseTook)
	}
	fix.FillLists(f)
	if d.transcript != nil { // the record counts on it
		if err := d.transcript.Sync(); err != nil {
			return err
		}
	}
	if err := d.provenance(f); err != nil {
		return fmt.Errorf("fix %s: %w", d.Name, err)
	}
	stored, err := cleaned(f, d.clean)
	if err != nil {
		return fmt.Errorf("fix %s: %w", d.Name, err)
	}
	if err := stored.WellFormed(d.Run, d.Name); err != nil { // nobody could read it again
		return fmt.Errorf("fix %s: %w", d.Name, err)
	}
	text, err := recordfile.JSON(stored)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := recordfile.Write(d.path(".json"), text, true); err != nil {
		return err
	}
	// Only the journal can hold the digest of the record itself. A fix that it does not name was sealed by a process
	// killed here.
	told := d.journal.Event("sealed", map[string]any{
		"task": d.Task, "fix": d.Name, "state": stored.State,
		"verdict": stored.Verdict, "digest": recordfile.Digest(text),
	})
	if told != nil {
		told = fmt.Errorf("%s is sealed, but the journal does not have it: %w", d.path(".json"), told)
	}
	return errors.Join(d.forgetWorkplaces(), os.Remove(d.path("/draft.json")), told)
}

// Close ends the draft; closing twice does nothing.
func (d *Draft) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var err error
	if !d.task {
		err = d.journal.Close()
	}
	if d.alive != nil {
		// Closing the file would do it too, but not while a process that is just being started still has a copy of
		// it.
		err = errors.Join(err, unix.Flock(int(d.alive.Fd()), unix.LOCK_UN))
	}
	for _, f := range []*os.File{d.transcript, d.alive} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	d.transcript = nil
	return err
}

// Resume takes over every draft whose maker is gone. The caller seals them, or finishes those of agent tasks, and closes them. The error names what cannot be
// read.
func Resume(s *fix.Store, clean func([]byte) []byte) ([]*Draft, error) {
	var drafts []*Draft
	runs, errs := s.Runs()
	for _, run := range runs {
		dir := filepath.Join(s.Dir, "runs", run)
		tasks, err := resumeTasks(dir, run, clean)
		drafts, errs = append(drafts, tasks...), append(errs, err)
		names, err := fix.Unsealed(dir)
		for _, name := range names {
			d, fault := resume(dir, run, name, clean)
			if d != nil {
				drafts = append(drafts, d)
			}
			err = errors.Join(err, fault)
		}
		errs = append(errs, err)
	}
	return drafts, errors.Join(errs...)
}

// resume takes over one draft; nil while its maker lives.
func resume(dir, run, name string, clean func([]byte) []byte) (*Draft, error) {
	p, err := fix.ReadDraft(dir, run, name)
	if p == nil || err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "fixes", name, "draft.json"), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, f.Close() // somebody else was quicker
	}
	j, err := fix.OpenJournal(dir, p.RunDigest, clean)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Draft{
		Run: run, Task: p.Task, runDir: dir, runDigest: p.RunDigest, Name: name, clean: orNothing(clean),
		journal: j, alive: f,
	}, nil
}

// TellPacks writes the digests of the stored context packs of tasks to the journal of the hooks of a run.
func TellPacks(runDir, runDigest string, tasks []string) (err error) {
	j, err := fix.OpenJournal(runDir, runDigest, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	for _, task := range tasks {
		e, err := fix.EvidenceOf(runDir, filename.OfPack(task))
		if err != nil {
			return fmt.Errorf("context pack of task %q: %w", task, err)
		}
		if err := j.Event(fix.Packed, map[string]any{"task": task, "path": e.Path, "digest": e.Digest}); err != nil {
			return err
		}
	}
	return nil
}

// provenance adds to a fix what the draft knows. It is called when nothing but <name>.json is still to be written.
func (d *Draft) provenance(f *fix.Fix) error {
	if f.Provenance == nil {
		f.Provenance = &fix.Provenance{}
	}
	p := f.Provenance
	var err error
	if p.Files, err = d.evidence(); err != nil {
		return err
	}
	transcript := func(e fix.Evidence) bool { return e.Path == d.rel(".transcript.jsonl") }
	if i := slices.IndexFunc(p.Files, transcript); i >= 0 {
		p.Transcript = &p.Files[i]
	}
	e, err := fix.EvidenceOf(d.runDir, filename.OfPack(d.Task))
	if err == nil {
		p.Pack = &e
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.Prompts = slices.Clone(d.prompts)
	fix.Fill(&p.Files)
	fix.Fill(&p.Prompts)
	if p.Policy != nil {
		fix.Fill(&p.Policy.Protect)
		fix.Fill(&p.Policy.Verify)
	}
	if p.Agent != nil {
		fix.Fill(&p.Agent.Command)
	}
	lines, head := d.journal.End()
	p.Journal = &journal.End{Lines: lines, Head: head}
	return nil
}

// evidence lists the files of this fix, but for those of work in progress and for what people decide later.
func (d *Draft) evidence() ([]fix.Evidence, error) {
	var all []fix.Evidence
	add := func(rel string) error {
		e, err := fix.EvidenceOf(d.runDir, rel)
		if err == nil {
			all = append(all, e)
		}
		return err
	}
	for _, suffix := range []string{".patch", ".transcript.jsonl"} {
		if err := add(d.rel(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	err := filepath.WalkDir(d.path(""), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := e.Name()
		passing := name == "draft.json" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".copy.json")
		if passing && filepath.Dir(path) == d.path("") {
			return nil
		}
		rel, err := filepath.Rel(d.runDir, path)
		if err != nil {
			return err
		}
		return add(filepath.ToSlash(rel))
	})
	slices.SortFunc(all, func(a, b fix.Evidence) int { return strings.Compare(a.Path, b.Path) })
	return all, err
}

// cleaned returns a copy of f without secrets in its free text. Names, states, digests, and the paths by which a fix
// is found and applied stay what they are, even if a secret is spelled so: Propose refuses a patch whose paths hold
// one. Other paths (left out of the patch, changed in the tree) may be an agent's, and are free text. The digest of
// the policy is computed after its secrets were removed.
func cleaned(f *fix.Fix, clean func([]byte) []byte) (*fix.Fix, error) {
	text, err := recordfile.JSON(f)
	if err != nil {
		return nil, err
	}
	c := &fix.Fix{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, err
	}
	words := func(texts ...*string) {
		for _, s := range texts {
			if s != nil {
				*s = string(clean([]byte(*s)))
			}
		}
	}
	reason := func(s *string) { // a code, and perhaps free text after ": "
		if s == nil {
			return
		}
		r := fix.ParseReason(*s)
		words(&r.Words)
		*s = r.String()
	}
	reason(c.Reason)
	words(c.Note)
	if c.AgentSaid != nil {
		words(&c.AgentSaid.Summary, c.AgentSaid.RootCause)
	}
	if c.Tree != nil {
		words(each(c.Tree.Changed)...)
	}
	for i := range c.Omitted {
		words(&c.Omitted[i].Path)
	}
	for i := range c.Flags {
		words(&c.Flags[i].Detail)
	}
	if r := c.Reproduction; r != nil {
		words(&r.Signature.Run, r.Signature.Copy)
		words(each(r.Ignored)...)
	}
	if c.Verification != nil {
		reason(c.Verification.Reason)
	}
	for i := range c.Attempts {
		a := &c.Attempts[i]
		words(a.Evidence, a.CLIVersion, a.Model)
		if a.Decision != nil {
			words(&a.Decision.Why)
		}
		if a.Finalizer != nil {
			words(a.Finalizer.Reason)
		}
	}
	if c.Provenance == nil {
		return c, nil
	}
	if a := c.Provenance.Agent; a != nil {
		words(append(each(a.Command), a.Path)...)
	}
	if p := c.Provenance.Policy; p != nil {
		words(append(each(p.Protect), &p.Command, p.Prompt)...)
		p.Digest, err = p.Sum()
	}
	return c, err
}

// each returns pointers to the elements of a list.
func each(texts []string) []*string {
	var all []*string
	for i := range texts {
		all = append(all, &texts[i])
	}
	return all
}
