// Package replay verifies a sealed proposal once more: base and patch as they are recorded, the hook's settings as
// they were, the tasks and the secrets as they are now. No agent starts, and nothing of the fix is written.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/leftovers"
	"github.com/async-pipeline/async-pipeline/hooks/person"
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/hooks/reproduce"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// ErrBaseGone means that git no longer has the commit that the fix was made from, or that a content was not kept.
var ErrBaseGone = scratch.ErrGone

// leastWallClock is the least wall clock of a replay: caches may be cold.
const leastWallClock = 10 * time.Minute

// A Request asks for one replay.
type Request struct {
	Config  *pipeline.Config
	Store   *record.Store
	Redact  *redact.Set
	Environ []string     // the person's environment, KEY=VALUE
	Cache   string       // the person's cache folder for this program
	Bin     *scratch.Bin // as an Engine's
	RunTask failedtask.RunTask
	Define  failedtask.Define // as for hooks.Engine
	Tier    sandbox.Tier      // asked for on the command line; empty: as it was then

	Run     *record.Sealed
	Fix     *fix.Proposal
	Rebuild Rebuild // makes the calls in the transcript again; nil: they are not
}

// A Judgement is a verdict with its reason.
type Judgement struct {
	Verdict string  `json:"verdict"`
	Reason  *string `json:"reason"`
}

// A Result is a verification that was made once more.
type Result struct {
	Run          string            `json:"run"`
	Task         string            `json:"task"`
	Same         bool              `json:"same"` // the verdicts are one; the reasons too where it is not verified
	Then         Judgement         `json:"then"`
	Now          Judgement         `json:"now"`
	Sandbox      string            `json:"sandbox"`
	Verification *fix.Verification `json:"verification"`
	Rebuilt      *Rebuilt          `json:"rebuilt"` // null: its agent is not one of our own
	Notes        []string          `json:"notes"`   // what is not as it was then
	Output       string            `json:"-"`       // the end of what the check printed that failed with the patch; empty: none
}

// Holds reports whether the replay confirms the record: the same verdict, and a patch that its transcript does not
// contradict.
func (r *Result) Holds() bool {
	return r.Same && (r.Rebuilt == nil || r.Rebuilt.Result != rebuiltDifferent)
}

