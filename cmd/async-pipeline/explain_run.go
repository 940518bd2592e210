package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// explainRun prints what is known of a recorded run. The arguments are [RUN] [TASK]: RUN alone, or TASK alone for the
// newest run, which is also what latest means.
func explainRun(prog *program, args []string) error {
	store, err := recordStore(prog)
	if err != nil {
		return err
	}
	args = recordedNames(store, args)
	isRun := func(name string) bool {
		_, err := store.Look(name)
		return !errors.Is(err, record.ErrNoRun) || name == "latest"
	}
	id, task := "", ""
	switch {
	case len(args) == 2 && !isRun(args[0]) && isRun(args[1]): // explain TASK --run RUN
		id, task = args[1], args[0]
	case len(args) == 2:
		id, task = args[0], args[1]
	case len(args) == 1 && isRun(args[0]):
		id = args[0]
	case len(args) == 1:
		task = args[0]
	}
	var e record.Entry
	if id == "" || id == "latest" {
		e, err = newestRun(prog, store, task, func(newer record.Entry) string {
			typed := []string{"explain", "--run", newer.ID}
			if task != "" {
				typed = append(typed, task)
			}
			return prog.Typed(typed...) + " tells of it"
		})
	} else {
		e, err = prog.lookRun(store, id)
	}
	if err != nil {
		return err
	}
	r := runStory(prog, store, e)
	if task == "" {
		prog.Results().ExplainRun(r, time.Now())
		return nil
	}
	for _, t := range r.Run.Tasks {
		if t.Name == task {
			return explainRecorded(prog, store, e, r, t)
		}
	}
	neither := ""
	if len(args) == 1 {
		neither = "neither a recorded run nor"
	}
	return prog.noTask(task, e.ID, namesOf(r.Run.Tasks), neither)
}

// runStory collects what is known of a run, sealed or not.
func runStory(prog *program, store *record.Store, e record.Entry) view.RunStory {
	r := view.RunStory{Sealed: e.Sealed != nil, Live: e.Live, Dir: e.Dir, Waited: map[string][]string{}}
	if e.Sealed != nil {
		r.Run = e.Sealed.Run
	} else {
		story, err := store.Story(e.ID)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // ended before its first line
			prog.Messages().Warning(err.Error())
		}
		r.Run = record.Run{ID: e.ID, Job: story.Job, CI: story.CI, Healing: story.Healing, StartedAt: record.Time{Time: record.Began(e.ID)}}
		for _, name := range story.Names {
			r.Run.Tasks = append(r.Run.Tasks, asTold(story, e, name))
		}
	}
	nodes, err := (&record.Sealed{Dir: e.Dir}).Graph()
	if err != nil && (r.Sealed || !errors.Is(err, fs.ErrNotExist)) { // without a verdict it may have been ended before
		what := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			what = "graph.json of run " + e.ID + " is gone\n" + prog.Typed("doctor") + " shows what else is missing"
		}
		prog.Messages().Warning("what waited for what is not known: " + what)
	}
	for _, n := range nodes {
		r.Waited[n.Name] = n.DependsOn
	}
	if r.Sealed {
		r.Path = criticalPath(r.Run.Tasks, func(task string) []string { return r.Waited[task] })
		r.Hooks = hookStories(prog, store, r.Run)
		r.Failing = failingIn(e.Sealed)
		r.Type = afterRun(prog, r)
	}
	return r
}

// hookStories returns what hooks did about the failures of a run, in the order of its tasks.
func hookStories(prog *program, store *record.Store, run record.Run) []view.HookStory {
	fixes := prog.fixes(store.Root)
	told, err := fixes.HookRuns(run.ID)
	if err != nil {
		prog.Messages().Warning(err.Error())
	}
	var all []view.HookStory
	for _, t := range run.Tasks {
		if !failed(t) {
			continue
		}
		switch p, err := fixes.Find(run.ID, t.Name); {
		case err == nil:
			all = append(all, view.HookStory{Task: t.Name, Fix: p})
		case !errors.Is(err, fix.ErrNone):
			prog.Messages().Warning(err.Error())
		}
		for i := range told {
			if told[i].Task == t.Name {
				all = append(all, view.HookStory{Task: t.Name, Run: &told[i]})
			}
		}
	}
	return all
}

