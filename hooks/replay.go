package hooks

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
	"github.com/async-pipeline/async-pipeline/hooks/progress"
	"github.com/async-pipeline/async-pipeline/hooks/reproduce"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// ErrBaseGone means that what the fix was made from cannot be had any more.
var ErrBaseGone = scratch.ErrGone

// A Judgement is what a verification came to.
type Judgement struct {
	Verdict string  `json:"verdict"`
	Reason  *string `json:"reason"`
}

// A Replayed is a verification that was made once more.
type Replayed struct {
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

// replayFloor is the least wall clock of a replay: caches may be cold.
const replayFloor = 10 * time.Minute

// Holds says whether the record stood: the same verdict, and a patch that its transcript does not contradict.
func (r *Replayed) Holds() bool {
	return r.Same && (r.Rebuilt == nil || r.Rebuilt.Result != rebuiltDifferent)
}

// Replay verifies a sealed proposal once more: base and patch as they are recorded, the hook's settings as they were (policy), the
// tasks and the secrets as they are now. Where the patch is an agent's of our own, the calls in its transcript are made again beside it
// (rebuild; nil: they are not). No agent starts and nothing of the fix is written; the journal of the hooks is told what came
// of it. ErrBaseGone may be tested for.
func (e *Engine) Replay(ctx context.Context, run *record.Sealed, p *fix.Proposal, rebuild Rebuild) (_ *Replayed, err error) {
	if e.inHook() {
		return nil, fmt.Errorf("this process was started by a hook (%s is set): a hook replays nothing", Mark)
	}
	v, err := e.replaying(run, p)
	if err != nil {
		return nil, err
	}
	r := &Replayed{Run: run.ID, Task: p.Task, Then: Judgement{Verdict: *p.Verdict}, Notes: []string{}}
	if p.Verification != nil {
		r.Then.Reason = p.Verification.Reason
	}
	tier, err := e.sameTier(p, r)
	if err != nil {
		return nil, err
	}
	command := e.Redact.String(failedtask.CommandLine(v.failure.Task))
	if policy := policyOf(p); policy != nil && policy.Command != command {
		r.note("the task's command was %q then, it is %q now", policy.Command, command)
	}
	lock, err := e.Store.HealLock()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	now, rebuilt, err := v.replay(ctx, tier, rebuild)
	if err != nil {
		return nil, err
	}
	r.Now, r.Verification, r.Output = Judgement{now.Verdict, now.Checks.Reason}, &now.Checks, now.Feedback
	r.Rebuilt = rebuilt
	r.Same = r.Then.Verdict == r.Now.Verdict && (r.Now.Verdict == verify.Verified || known(r.Then.Reason) == known(r.Now.Reason))
	return r, e.told(run, p, r)
}

func (r *Replayed) note(format string, args ...any) {
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

// A replay is one sealed proposal to verify once more.
type replay struct {
	*Engine
	proposal *fix.Proposal
	saved    *fix.SavedBase
	failure  *failedtask.Failure
	hook     *pipeline.AgentHook // with the settings of then
}

// replaying returns what is needed to verify a proposal, or why that cannot be done.
func (e *Engine) replaying(run *record.Sealed, p *fix.Proposal) (*replay, error) {
	if p.State != fix.Proposed || p.Patch == nil || p.Verdict == nil {
		return nil, fmt.Errorf("the fix of task %q in run %s ended as %s: there is no patch to verify", p.Task, run.ID, p.State)
	}
	t, ended := e.Config.Task(p.Task), run.Task(p.Task)
	if t == nil || ended == nil {
		return nil, fmt.Errorf("task %q is not in %s any more: put it back to verify its fix", p.Task, e.Config.File)
	}
	saved, err := p.SavedBase()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: nothing was stored of what the copy held", ErrBaseGone)
	}
	if err != nil {
		return nil, err
	}
	hook, err := e.asThen(t, p)
	if err != nil {
		return nil, err
	}
	return &replay{Engine: e, proposal: p, saved: saved, failure: e.failure(run, ended, t), hook: hook}, nil
}

// asThen is the hook with the settings that the fix was made under; those of a fix that says nothing of them are the ones of now.
func (e *Engine) asThen(t *pipeline.Task, p *fix.Proposal) (*pipeline.AgentHook, error) {
	if policy := policyOf(p); policy != nil {
		return &pipeline.AgentHook{
			Use: policy.Agent, Protect: policy.Protect, Verify: policy.Verify, PassSecrets: policy.PassSecrets,
			Budget: pipeline.Budget{Attempts: policy.Attempts, WallClock: time.Duration(policy.WallClockMS) * time.Millisecond},
		}, e.stillThere(policy.Verify)
	}
	for _, h := range t.OnFail {
		if h.Agent != nil {
			return h.Agent, nil
		}
	}
	return nil, fmt.Errorf("task %q has no on_fail \"agent\" any more, and its fix was made by a version that did not record the settings of it", t.Name)
}

// stillThere says which of the tasks that verify named is gone.
func (e *Engine) stillThere(names []string) error {
	for _, name := range names {
		if e.Config.Task(name) == nil {
			return fmt.Errorf("task %q, which verify named, is not in %s any more: put it back to verify the fix", name, e.Config.File)
		}
	}
	return nil
}

// sameTier picks the tier that the fix was verified in, where it can be had. That a record says none is no reason to run
// unconfined what nobody has read: only a person asks for that.
func (e *Engine) sameTier(p *fix.Proposal, r *Replayed) (sandbox.Tier, error) {
	then := ""
	if len(p.Attempts) > 0 {
		then = p.Attempts[len(p.Attempts)-1].Sandbox
	}
	tier := sandbox.Tier(then)
	if e.Tier != "" || then == "" || tier == sandbox.None || !slices.Contains(sandbox.Tiers(), tier) {
		var err error
		if tier, err = e.pickTier(); err != nil {
			return "", err
		}
	}
	if then != "" && then != string(tier) {
		r.note("it was verified in the sandbox %s then, in %s now", then, tier)
	}
	r.Sandbox = string(tier)
	return tier, nil
}

// replay makes the base once more, and in copies of it the calls of an agent of our own; there it verifies the patch.
func (v *replay) replay(ctx context.Context, tier sandbox.Tier, again Rebuild) (_ *verify.Result, rebuilt *Rebuilt, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(v.hook.Budget.WallClock, replayFloor))
	defer cancel()
	at, err := homes.Find(ctx, v.Store, v.Cache)
	if err != nil {
		return nil, nil, err
	}
	if _, err := leftovers.SettleLocked(ctx, v.Store, at, v.Redact); err != nil {
		return nil, nil, err
	}
	h := v.homes(at, v.failure, v.hook, tier)
	if err := h.Open(v.Store.Root); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	base, err := scratch.Restore(ctx, at.Work, scratch.Saved{
		Root: v.Config.Root, Sub: v.saved.Sub, Commit: v.saved.Commit, Manifest: v.saved.Manifest, Content: v.saved.Content,
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	h.Go = hasModule(base)
	if why := reproduce.PointsBack(v.failure, base, tier); why != "" {
		return nil, nil, errors.New(v.Redact.String(why))
	}
	changes, err := patch.Changes(v.proposal.Diff, base.Read)
	if err != nil {
		return nil, nil, fmt.Errorf("the patch does not fit the base that it was made from: %w", err)
	}
	if rebuilt, err = v.rebuild(ctx, base, at.Work, changes, again); err != nil {
		return nil, nil, err
	}
	var log progress.Log
	now := verify.Run(ctx, verify.Request{
		Failure: v.failure, Homes: h, Base: base, Protect: v.hook.Protect, Also: v.hook.Verify, Since: time.Now(), Progress: &log,
		Number: 1, Changes: changes,
	})
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, nil, ctx.Err()
	}
	// What withheld the verdict then had nothing to do with the patch, and does not come again.
	if c := v.proposal.Verification; c != nil && (known(c.Reason) == "tree_changed" || known(c.Reason) == "tree_unknown") {
		now.Cap(*c.Reason)
	}
	if left := log.Notes(); left != nil {
		return &now, rebuilt, errors.New(v.Redact.String(*left))
	}
	return &now, rebuilt, nil
}

// told writes into the journal of the hooks that there was a replay, and how it ended.
func (e *Engine) told(run *record.Sealed, p *fix.Proposal, r *Replayed) error {
	j, err := fix.OpenJournal(run.Dir, run.Digest, e.Redact.Bytes)
	if err != nil {
		return err
	}
	said := map[string]any{
		"task": p.Task, "fix": p.Name, "verdict": r.Now.Verdict, "reason": r.Now.Reason, "same": r.Same, "sandbox": r.Sandbox,
	}
	if r.Rebuilt != nil {
		said["rebuilt"] = r.Rebuilt.Result
	}
	return errors.Join(j.Event("replayed", said), j.Close())
}
