package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/leftovers"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/hooks/reproduce"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A job is one agent hook that is carried out. Its fields are inputs. Only reserve is made here: disk space that is given
// back just before the record is written.
type job struct {
	*Engine
	*walk
	failure *failedtask.Failure
	hook    *pipeline.AgentHook
	draft   *draft.Draft
	log     *progress.Log
	created string
	print   string // fingerprint of the failure
	reserve *os.File
}

// A result is everything that a job found out. The record is written from it, at the end and in one place.
type result struct {
	ending
	agent        string       // the last that was asked, or would have been
	tier         sandbox.Tier // empty: not decided yet
	tree         *fix.Tree
	copies       *fix.Copies
	omitted      []tree.Omitted
	reproduction *fix.Reproduction
	rows         []fix.Attempt
	control      string // of the last try
	said         *fix.Said
	used         fix.Amounts
	best         *candidate
	opinion      *fix.Opinion // on best
}

// An ending is how the fix ends if nothing is proposed.
type ending struct {
	state, reason string
	kind          failure.Kind // of the last try, also where something is proposed
	unasked       bool         // a fallback agent for which there was no time
	resumeAt      *string      // when an agent can go on, later than the budget could wait
}

// A candidate is the difference that a try left, and its verification.
type candidate struct {
	changes []patch.Change
	omitted []tree.Omitted
	control string
	said    *fix.Said
	attempt string // for a person
	untold  bool   // the verdict: a change of the tree may still withhold it
	verify.Result
}

// heal answers one failure with one agent hook. Whatever happens is in the sealed fix; an error means that it could
// not be recorded.
func (e *Engine) heal(
	ctx context.Context, run *record.Sealed, ended *record.Task, t *pipeline.Task, hook *pipeline.AgentHook, w *walk,
) (o Outcome, err error) {
	d, err := draft.Begin(run.Dir, run.ID, run.Digest, t.Name, e.Redact.Bytes)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	d.Secrets = e.Redact
	j := &job{
		Engine: e, walk: w, hook: hook, draft: d, created: timestamp.Now(),
		failure: failedtask.Read(failedtask.Failure{
			Config: e.Config, Run: run, Ended: ended, Task: t, RunTask: e.RunTask, Define: e.Define, Clean: e.Redact.String,
		}),
		log: &progress.Log{Clean: e.Redact.String, Journal: d.Event, Watch: func(text string, left time.Duration) {
			if e.Observer.Step != nil {
				e.Observer.Step(Step{Task: t.Name, Text: text, Left: left})
			}
		}},
	}
	j.print = j.failure.Fingerprint()
	f := j.record(j.answer(ctx))
	if j.reserve != nil {
		_ = j.reserve.Close() // its content is of no use
	}
	if err := d.Seal(f); err != nil {
		if f.Reason != nil { // it may tell where work is kept
			err = fmt.Errorf("%w; what is not recorded: %s: %s", err, f.State, *f.Reason)
		}
		return Outcome{}, err
	}
	if err := (apply.Tree{Fixes: e.fixes()}).Supersede(context.WithoutCancel(ctx), f); err != nil {
		j.log.Step("an older proposal could not be marked as superseded: %s", err) // both stay open
	}
	return Outcome{Task: t.Name, Kind: "agent", Fix: f}, nil
}

// answer carries out the hook, unless there is a reason to skip it, and watches the user's tree meanwhile.
func (j *job) answer(ctx context.Context) result {
	agents, r := j.admit(ctx)
	if r.state != "" {
		return r
	}
	var err error
	if j.reserve, err = reserveSpace(j.failure.Run.Dir); err != nil {
		r.ending = gaveUp(ctx, "store", err)
		return r
	}
	if j.Observer.Started != nil {
		j.Observer.Started(Started{
			Task: j.failure.Task.Name, Kind: "agent", Agent: r.agent, Tier: r.tier,
			WallClock: j.hook.Budget.WallClock, Attempts: j.hook.Budget.Attempts,
		})
	}
	if j.Since != nil {
		if since := j.Since(j.failure.Task.Name); since != "" {
			j.log.Note("since the run: " + since)
			j.log.Step("since the run: %s", since)
		}
	}
	at, err := homes.Find(ctx, j.Store, j.Cache)
	if err != nil {
		r.ending = gaveUp(ctx, failure.ScratchFailed, err)
		return r
	}
	var known *tree.Manifest
	if r.tier != sandbox.None { // an agent could write what is kept
		known = at.RecallTree(j.Config.Root)
	}
	before, err := readTree(ctx, j.Config.Root, known)
	if err != nil {
		r.ending = gaveUp(ctx, "tree", err)
		return r
	}
	j.inCopies(ctx, at, agents, before.files, &r)

	defer func() {
		if c := r.best; c != nil && c.untold {
			j.log.Step("%s: %s", c.attempt, &c.Result)
		}
	}()
	after, err := readTree(context.WithoutCancel(ctx), j.Config.Root, before.files)
	if err != nil {
		j.log.Note("the tree could not be read again: " + err.Error())
		r.best.withhold("tree_unknown")
		return r
	}
	if r.tier != sandbox.None {
		j.log.Tidy(func() error { return at.RememberTree(j.Config.Root, after.files) })
	}
	changed := before.compare(after)
	r.tree = &fix.Tree{Before: before.digest, After: after.digest, Changed: changed}
	if len(changed) > 0 {
		j.log.Step("the tree changed meanwhile: %s", english.List(changed, 3))
		if r.tier != sandbox.View {
			r.best.withhold("tree_changed")
		}
	}
	return r
}