// afterRun returns the commands that a person may want next.
func afterRun(prog *program, r view.RunStory) []view.Next {
	var next []view.Next
	open := map[string]bool{}
	for _, s := range r.Hooks {
		if s.Fix != nil && s.Fix.State == fix.Proposed && s.Fix.Disposition == fix.Open {
			open[s.Task] = true
			next = append(next, view.Next{Does: "review the fix", Type: prog.Typed("fix", "show", r.Run.ID, s.Task)})
		}
	}
	next = append(next, takePatches(prog, rootOf(r.Dir), r.Dir, r.Run.Tasks)...)
	const most = 4 // failures whose commands are told: more is no help
	n := 0
	for _, t := range r.Run.Tasks {
		if !failed(t) {
			continue
		}
		if n++; n > most {
			continue
		}
		next = append(next, view.Next{Does: "its log", Type: prog.Typed("logs", r.Run.ID, t.Name)})
		if !open[t.Name] {
			next = append(next, view.Next{Does: "run it again", Type: prog.Typed("run", t.Name) + behindTask(t.Args)})
		}
	}
	if n > most {
		next = append(next, view.Next{Does: fmt.Sprintf("logs of the other %d", n-most), Type: prog.Typed("logs", r.Run.ID)})
	}
	return next
}

// explainRecorded prints what is known of one task of a run and, for a failed one, of its context pack.
func explainRecorded(prog *program, store *record.Store, e record.Entry, r view.RunStory, t record.Task) error {
	var pack *view.Pack
	file := ""
	if e.Sealed != nil && failed(t) {
		text, err := packOf(prog, store, e.Sealed, t.Name)
		if err != nil {
			return err
		}
		pack = &view.Pack{}
		if err := json.Unmarshal(text, pack); err != nil {
			prog.Messages().Warning("the context pack of task " + view.TaskName(t.Name) + " is damaged: " +
				err.Error())
			pack = nil
		}
		if at := filepath.Join(e.Dir, "context", filename.Of(t.Name)+".json"); pack != nil {
			if _, err := os.Lstat(at); err == nil {
				file = at
			}
		}
	}
	r.Type = nil
	for _, s := range r.Hooks {
		if s.Task == t.Name && s.Fix != nil && s.Fix.State == fix.Proposed && s.Fix.Disposition == fix.Open {
			r.Type = append(r.Type, view.Next{Does: "review the fix", Type: prog.Typed("fix", "show", r.Run.ID, t.Name)})
		}
	}
	r.Type = append(r.Type, takePatches(prog, store.Root, e.Dir, []record.Task{t})...)
	if t.Log != nil {
		r.Type = append(r.Type, view.Next{Does: "its whole log", Type: prog.Typed("logs", r.Run.ID, t.Name)})
	}
	r.Type = append(r.Type, runAgain(prog, r, t))
	prog.Results().ExplainTask(r, t, pack, file, time.Now())
	return nil
}

// runAgain returns the command that runs a task again: alone where its dependencies passed.
func runAgain(prog *program, r view.RunStory, t record.Task) view.Next {
	if t.Status == record.Skipped {
		return view.Next{Does: "run it", Type: prog.Typed("run", t.Name) + behindTask(t.Args)}
	}
	for _, before := range r.Run.Tasks {
		ready := (before.Status == record.Passed || before.Status == record.Cached) && before.Service == nil
		if !ready && slices.Contains(r.Waited[t.Name], before.Name) {
			return view.Next{Does: "run it again", Type: prog.Typed("run", t.Name) + behindTask(t.Args)}
		}
	}
	return view.Next{Does: "run it again", Type: prog.Typed("run", "--only", t.Name) + behindTask(t.Args)}
}

// packOf returns the context pack of a failed task. A stored one needs no PIPELINE.hcl; a broken PIPELINE.hcl only
// costs what a new pack would have told of the task.
func packOf(prog *program, store *record.Store, sealed *record.Sealed, task string) ([]byte, error) {
	config := &pipeline.Config{Root: store.Root}
	if file, err := hclfile.Find(store.Root); err == nil {
		if c, err := prog.read(file); err == nil {
			config = c
		}
	}
	config = run.WithRecordedArgs(config, sealed.Tasks)
	e := &hooks.Engine{Config: config, Store: store, Redact: prog.Secrets, Environ: prog.Environ}
	return e.Packs().Pack(context.Background(), sealed, task)
}