// Run verifies the proposal again, and tells the journal of the hooks how that ended. It takes heal.lock; the error
// is record.ErrLocked where another process holds it. Another error to test for is ErrBaseGone.
func Run(ctx context.Context, q Request) (_ *Result, err error) {
	if why := person.Hook(homes.Lookup(q.Environ)); why != "" {
		return nil, fmt.Errorf("this process was started by a hook (%s): a hook replays nothing", why)
	}
	v, err := q.prepare()
	if err != nil {
		return nil, err
	}
	p := q.Fix
	r := &Result{Run: q.Run.ID, Task: p.Task, Then: Judgement{Verdict: *p.Verdict}, Notes: []string{}}
	if p.Verification != nil {
		r.Then.Reason = p.Verification.Reason
	}
	tier, err := q.sameTier(r)
	if err != nil {
		return nil, err
	}
	command := q.Redact.String(failedtask.CommandLine(v.failure.Task))
	if policy := policyOf(p); policy != nil && policy.Command != command {
		r.note("the task's command has changed from %q to %q", policy.Command, command)
	}
	lock, err := q.Store.HealLock()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	now, err := v.replay(ctx, tier, r)
	if err != nil {
		return nil, err
	}
	r.Now, r.Verification, r.Output = Judgement{now.Verdict, now.Checks.Reason}, &now.Checks, now.Feedback
	r.Same = r.Then.Verdict == r.Now.Verdict && (r.Now.Verdict == verify.Verified ||
		known(r.Then.Reason) == known(r.Now.Reason))
	return r, q.tell(r)
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func known(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func policyOf(p *fix.Proposal) *fix.Policy {
	if p.Provenance == nil {
		return nil
	}
	return p.Provenance.Policy
}

// A replay is a proposal that can be verified once more.
type replay struct {
	Request
	saved   *fix.SavedBase
	failure *failedtask.Failure
	hook    *pipeline.AgentHook // with the settings of then
}

// prepare returns what a verification needs, or why there can be none.
func (q Request) prepare() (*replay, error) {
	p := q.Fix
	if p.State != fix.Proposed || p.Patch == nil || p.Verdict == nil {
		return nil, fmt.Errorf("the fix of task %q in run %s ended as %s: there is no patch to verify",
			pipeline.ShownName(p.Task), q.Run.ID,
			p.State)
	}
	t, ended := q.Config.Task(p.Task), q.Run.Task(p.Task)
	if t == nil || ended == nil {
		return nil, fmt.Errorf("task %q is not in %s any more: put it back to verify its fix", pipeline.ShownName(p.Task), q.Config.File)
	}
	saved, err := p.SavedBase()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: nothing was stored of what the copy held", ErrBaseGone)
	}
	if err != nil {
		return nil, err
	}
	hook, err := q.asThen(t)
	if err != nil {
		return nil, err
	}
	return &replay{Request: q, saved: saved, hook: hook, failure: failedtask.Read(failedtask.Failure{
		Config: q.Config, Run: q.Run, Ended: ended, Task: t, RunTask: q.RunTask, Define: q.Define, Clean: q.Redact.String,
	})}, nil
}

// asThen returns the hook with the settings that the fix was made under, or, where the record has none, with those of
// now.
func (q Request) asThen(t *pipeline.Task) (*pipeline.AgentHook, error) {
	if policy := policyOf(q.Fix); policy != nil {
		for _, name := range policy.Verify {
			if q.Config.Task(name) == nil {
				return nil, fmt.Errorf("task %q, which verify named, is not in %s any more: put it back to verify the fix", pipeline.ShownName(name),
					q.Config.File)
			}
		}
		return &pipeline.AgentHook{
			Use: policy.Agent, Protect: policy.Protect, Verify: policy.Verify, PassSecrets: policy.PassSecrets,
			Budget: pipeline.Budget{Attempts: policy.Attempts, WallClock: time.Duration(policy.WallClockMS) * time.Millisecond},
		}, nil
	}
	for _, h := range t.OnFail {
		if h.Agent != nil {
			return h.Agent, nil
		}
	}
	return nil, fmt.Errorf("task %q has no on_fail \"agent\" any more, and its fix was made by a version that did not record the settings of it", t.Shown())
}

// sameTier picks the tier that the fix was verified in, where it can be had. That a record says none is no reason to
// run unconfined what nobody has read: only a person asks for that.
func (q Request) sameTier(r *Result) (tier sandbox.Tier, err error) {
	then := ""
	if n := len(q.Fix.Attempts); n > 0 {
		then = q.Fix.Attempts[n-1].Sandbox
	}
	tier = sandbox.Tier(then)
	if q.Tier != "" || then == "" || tier == sandbox.None || !slices.Contains(sandbox.Tiers(), tier) {
		if tier, err = homes.Tier(q.Tier); err != nil {
			return "", err
		}
	}
	if then != "" && then != string(tier) {
		r.note("it was verified in sandbox %s then, in %s now", then, tier)
	}
	r.Sandbox = string(tier)
	return tier, nil
}

// replay makes the base once more, rebuilds the patch in a copy of it, and verifies the patch in others.
func (v *replay) replay(ctx context.Context, tier sandbox.Tier, r *Result) (_ *verify.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(v.hook.Budget.WallClock, leastWallClock))
	defer cancel()
	at, err := homes.Find(ctx, v.Store, v.Cache)
	if err != nil {
		return nil, err
	}
	if _, err := leftovers.SettleLocked(ctx, v.Store, at, v.Redact, v.Bin); err != nil {
		return nil, err
	}
	h := &homes.Homes{
		Places: at, Task: v.failure.Task, Environ: v.Environ, Bin: v.Bin, Since: v.Run.StartedAt.Time,
		Box: sandbox.Box{Tier: tier, Hook: v.Run.ID + "/" + v.Fix.Task, Secrets: v.hook.PassSecrets},
	}
	if err := h.Open(v.Store.Root); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	base, err := scratch.Restore(ctx, at.Work, scratch.Saved{
		Root: v.Config.Root, Sub: v.saved.Sub, Commit: v.saved.Commit, Manifest: v.saved.Manifest,
		Content: v.saved.Content, Bin: v.Bin,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	h.Go = homes.HasGo(base)
	if why := reproduce.PointsBack(v.failure, base, tier); why != "" {
		return nil, errors.New(v.Redact.String(why))
	}
	changes, err := patch.Changes(v.Fix.Diff, base.Read)
	if err != nil {
		return nil, fmt.Errorf("the patch does not fit the base that it was made from: %w", err)
	}
	if r.Rebuilt, err = v.rebuild(ctx, base, at.Work, changes); err != nil {
		return nil, err
	}
	var log progress.Log
	check := verify.Request{
		Failure: v.failure, Homes: h, Base: base, Protect: v.hook.Protect, Also: v.hook.Verify, Since: time.Now(),
		Progress: &log, Number: 1, Changes: changes, Parallel: v.Config.Concurrency,
	}
	if took := v.failure.Ended.DurationMS; took != nil {
		check.Took = time.Duration(*took) * time.Millisecond
	}
	check.Core = failedtask.CoreOf(v.failure, v.Fix.Reproduction)
	if r := v.Fix.Reproduction; r != nil {
		check.Ahead = r.Ahead
		check.Processors = r.Processors
	}
	now := verify.Run(ctx, check)
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, ctx.Err()
	}
	// What withheld the verdict then had nothing to do with the patch, and does not come again.
	if c := v.Fix.Verification; c != nil && (known(c.Reason) == "tree_changed" || known(c.Reason) == "tree_unknown") {
		now.Cap(*c.Reason)
	}
	if v.Fix.Opinion != nil { // of the same patch; no agent is asked again
		o := *v.Fix.Opinion
		o.Concerns = slices.Clone(o.Concerns)
		now.Hear(&o)
	}
	if left := log.Notes(); left != nil {
		return nil, errors.New(v.Redact.String(*left))
	}
	return &now, nil
}

// tell writes into the journal of the hooks that there was a replay, and how it ended.
func (q Request) tell(r *Result) error {
	j, err := fix.OpenJournal(q.Run.Dir, q.Run.Digest, q.Redact.Bytes)
	if err != nil {
		return err
	}
	ended := map[string]any{
		"task": r.Task, "fix": q.Fix.Name, "verdict": r.Now.Verdict, "reason": r.Now.Reason, "same": r.Same,
		"sandbox": r.Sandbox,
	}
	if r.Rebuilt != nil {
		ended["rebuilt"] = r.Rebuilt.Result
	}
	return errors.Join(j.Event("replayed", ended), j.Close())
}