// causeBefore returns the ignored paths that the newest fix with the same fingerprint names as the cause.
func (j *job) causeBefore() []string {
	for _, p := range slices.Backward(j.fixes().All()) {
		if p.Fingerprint != nil && *p.Fingerprint == j.print && p.Reproduction != nil && len(p.Reproduction.Ignored) > 0 {
			return p.Reproduction.Ignored
		}
	}
	return nil
}

// withhold takes back the verdict verified for a reason outside of the patch. c may be nil.
func (c *candidate) withhold(reason string) {
	if c != nil {
		c.Cap(reason)
	}
}

// inCopies makes the base, reproduces the failure, lets agents work, and removes what it made.
func (j *job) inCopies(ctx context.Context, at homes.Places, agents []agent.Agent, seen *tree.Manifest, r *result) {
	h, err := j.open(ctx, at, r.tier)
	if err != nil {
		r.ending = gaveUp(ctx, failure.ScratchFailed, err)
		return
	}
	defer func() { r.copies = j.copiesOf(h) }() // when they are removed
	defer j.log.Tidy(func() error { return h.Copying(h.Close) })
	base, err := j.makeBase(ctx, h, seen, false)
	if err != nil {
		r.ending = gaveUp(ctx, failure.ScratchFailed, err)
		return
	}
	defer j.log.Tidy(func() error {
		if base == nil {
			return nil
		}
		return h.Copying(base.Close)
	})
	r.omitted = base.Omitted
	repro := reproduce.Run(ctx, reproduce.Request{
		Failure: j.failure, Homes: h, Base: base, Log: j.draft.Log, Progress: j.log, Before: j.causeBefore,
		More: func(ctx context.Context) (_ *scratch.Base, err error) {
			err = base.Close()
			base = nil
			if err == nil {
				base, err = j.makeBase(ctx, h, seen, true)
			}
			return base, err
		},
	})
	if repro.Base == base {
		r.omitted = base.Omitted
	}
	r.reproduction = repro.Reproduction
	if repro.State != "" {
		r.ending = ending{state: repro.State, reason: repro.Reason, kind: repro.Kind}
		return
	}
	j.attempts(ctx, h, repro, agents, r)
}

// open makes the folders that the hook's processes may write, after it settled what a killed runner left there.
func (j *job) open(ctx context.Context, at homes.Places, tier sandbox.Tier) (*homes.Homes, error) {
	done, err := leftovers.SettleLocked(ctx, j.Store, at, j.Redact, j.Bin)
	for _, text := range done {
		j.log.Step("%s", text)
	}
	if err != nil {
		return nil, err
	}
	f := j.failure
	h := &homes.Homes{
		Places: at, Task: f.Task, Environ: j.Environ, Bin: j.Bin, Since: f.Run.StartedAt.Time,
		Box: sandbox.Box{Tier: tier, Hook: f.Run.ID + "/" + f.Task.Name, Secrets: j.hook.PassSecrets},
	}
	return h, h.Open(j.Store.Root)
}

// copiesOf returns how the copies of the base were made; nil: there were none.
func (j *job) copiesOf(h *homes.Homes) *fix.Copies {
	made, why := h.Copies()
	if made == "" {
		return nil
	}
	c := &fix.Copies{Made: made, DurationMS: (h.CopyTime() - j.draft.BaseTook).Milliseconds()}
	if why != nil {
		c.Why = new(j.Redact.String(why.Error()))
	}
	return c
}

// makeBase copies the tree, and stores what git cannot give back.
func (j *job) makeBase(
	ctx context.Context, h *homes.Homes, seen *tree.Manifest, everything bool,
) (base *scratch.Base, err error) {
	started := time.Now()
	err = h.Copying(func() error {
		base, err = j.copyTree(ctx, h, seen, everything)
		return err
	})
	j.draft.BaseTook += time.Since(started)
	return base, err
}

func (j *job) copyTree(
	ctx context.Context, h *homes.Homes, seen *tree.Manifest, everything bool,
) (_ *scratch.Base, err error) {
	t := j.failure.Task
	base, err := scratch.Make(ctx, h.Work, scratch.Source{
		Root: j.Config.Root, Outputs: j.passedOutputs(), Everything: everything,
		Include: t.Scratch.Include, Exclude: t.Scratch.Exclude,
		Kept: h.KeptBase(h.Box.Tier), Tree: seen, Bin: h.Bin,
	})
	if err != nil {
		return nil, err
	}
	j.draft.Sub = base.Sub
	h.Go = homes.HasGo(base)
	loose, err := base.Loose(ctx)
	if err == nil {
		_, err = j.draft.StoreBase(base.Manifest, base.Commit, loose, base.Read)
	}
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	if len(base.Taken) > 0 {
		j.log.Step("copied too, although git ignores it: %s", english.List(base.Taken, 4))
	}
	return base, nil
}

// passedOutputs returns the declared outputs of the run's passed tasks.
func (j *job) passedOutputs() []string {
	var globs []string
	for _, r := range j.failure.Run.Tasks {
		if t := j.Config.Task(r.Name); t != nil && (r.Status == record.Passed || r.Status == record.Cached) {
			globs = append(globs, t.Outputs...)
		}
	}
	return globs
}

// gaveUp is the ending for a fault of ours or of the machine. An interrupt is no fault.
func gaveUp(ctx context.Context, kind failure.Kind, err error) ending {
	if ctx.Err() != nil {
		return ending{state: fix.Cancelled, reason: "interrupted"}
	}
	return ending{state: fix.Failed, reason: string(kind) + ": " + err.Error(), kind: kind}
}
