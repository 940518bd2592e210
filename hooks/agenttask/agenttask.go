// Package agenttask carries out the tasks of a run that an agent does: one turn in a copy of the tree, whose difference
// is stored as a patch and never applied. It does not import pipeline/run: the command lends Runner.Run to it.
package agenttask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/attempt"
	"github.com/async-pipeline/async-pipeline/hooks/budget"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/person"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A Runner carries out the agent tasks of one root. Its fields are not changed while it works; Run may be called by
// several goroutines at once.
type Runner struct {
	Config  *pipeline.Config
	Store   *record.Store
	Redact  *redact.Set
	Environ []string // the person's environment, KEY=VALUE
	Cache   string   // the person's cache folder for this program: copies are made there
	Bin     *scratch.Bin
	Agents  map[string]agent.Agent // by name
	Tier    sandbox.Tier           // asked for on the command line; empty: the best there is
	Idle    time.Duration          // ends an agent that says nothing for so long; 0: attempt.IdleLimit
}

// errTimeout is the cause of a context that ended because the timeout of the task did.
var errTimeout = errors.New("the timeout of the task ended")

// timedOut is the exit code of a task that its timeout ended.
const timedOut = 124

// Run lets the agent of a task work in a copy of the tree as it is now, and returns the row of the task and what the
// agent answered. It writes below agents of the run's folder only. say is told what happens, a line each.
func (r *Runner) Run(
	ctx context.Context, t *pipeline.Task, run *record.Draft, say func(text string),
) (got record.Task, answer string) {
	started := time.Now()
	got = record.Task{Name: t.Name, Status: record.Failed, Attempts: 1, StartedAt: &record.Time{Time: started}}
	defer func() { got.DurationMS = new(time.Since(started).Milliseconds()) }()
	fails := func(err error) (record.Task, string) {
		got.Error = new(r.Redact.String(err.Error()))
		return got, ""
	}
	if why := person.Hook(homes.Lookup(r.Environ)); why != "" {
		return fails(fmt.Errorf("what a hook or another agent started starts no agent (%s)", why))
	}
	a := r.Agents[t.Agent.Use]
	if a == nil {
		return fails(fmt.Errorf("there is no agent %q", t.Agent.Use))
	}
	if err := a.Ready(); err != nil {
		return fails(err)
	}
	tier, err := homes.Tier(r.Tier)
	if err != nil {
		return fails(err)
	}
	got.Sandbox = new(string(tier))
	whole := ctx
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Timeout, errTimeout)
		defer cancel()
	}
	d, err := draft.OfTask(run.Dir, run.ID, t.Name, r.Redact.Bytes)
	if err != nil {
		return fails(err)
	}
	d.Secrets = r.Redact
	log := &progress.Log{Clean: r.Redact.String, Watch: func(text string, _ time.Duration) { say(agent.Clean(text)) }}
	res, err := r.work(ctx, &work{task: t, id: run.ID, agent: a, tier: tier, draft: d, log: log})
	got.Agent = agentOf(t, res)
	if kept := r.keep(d, &got); kept != nil {
		err = errors.Join(err, kept)
	}
	got.Agent.Note = log.Notes()
	return r.end(whole, ctx, t, got, res, err), res.Answer
}

// work is one agent task under way.
type work struct {
	task  *pipeline.Task
	id    string // of the run
	agent agent.Agent
	tier  sandbox.Tier
	draft *draft.Draft
	log   *progress.Log
}

// work makes the copy, lets the agent work in it, and removes it.
func (r *Runner) work(ctx context.Context, w *work) (res attempt.TaskResult, err error) {
	t := w.task
	at, err := homes.Find(ctx, r.Store, r.Cache)
	if err != nil {
		return res, err
	}
	h := &homes.Homes{
		Places: at.Apart(t.Name), Task: t, Environ: r.Environ, Bin: r.Bin, Since: time.Now(),
		Box: sandbox.Box{Tier: w.tier, Hook: w.id + "/" + t.Name},
	}
	if err := h.Open(r.Store.Root); err != nil {
		return res, err
	}
	defer w.log.Tidy(h.Close)
	var base *scratch.Base
	if err := h.Copying(func() (err error) {
		base, err = scratch.Make(ctx, h.Work, scratch.Source{
			Root: r.Config.Root, Outputs: r.outputsBefore(t), Include: t.Scratch.Include, Exclude: t.Scratch.Exclude,
			Bin: r.Bin,
		})
		return err
	}); err != nil {
		return res, err
	}
	defer w.log.Tidy(base.Close)
	w.draft.Sub = base.Sub
	h.Go = homes.HasGo(base)
	caches, err := h.FreshCaches()
	if err != nil {
		return res, err
	}
	b := budget.Start(t.Agent.Budget, 0, h.CopyTime)
	b.Next()
	b.Try()
	return attempt.Task(ctx, attempt.Request{
		Failure: &failedtask.Failure{Config: r.Config, Task: t, Run: &record.Sealed{Run: record.Run{ID: w.id}}, Clean: r.Redact.String},
		Hook:    &pipeline.AgentHook{Use: t.Agent.Use, Budget: t.Agent.Budget},
		Homes:   h, Base: base, Caches: caches, Budget: b, Draft: w.draft, Progress: w.log, Redact: r.Redact,
		Idle: cmp.Or(r.Idle, attempt.IdleLimit), Number: 1, Agent: w.agent,
	})
}

// outputsBefore returns the outputs of what a task waits for: they are in its copy also where git ignores them.
func (r *Runner) outputsBefore(t *pipeline.Task) (globs []string) {
	g, err := pipeline.Select(r.Config, []string{t.Name}, false)
	if err != nil {
		return nil
	}
	for _, d := range g.Ancestors(t.Name) {
		globs = append(globs, d.Outputs...)
	}
	return globs
}

// end returns the row of a task whose agent has ended. whole is the context without the task's timeout.
func (r *Runner) end(
	whole, ctx context.Context, t *pipeline.Task, got record.Task, res attempt.TaskResult, err error,
) record.Task {
	a := got.Agent
	got.ProcessesLeft = &res.Exit.ProcessesLeft
	fails := func(kind failure.Kind, evidence string) {
		a.Kind, a.Class, a.Evidence = new(string(kind)), new(string(kind.Class())), &evidence
	}
	switch {
	case whole.Err() != nil:
		got.Status, got.Reason = record.Cancelled, new(string(pipeline.Signal))
		fails(failure.Cancelled, "interrupted")
	case context.Cause(ctx) == errTimeout: //nolint:errorlint // it is never wrapped
		got.Status, got.ExitCode = record.TimedOut, new(timedOut)
		fails(failure.WallTimeout, fmt.Sprintf("still at work after the timeout of the task, %s", t.Timeout))
	case err != nil:
		fails(failure.ScratchFailed, r.Redact.String(err.Error()))
		got.Error = new(fmt.Sprintf("agent %s: %s", t.Agent.Use, *a.Evidence))
	case a.Kind != nil:
		if code := res.Exit.Code; code != 0 && res.Exit.Signal == "" {
			got.ExitCode = &code
		}
		got.Error = new(fmt.Sprintf("agent %s: %s: %s", t.Agent.Use, *a.Kind, *a.Evidence))
	default:
		got.Status, got.ExitCode = record.Passed, new(0)
	}
	return got
}
