// Package agentbench is the verb agents bench: it has agents repair failures of the past, each in a copy of the tree of
// that time, and tells how each try ended. Nothing of it is written into the tree or into the records of its runs.
package agentbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A Bench has agents repair cases, one after the other.
type Bench struct {
	Project project.Project // its secrets also hide what the PIPELINE.hcl of a case declares
	Store   *record.Store   // of the project
	Cache   string          // as an Engine's
	Bin     *scratch.Bin
	Tier    sandbox.Tier           // empty: the strongest that this machine has
	Budget  pipeline.Budget        // of each try
	Agents  map[string]agent.Agent // of PIPELINE.hcl as it is now
	Names   []string               // of those that are asked, in this order
	Folder  string                 // where the records of the tries are kept; it must not exist
	Step    func(c Case, agent, text string)
}

// Run tries every case with every agent. told is called after each try. After an error of one case it goes on with
// the next; the rows of that case tell it.
func (b *Bench) Run(ctx context.Context, cases []Case, told func(Row)) (*Report, error) {
	at, err := homes.Find(ctx, b.Store, b.Cache)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(b.Folder, 0o700); err != nil {
		return nil, err
	}
	r := &Report{Folder: b.Folder, Budget: limitOf(b.Budget)}
	for _, c := range cases {
		rows, err := b.try(ctx, at, c, told)
		r.Rows = append(r.Rows, rows...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			row := Row{Case: c.Name, Task: c.Task, State: NoCase, Reason: new(b.Project.Secrets.String(err.Error()))}
			r.Rows = append(r.Rows, row)
			told(row)
		}
	}
	r.count(b.Names)
	return r, nil
}

// try has all agents repair one case. An error means that it is no case here.
func (b *Bench) try(ctx context.Context, at homes.Places, c Case, told func(Row)) (rows []Row, err error) {
	base, err := c.base(ctx, at.Work, b.Bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	if c.Reference != nil {
		if err := b.proves(ctx, at, c, base); err != nil {
			return nil, err
		}
	}
	for _, name := range b.Names {
		row, err := b.ask(ctx, at, c, base, name)
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
		told(row)
	}
	return rows, nil
}

// A place is a copy of the tree of a case, with the PIPELINE.hcl that it had.
type place struct {
	*scratch.Copy
	config *pipeline.Config
	task   *pipeline.Task
	runner *task.Runner
	store  *record.Store
}

// open makes a place, with changes.
func (b *Bench) open(ctx context.Context, at homes.Places, c Case, base *scratch.Base, changes []patch.Change) (_ *place, err error) {
	p := &place{}
	if p.Copy, err = base.Copy(ctx, filepath.Join(at.Work, "bench")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := p.Put(changes); err != nil {
		return nil, err
	}
	in := b.Project
	in.Dir, in.Into = filepath.Join(p.Dir, filepath.FromSlash(base.Sub)), project.Here
	file, err := in.File()
	if err != nil {
		return nil, err
	}
	if filepath.Dir(file) != in.Dir {
		return nil, errors.New("it has no PIPELINE.hcl")
	}
	if p.config, _, err = in.Read(file); err != nil {
		return nil, fmt.Errorf("its PIPELINE.hcl is not understood: %w", err)
	}
	p.config = run.WithRecordedArgs(p.config, []record.Task{{Name: c.Task, Args: c.Args}})
	if p.task = p.config.Task(c.Task); p.task == nil {
		return nil, fmt.Errorf("its PIPELINE.hcl has no task %q", pipeline.ShownName(c.Task))
	}
	p.runner = &task.Runner{Config: p.config, Environ: b.Project.Environ, Redact: b.Project.Secrets}
	p.store = record.At(in.Dir)
	return p, nil
}

// run runs the task of the case with what it depends on.
func (b *Bench) run(ctx context.Context, p *place) (*record.Sealed, error) {
	g, err := pipeline.Select(p.config, []string{p.task.Name}, false)
	if err != nil {
		return nil, err
	}
	return (&run.Run{
		Config: p.config, Graph: g, Store: p.store, Tasks: p.runner, Healing: record.Healing{Mode: "on"},
	}).Do(ctx)
}

// proves returns why the reference does not show that the case is one; nil: it does.
func (b *Bench) proves(ctx context.Context, at homes.Places, c Case, base *scratch.Base) (err error) {
	changes, err := patch.Changes(c.Reference, base.Read)
	if err != nil {
		return fmt.Errorf("its reference does not fit: %w", err)
	}
	b.step(c, "", "the task with the reference")
	p, err := b.open(ctx, at, c, base, changes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	sealed, err := b.run(ctx, p)
	if err != nil {
		return err
	}
	if sealed.Status != record.Passed {
		return fmt.Errorf("the task does not pass with its reference: the run %s", sealed.Status)
	}
	return nil
}

// ask has one agent repair the case.
func (b *Bench) ask(ctx context.Context, at homes.Places, c Case, base *scratch.Base, name string) (row Row, err error) {
	p, err := b.open(ctx, at, c, base, nil)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	b.step(c, name, "the task without a repair")
	sealed, err := b.run(ctx, p)
	if err != nil {
		return row, err
	}
	ended := sealed.Task(c.Task)
	if ended == nil || ended.Status != record.Failed && ended.Status != record.TimedOut {
		return row, fmt.Errorf("the task does not fail: the run %s", sealed.Status)
	}
	hook := pipeline.AgentHook{}
	for _, h := range p.task.OnFail {
		if h.Agent != nil {
			hook = *h.Agent
			break
		}
	}
	hook.Use, hook.Budget, hook.Fallback, hook.Reviewer = name, b.Budget, nil, ""
	p.task.OnFail = []pipeline.Hook{{Agent: &hook}}
	e := &hooks.Engine{
		Config: p.config, Store: p.store, Redact: b.Project.Secrets, Environ: b.Project.Environ,
		Cache: filepath.Join(base.Holder(), "cache"), Bin: b.Bin, RunTask: p.runner.RunTask,
		Agents: map[string]agent.Agent{name: b.Agents[name]}, Tier: b.Tier, Asked: true,
		Observer: hooks.Observer{Step: func(s hooks.Step) { b.step(c, name, s.Text) }},
	}
	began := time.Now()
	out, err := e.Heal(ctx, sealed, c.Task)
	if err != nil {
		return row, err
	}
	if len(out) != 1 || out[0].Fix == nil {
		return row, errors.New("no fix was recorded")
	}
	kept := filepath.Join(b.Folder, filename.Of(c.Name), filename.Of(name))
	if err := os.CopyFS(kept, os.DirFS(sealed.Dir)); err != nil {
		return row, fmt.Errorf("the record of the try could not be kept: %w", err)
	}
	return rowOf(c, name, out[0].Fix, time.Since(began), kept), nil
}

func (b *Bench) step(c Case, agent, text string) {
	if b.Step != nil {
		b.Step(c, agent, text)
	}
}

func limitOf(b pipeline.Budget) fix.Amounts {
	a := fix.Amounts{Attempts: new(b.Attempts), WallClockMS: new(b.WallClock.Milliseconds())}
	if b.Tokens > 0 {
		a.Tokens = new(b.Tokens)
	}
	if b.CostUSD > 0 {
		a.CostUSD = new(b.CostUSD)
	}
	return a
}
