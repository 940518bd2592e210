package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// admit finds out, before a single file is copied, whether the hook is skipped: then the result has a state and a
// reason. It returns the agents that can be asked, in order, and takes the lock.
func (j *job) admit(ctx context.Context) ([]agent.Agent, result) {
	r := result{agent: j.hook.Use}
	skip := func(reason string) ([]agent.Agent, result) {
		r.state, r.reason = fix.Skipped, reason
		return nil, r
	}
	if why := j.forbidden(); why != "" {
		return skip(why)
	}
	if why := needsService(j.failure.Config, j.failure.Task.Name, j.hook); why != "" {
		return skip(why)
	}
	if why := j.comesAndGoes(); why != "" {
		r.state, r.reason = fix.Flaky, why
		return nil, r
	}
	agents, why := j.choose(&r.ending)
	if why != "" {
		return skip(why)
	}
	r.agent = agents[0].Name()
	tier, err := homes.Tier(j.Tier)
	if err != nil {
		return skip("sandbox_unsupported: " + err.Error())
	}
	r.tier = tier
	switch err := j.takeLock(); {
	case errors.Is(err, record.ErrLocked):
		return skip("heal_locked: " + err.Error())
	case err != nil:
		return skip("heal_lock: " + err.Error())
	}
	if why := j.repeated(ctx); why != "" { // under the lock: nobody else proposes meanwhile
		return skip(why)
	}
	return agents, r
}

// forbidden returns why the hook may start no agent, whatever has failed; empty: it may.
func (j *job) forbidden() string {
	switch {
	case j.inHook() != "":
		return "hook: this process was started by a hook (" + j.inHook() + "), and a hook starts no other hook"
	case j.CI && !j.hook.CI:
		return "ci: in CI an agent starts only if its hook has ci = true and --heal is given"
	case j.CI && !j.Asked:
		return "ci: the hook allows CI, but --heal was not given"
	case j.Agents[j.hook.Use] == nil:
		return "agent_missing: no agent " + j.hook.Use
	}
	return ""
}

// needsService returns why no fix of a task could be checked, as far as that is for a service: in a copy none is running;
// empty: it could.
func needsService(c *pipeline.Config, task string, h *pipeline.AgentHook) string {
	for _, name := range append([]string{task}, h.Verify...) {
		t := c.Task(name)
		if t == nil {
			continue
		}
		if needs := c.Services(t); len(needs) > 0 {
			return fmt.Sprintf("service: the service %s, which %s needs, does not run in copies, so that no fix could be checked",
				pipeline.ShownName(needs[0].Name), pipeline.ShownName(name))
		}
	}
	return ""
}

// comesAndGoes returns why there is nothing to repair in what the task is made of: it passed with the same; empty: that is
// not known, or a person asked for a fix all the same.
func (j *job) comesAndGoes() string {
	c := j.failure.Ended.Cache
	if j.typed || c == nil || c.Flaky == nil {
		return ""
	}
	return fmt.Sprintf("same_inputs: it passed in run %s with the same inputs; to ask an agent all the same: async-pipeline heal %s %s",
		*c.Flaky, j.failure.Run.ID, shelltext.Quote(j.failure.Task.Name))
}

// choose returns the agents of the hook that can be started and are not waiting for a quota, in order. Where there is
// none, why tells about the one that use names, and end is told when it can go on.
func (j *job) choose(end *ending) (able []agent.Agent, why string) {
	first := j.Agents[j.hook.Use]
	for _, name := range append([]string{j.hook.Use}, j.hook.Fallback...) {
		a := j.Agents[name]
		if a == nil {
			continue
		}
		unable := j.unable(a)
		if unable == "" {
			able = append(able, a)
		}
		if a == first {
			why = unable
		}
	}
	if len(able) == 0 {
		if at, kind := j.waiting(first); !at.IsZero() && first.Ready() == nil {
			end.kind, end.resumeAt = kind, new(timestamp.Of(at))
		}
		return nil, why
	}
	if why != "" {
		j.log.Note(why + "; asked agent " + able[0].Name() + " instead")
	}
	return able, ""
}

