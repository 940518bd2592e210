// Package resume finds out what is left to do of an earlier run, with a verdict or killed. Read collects what its record
// says, and those of the runs that it had resumed itself; Past.Left compares that with the tree and the configuration of
// now. Neither writes anything or starts a process.
package resume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// A Past is how the tasks of an earlier run ended, there or in a run that it had resumed.
type Past struct {
	Run    string           // id of the earlier run
	Status string           // how it ended
	Config *pipeline.Config // with the arguments that tasks had there
	Tasks  []record.Task    // those of the run, then those that it had taken over; without a status: the run they passed in is gone
	Gone   []string         // of those of Tasks that passed: Config has no such task

	names []string         // of those of Tasks that Config has
	ended map[string]ended // by name
}

// ended is a task as it ended.
type ended struct {
	record.Task
	print string // fingerprint
	dir   string // of the run in which it ended
}

// Read reads the record of a run that has ended, and those of the runs that it had resumed. The error says why the run
// cannot be resumed: a record is damaged, or the configuration has not all tasks that did not pass.
func Read(store *record.Store, e record.Entry, c *pipeline.Config) (*Past, error) {
	of, err := read(store, e)
	if err != nil {
		return nil, err
	}
	p := &Past{Run: e.ID, Status: of.status, ended: map[string]ended{}}
	names := p.add(of, nil)
	if of.resumes != nil {
		names = append(names, of.resumes.Passed...)
	}
	if err := p.follow(store, of.resumes); err != nil {
		return nil, err
	}
	var missed []string
	for _, name := range names {
		t, known := p.ended[name]
		if !known {
			t.Name = name
			p.ended[name] = t
		}
		p.Tasks = append(p.Tasks, t.Task)
		switch {
		case c.Task(name) != nil:
			p.names = append(p.names, name)
		case hasPassed(t), t.Reason != nil && *t.Reason == record.NotNeeded:
			p.Gone = append(p.Gone, name)
		default:
			missed = append(missed, pipeline.ShownName(name))
		}
	}
	if len(p.names) == 0 {
		return nil, errors.New("PIPELINE.hcl has none of its tasks")
	}
	if len(missed) > 0 {
		return nil, fmt.Errorf("PIPELINE.hcl no longer has %s, which did not pass there: type async-pipeline run, without --resume", english.List(missed, 3))
	}
	p.Config = run.WithRecordedArgs(c, p.Tasks)
	return p, nil
}

// follow adds the tasks that a run had taken over, and so on. A run that is gone cannot tell of them.
func (p *Past) follow(store *record.Store, resumes *record.Resumed) error {
	visited := map[string]bool{p.Run: true}
	for resumes != nil && len(resumes.Passed) > 0 && !visited[resumes.Run] {
		visited[resumes.Run] = true
		of, err := read(store, store.Entry(resumes.Run))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		wanted := map[string]bool{}
		for _, name := range resumes.Passed {
			wanted[name] = true
		}
		p.add(of, wanted)
		resumes = of.resumes
	}
	return nil
}

// add adds the tasks of one run that are wanted (nil: all) and did not end in a later one. It returns the names of all.
func (p *Past) add(of *recorded, wanted map[string]bool) (names []string) {
	for _, t := range of.tasks {
		names = append(names, t.Name)
		if _, known := p.ended[t.Name]; !known && (wanted == nil || wanted[t.Name]) {
			p.ended[t.Name] = ended{t, of.prints[t.Name], of.dir}
		}
	}
	return names
}

// recorded is what the record of one run says.
type recorded struct {
	dir     string
	status  string
	tasks   []record.Task
	prints  map[string]string // fingerprints by task
	resumes *record.Resumed
}

// read reads the record of one run, which must be as it was written. The error is fs.ErrNotExist where there is none.
func read(store *record.Store, e record.Entry) (*recorded, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	if err := whole(e); err != nil {
		return nil, err
	}
	of := &recorded{dir: e.Dir, prints: map[string]string{}}
	if s := e.Sealed; s != nil {
		of.status, of.tasks, of.resumes = s.Status, s.Tasks, s.Resumes
	} else if err := of.killed(store, e.ID); err != nil {
		return nil, err
	}
	graph, err := record.ReadGraph(e.Dir)
	if err != nil {
		return nil, err
	}
	for _, n := range graph {
		of.prints[n.Name] = n.Fingerprint
	}
	return of, nil
}

// killed fills in what the journal says of a run without a verdict.
func (of *recorded) killed(store *record.Store, id string) error {
	story, err := store.Story(id)
	if err != nil {
		return err
	}
	if len(story.Names) == 0 {
		return errors.New("it was ended before it had a task: start a run anew")
	}
	of.status, of.resumes = record.Interrupted, story.Resumes
	for _, name := range story.Names {
		t, ok := story.Ended[name]
		if !ok {
			given := story.Args[name]
			t = record.Task{Name: name, Status: record.Cancelled, Args: given.Args, ArgsHidden: given.Hidden}
		}
		of.tasks = append(of.tasks, t)
	}
	return nil
}

// whole returns an error if a record is not as it was written.
func whole(e record.Entry) error {
	root, err := os.OpenRoot(e.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	r := journal.NewReport(root)
	if e.Sealed != nil {
		e.Sealed.Audit(r)
	} else {
		r.Chain("events.jsonl", "the run", nil, nil, false)
	}
	if len(r.Faults) == 0 {
		return nil
	}
	f := r.Faults[0]
	return fmt.Errorf("its record is damaged: %s, %s: %s expected, found %s; async-pipeline doctor shows more", f.File, f.Where, f.Expected, f.Found)
}
