package hooks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A healing is one agent hook at work: what it was given, then what it learns, in that order.
type healing struct {
	e     *Engine
	run   *record.Sealed
	ended *record.Task
	task  *pipeline.Task
	hook  *pipeline.AgentHook
	agent agent.Agent

	tier  sandbox.Tier
	draft *draft.Draft
	fix   *fix.Fix
	homes *homes.Homes
	seen  *tree.Manifest // the tree, before anything was copied
	base  *scratch.Base
	gate  gateResult
	check *checkfile.Checks
	// agentCaches is the kept folder of the agent's build caches.
	agentCaches string
	until       time.Time     // the end of the wall clock; zero before it started
	reserved    time.Duration // of it, for verification

	now       turnOf          // who works, for the person's eyes
	fallbacks []agent.Agent   // that have not been asked, in order
	retried   map[string]bool // agents that have had their retry
	waits     int             // for announced resets
	spent     spend
	warned    map[string]bool // caps that cannot be held

	f *failedtask.Failure
	// printed is the end of what the failed task printed when it passed last, in a verification.
	printed []byte
	reports testreport.Reports // of that last pass
	typed   bool               // a person typed heal
	began   string             // when the walk over the failures began
}

// heal answers one failure with one agent hook. Whatever happens is in the sealed fix; an error means that it could not
// be recorded.
func (e *Engine) heal(ctx context.Context, run *record.Sealed, ended *record.Task, t *pipeline.Task, hook *pipeline.AgentHook, w *walk) (o Outcome, err error) {
	draft, err := draft.Begin(run.Dir, run.ID, run.Digest, t.Name, e.Redact.Bytes)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	draft.Secrets = e.Redact
	h := &healing{
		e: e, run: run, ended: ended, task: t, hook: hook, agent: e.Agents[hook.Use],
		draft: draft, typed: w.typed, began: w.began, retried: map[string]bool{}, warned: map[string]bool{},
		fix: &fix.Fix{
			Run: run.ID, RunDigest: run.Digest, Task: t.Name, CreatedAt: timestamp.Now(),
			Budget: &fix.Budget{Limit: fix.Amounts{
				Attempts: new(hook.Budget.Attempts), WallClockMS: new(hook.Budget.WallClock.Milliseconds()),
			}, Used: fix.Amounts{Attempts: new(0), WallClockMS: new(int64(0))}},
		},
	}
	if hook.Budget.Tokens > 0 {
		h.fix.Budget.Limit.Tokens = new(hook.Budget.Tokens)
	}
	if hook.Budget.CostUSD > 0 {
		h.fix.Budget.Limit.CostUSD = new(hook.Budget.CostUSD)
	}
	h.f = e.failure(run, ended, t)
	h.fix.Fingerprint = new(h.f.Fingerprint())
	if reason := h.skip(ctx, &w.lock); reason != "" {
		h.end(fix.Skipped, reason)
	} else {
		if e.Observer.Started != nil {
			e.Observer.Started(Started{
				Task: t.Name, Kind: "agent", Agent: h.agent.Name(), Tier: h.tier,
				WallClock: hook.Budget.WallClock, Attempts: hook.Budget.Attempts,
			})
		}
		if e.Since != nil {
			if since := e.Since(t.Name); since != "" {
				h.note("since the run: " + since)
				h.step("since the run: %s", since)
			}
		}
		h.work(ctx)
	}
	h.fix.Provenance = h.provenance()
	if err := draft.Seal(h.fix); err != nil {
		if h.fix.Reason != nil { // it may say where work is kept
			err = fmt.Errorf("%w; what is not recorded: %s: %s", err, h.fix.State, *h.fix.Reason)
		}
		return Outcome{}, err
	}
	h.supersede(ctx)
	return Outcome{Task: t.Name, Kind: "agent", Fix: h.fix}, nil
}

func (e *Engine) failure(run *record.Sealed, ended *record.Task, t *pipeline.Task) *failedtask.Failure {
	return failedtask.Read(failedtask.Failure{Config: e.Config, Run: run, Ended: ended, Task: t, RunTask: e.RunTask, Clean: e.Redact.String})
}

// skip says why nothing is started, or "". Everything here is found out before a single file is copied.
func (h *healing) skip(ctx context.Context, lock *healLock) string {
	switch {
	case h.e.inHook():
		return "hook: this process was started by a hook, and hooks start no hooks"
	case h.e.CI && !h.hook.CI:
		return "ci: healing is off in CI unless the hook has ci = true and --heal is given"
	case h.e.CI && !h.e.Asked:
		return "ci: the hook allows CI, but --heal was not given"
	case h.agent == nil:
		return "agent_missing: no agent " + h.hook.Use
	}
	if why := h.choose(); why != "" {
		return why
	}
	tier, err := h.e.pickTier()
	if err != nil {
		return "sandbox_unsupported: " + err.Error()
	}
	h.tier = tier
	if err := lock.take(); err != nil {
		if errors.Is(err, record.ErrLocked) {
			return "heal_locked: " + err.Error()
		}
		return "heal_lock: " + err.Error()
	}
	return h.repeated(ctx) // under the lock: nobody else proposes meanwhile
}