// unable tells why an agent cannot be asked now; empty: it can.
func (j *job) unable(a agent.Agent) string {
	if err := a.Ready(); err != nil {
		return "agent_missing: " + err.Error()
	}
	at, kind := j.waiting(a)
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s: agent %s can continue at %s, after this budget ends", kind, a.Name(), timestamp.Of(at))
}

// waiting returns when an agent can go on, where that is later than this budget lasts, and the kind that it ended
// with. The zero time means now: also where a person typed heal, who tries whatever an agent said before.
func (j *job) waiting(a agent.Agent) (time.Time, failure.Kind) {
	if j.typed {
		return time.Time{}, ""
	}
	now := time.Now()
	at, kind := j.fixes().ResumesAt(a.Name(), now)
	if at.Sub(now) <= j.hook.Budget.WallClock {
		return time.Time{}, ""
	}
	return at, failure.Kind(kind)
}

// MostOpen is how many proposals may wait for a decision before runs make no more. The verb heal ignores it: who
// types it asks for one more.
const MostOpen = 20

// repeated returns why nothing is started for a failure that was seen before; empty: it is. What a person asked for
// is not prevented by older proposals. A second hook of the same task is prevented by the proposal of the first.
func (j *job) repeated(ctx context.Context) string {
	fixes := j.fixes()
	alike, opened, _ := fixes.Earlier(j.print) // fix list reports what cannot be read
	var newer *fix.Proposal                    // the newest that was applied
	for _, p := range alike {
		if j.typed && p.CreatedAt < j.began {
			continue
		}
		if p.Disposition == fix.Applied && newer == nil {
			newer = p
		}
		fits, err := apply.Tree{Fixes: fixes}.Fits(ctx, p)
		if err != nil || !fits {
			continue // a new proposal takes its place
		}
		switch {
		case p.Disposition == fix.Open:
			return fix.Reason{Code: fix.OpenProposal, Words: "run " + p.Run + " has a proposal for this failure, which is still open"}.String()
		case p.Disposition != fix.Rejected:
		case newer == nil:
			return "rejected_proposal: the proposal of run " + p.Run +
				" for this failure was rejected, and its files have not changed since"
		default:
			// The decision that was made last counts.
			if back := j.putBack(ctx, fixes, newer); back != "" {
				return "applied_proposal: the fix of run " + newer.Run +
					" for this failure was applied, and is no longer in the tree; apply it again with: " + back
			}
		}
	}
	for _, p := range alike {
		if p.Disposition == fix.Applied {
			j.log.Note("the fix of run " + p.Run + " was applied for this same failure")
			if back := j.putBack(ctx, fixes, p); back != "" {
				j.log.Note("it is no longer in the tree; apply it again with: " + back)
			}
			break
		}
	}
	if opened >= MostOpen && !j.typed {
		return fmt.Sprintf("open_limit: %d proposals are open: apply or reject some of them (async-pipeline fix list)",
			opened)
	}
	return ""
}

// putBack returns the command that applies an applied fix again, where it fits and is no longer in the tree; empty:
// else.
func (j *job) putBack(ctx context.Context, fixes *fix.Store, p *fix.Proposal) string {
	p, err := fixes.Find(p.Run, p.Task)
	if err != nil {
		return ""
	}
	r := apply.Tree{Fixes: fixes}.Ready(ctx, p)
	if r.Conflict != nil || r.Refused != nil || r.Nothing {
		return ""
	}
	back := "async-pipeline fix apply " + p.Run + " " + shelltext.Quote(p.Task)
	for _, f := range p.Flags {
		back += " --accept " + shelltext.Quote(f.ID)
	}
	return back
}