// choose takes the first agent that can be started and is not waiting for a quota, and keeps those after it. It says why there is none,
// in words about the one that use names.
func (h *healing) choose() string {
	all := []agent.Agent{h.agent}
	for _, name := range h.hook.Fallback {
		if a := h.e.Agents[name]; a != nil {
			all = append(all, a)
		}
	}
	first := ""
	var able []agent.Agent
	for i, a := range all {
		why := h.unable(a)
		if why == "" {
			able = append(able, a)
		}
		if i == 0 {
			first = why
		}
	}
	if len(able) == 0 {
		if at, kind := h.waiting(h.agent); !at.IsZero() && h.agent.Ready() == nil {
			h.kind(kind)
			h.fix.ResumeAt = new(timestamp.Of(at))
		}
		return first
	}
	h.agent, h.fallbacks = able[0], able[1:]
	if first != "" {
		h.note(first + "; agent " + h.agent.Name() + " is asked instead")
	}
	return ""
}

// unable says why an agent cannot be asked now. What a person types is tried whatever was said of a quota before.
func (h *healing) unable(a agent.Agent) string {
	if err := a.Ready(); err != nil {
		return "agent_missing: " + err.Error()
	}
	at, kind := h.waiting(a)
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s: agent %s said that it can go on at %s, when this budget has ended", kind, a.Name(), timestamp.Of(at))
}

// waiting is when an agent can go on, where that is later than this budget lasts, and the kind that it ended with. The zero time: now.
func (h *healing) waiting(a agent.Agent) (time.Time, failure.Kind) {
	if h.typed {
		return time.Time{}, ""
	}
	now := time.Now()
	at, kind := (&fix.Store{Root: h.e.Store.Root, Dir: h.e.Store.Dir}).ResumesAt(a.Name(), now)
	if at.Sub(now) <= h.hook.Budget.WallClock {
		return time.Time{}, ""
	}
	return at, failure.Kind(kind)
}

// pickTier is the tier that was asked for, or the best there is. Without one, only a person can grant "none".
func (e *Engine) pickTier() (sandbox.Tier, error) {
	if e.Tier != "" {
		if !slices.Contains(sandbox.Tiers(), e.Tier) {
			return "", fmt.Errorf("this machine cannot give the tier %s that was asked for; it has %s", e.Tier, sandbox.Best())
		}
		return e.Tier, nil
	}
	if best := sandbox.Best(); best != sandbox.None {
		return best, nil
	}
	return "", errors.New("this machine confines nothing (no mount namespace, no Landlock); --sandbox none runs the agent unconfined")
}

// work is the walk of one healing: tree digest, copy, gate, attempts, proposal, tree digest.
func (h *healing) work(ctx context.Context) {
	before, err := h.e.lookAt(ctx, nil)
	if err != nil {
		h.giveUp(ctx, "tree", err)
		return
	}
	h.seen = before.files
	best := h.workInCopies(ctx)

	after, err := h.e.lookAt(context.WithoutCancel(ctx), before)
	if err != nil {
		h.note("the tree could not be read again: " + err.Error())
		best.cap("tree_unknown")
	} else {
		changed := before.compare(after)
		h.fix.Tree = &fix.Tree{Before: before.digest, After: after.digest, Changed: changed}
		if len(changed) > 0 {
			h.step("the tree changed meanwhile: %s", english.List(changed, 3))
			if h.tier != sandbox.View {
				best.cap("tree_changed")
			}
		}
	}
	h.propose(best)
}

// workInCopies makes the base, runs the gate and the attempts, and removes what it made.
func (h *healing) workInCopies(ctx context.Context) *candidate {
	at, err := homes.Find(ctx, h.e.Store, h.e.Cache)
	if err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return nil
	}
	said, err := settle(ctx, h.e.Store, at, h.e.Redact)
	for _, s := range said {
		h.step("%s", s)
	}
	if err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return nil
	}
	if err := h.open(at); err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return nil
	}
	defer h.tidy(h.homes.Close)
	if !h.makeBase(ctx, false) {
		return nil
	}
	defer h.tidy(func() error {
		if h.base == nil {
			return nil
		}
		return h.base.Close()
	})
	if !h.reproduce(ctx) {
		return nil
	}
	return h.attempts(ctx)
}

// open makes the folders that the hook's processes may write.
func (h *healing) open(at homes.Places) error {
	h.homes = &homes.Homes{
		Places: at, Task: h.task, Environ: h.e.Environ,
		Box: sandbox.Box{Tier: h.tier, Hook: h.run.ID + "/" + h.task.Name, Secrets: h.hook.PassSecrets},
	}
	return h.homes.Open(h.e.Store.Root)
}

// makeBase copies the tree and stores what git cannot give back.
func (h *healing) makeBase(ctx context.Context, everything bool) bool {
	if h.base != nil {
		if err := h.base.Close(); err != nil {
			h.giveUp(ctx, "scratch_failed", err)
			return false
		}
		h.base = nil
	}
	base, err := scratch.Make(ctx, h.homes.Work, scratch.Source{
		Root: h.e.Config.Root, Outputs: h.passedOutputs(), Everything: everything,
		Include: h.task.Scratch.Include, Exclude: h.task.Scratch.Exclude,
		Kept: h.homes.KeptBase(h.tier), Tree: h.seen,
	})
	if err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return false
	}
	h.base, h.draft.Sub = base, base.Sub
	h.homes.Go = slices.ContainsFunc(base.Paths(), func(p string) bool { return path.Base(p) == "go.mod" })
	loose, err := base.Loose(ctx)
	if err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return false
	}
	complete, err := h.draft.StoreBase(base.Manifest, base.Commit, loose, base.Read)
	if err != nil {
		h.giveUp(ctx, "scratch_failed", err)
		return false
	}
	h.fix.Base = &fix.Base{Tree: base.Manifest.Digest(), Commit: orNull(base.Commit), Complete: complete}
	h.fix.Omitted = base.Omitted
	h.check = h.checkFiles()
	if len(base.Taken) > 0 {
		h.step("the copy has %s", english.List(base.Taken, 4))
	}
	return true
}

// checked are the commands whose files are check files: of the failed task, and of those that verify names.
func (h *healing) checked() []checkfile.Command {
	var all []checkfile.Command
	add := func(t *pipeline.Task) {
		if t == nil {
			return
		}
		c := checkfile.Command{Shell: t.Run.Shell.Value, Dir: path.Join(h.base.Sub, t.Dir)}
		for _, a := range t.Run.Argv {
			c.Argv = append(c.Argv, a.Value)
		}
		all = append(all, c)
	}
	add(h.task)
	for _, name := range h.hook.Verify {
		add(h.e.Config.Task(name))
	}
	return all
}

// passedOutputs are the declared outputs of the run's passed tasks.
func (h *healing) passedOutputs() []string {
	var globs []string
	for i := range h.run.Tasks {
		r := &h.run.Tasks[i]
		if t := h.e.Config.Task(r.Name); t != nil && (r.Status == record.Passed || r.Status == record.Cached) {
			globs = append(globs, t.Outputs...)
		}
	}
	return globs
}

// propose seals the best candidate into the fix, or leaves the state as the walk set it.
func (h *healing) propose(best *candidate) {
	if best == nil || h.fix.State == fix.Cancelled {
		if h.fix.State == "" {
			h.end(fix.Failed, "no attempt changed anything")
		}
		return
	}
	if err := h.draft.StoreTouched(best.changes); err != nil {
		h.end(fix.Failed, "store: "+err.Error())
		return
	}
	if err := h.draft.Propose(h.fix, best.changes); err != nil {
		reason := "store: " + err.Error()
		if errors.Is(err, draft.ErrSecret) {
			reason = "secret: " + err.Error()
		}
		h.end(fix.Failed, reason)
		return
	}
	h.fix.State, h.fix.Reason = fix.Proposed, nil
	h.fix.Verdict = new(best.verdict)
	h.fix.Verification = best.verification
	h.fix.Flags = best.flags
	h.fix.Omitted = append(h.fix.Omitted, best.omitted...)
	h.fix.Control, h.fix.AgentSaid = new(best.control), best.said
}

// giveUp ends the healing for a fault of ours or of the machine; a cancelled context is no fault.
func (h *healing) giveUp(ctx context.Context, kind string, err error) {
	if ctx.Err() != nil {
		h.end(fix.Cancelled, "interrupted")
		return
	}
	h.kind(failure.Kind(kind))
	h.end(fix.Failed, kind+": "+err.Error())
}

// tidy removes what is no longer needed; what stays behind is said.
func (h *healing) tidy(remove func() error) {
	if err := remove(); err != nil {
		h.note("left behind: " + err.Error())
	}
}

// end sets the state and the words for it.
func (h *healing) end(state, reason string) {
	h.fix.State = state
	h.fix.Reason = orNull(h.e.Redact.String(reason))
}

// note adds words to the fix that change nothing.
func (h *healing) note(text string) {
	text = h.e.Redact.String(text)
	if h.fix.Note != nil {
		text = *h.fix.Note + "; " + text
	}
	h.fix.Note = &text
}

// step tells the person, and the journal, what happens.
func (h *healing) step(format string, args ...any) {
	var left time.Duration
	if !h.until.IsZero() {
		left = max(0, time.Until(h.until))
	}
	text := h.e.Redact.String(fmt.Sprintf(format, args...))
	h.event("step", map[string]any{"text": text})
	h.e.step(h.task.Name, left, "%s", text)
}

// event writes to the journal of the hooks. A journal that cannot be written is said in the fix: the work goes on.
func (h *healing) event(kind string, data map[string]any) {
	if err := h.draft.Event(kind, data); err != nil {
		h.note("journal: " + err.Error())
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
