package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/replay"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

func fixReplayCommand(prog *program) *cobra.Command {
	var f healFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "replay [RUN] [TASK]",
		Short: "Verify a proposed fix once more",
		Long: `Makes the base of a fix again, from git's commit and what was stored with it,
puts the patch in and verifies as the healing did: no agent, and no network but
what the checks themselves use. protect, verify and pass_secrets are those of
then; the tasks, variables and secrets are those of PIPELINE.hcl now, and it is
said when the task is written differently. Nothing in the fix or in your tree
changes. It works in CI mode too.

A patch of an agent that has a provider and a model is also made again from
its transcript: write, edit and delete are carried out in a copy of the base,
in their order, and what they leave is compared with the patch. Commands are
not run again; files that only they can have changed are named.

Exit code: 0 the same verdict, 1 a different one, or a patch that is not what
its transcript says, 2 could not be carried out, base_gone among it: git no
longer has the commit, or a content was not kept.`,
		Example: `  async-pipeline fix replay
  async-pipeline fix replay 20261121T024000Z-7f3a test
  async-pipeline fix replay --json test`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error { return replayFix(prog, f, asJSON, args) },
	}
	c.Flags().StringVar(&f.tier, "sandbox", "",
		"how the checks are confined: `view|fence|none`\n(default: as they were then, or the strongest that this machine has)")
	c.Flags().BoolVar(&asJSON, "json", false, "print both verdicts, the checks and the rebuilt patch as JSON")
	prog.varFlag(c)
	return c
}

func replayFix(prog *program, f healFlags, asJSON bool, args []string) error {
	tier, err := f.check()
	if err != nil {
		return err
	}
	c, err := prog.load()
	if err != nil {
		return err
	}
	_, p, err := findFix(prog, args)
	if err != nil {
		return err
	}
	store := record.At(c.Root)
	sealed, err := prog.findRun(store, p.Run)
	if err != nil {
		return err
	}
	if err := repeatable(prog, sealed.Tasks, p.Task); err != nil {
		return err
	}
	c = run.WithRecordedArgs(c, sealed.Tasks)
	sweep(prog, store)
	stop := prog.Listen(func(syscall.Signal) {
		prog.Messages().Notice("the replay is being ended; once more to leave at once")
	})
	defer stop.Stop()
	defer prog.JobControl().End()
	cache, err := cachedir.Dir(prog.Env)
	if err != nil {
		return err
	}
	r, err := console.Await(stop, func() (*replay.Result, error) {
		return replay.Run(stop.Ctx, replay.Request{
			Config: c, Store: store, Redact: prog.Secrets, Environ: prog.Environ, Cache: cache, Bin: &prog.bin,
			RunTask: taskRunner(prog, c).RunTask, Define: definition(prog, c), Tier: tier,
			Run: sealed, Fix: p, Rebuild: native.Rebuild,
		})
	})
	if errors.Is(err, record.ErrLocked) {
		return exit.Refuse("%v", err)
	}
	if err != nil {
		return err
	}
	r.Notes = append(r.Notes, rewritten(prog, c, sealed, p)...)
	if asJSON {
		if err := prog.PrintJSON(r); err != nil {
			return err
		}
	} else {
		prog.Results().Replayed(view.Replayed{
			Run: r.Run, Task: p.Called, Same: r.Same, Then: verdictAndReason(r.Then), Now: verdictAndReason(r.Now),
			Verification: r.Verification, Rebuilt: shownRebuilt(r.Rebuilt), Notes: r.Notes, Output: r.Output,
		})
	}
	if !r.Holds() {
		return exit.With(exit.Failed)
	}
	return nil
}

func shownRebuilt(r *replay.Rebuilt) *view.Rebuilt {
	if r == nil {
		return nil
	}
	lines := func(all []replay.Detail) (text []string) {
		for _, d := range all {
			if d.Path != nil {
				d.Detail = *d.Path + ": " + d.Detail
			}
			text = append(text, d.Detail)
		}
		return text
	}
	shown := &view.Rebuilt{
		Calls: r.Calls, FromCommands: r.FromCommands, Unknown: lines(r.Unknown),
		Contradictions: lines(r.Contradictions),
	}
	if r.Why != nil {
		shown.Why = *r.Why
	}
	return shown
}

func verdictAndReason(j replay.Judgement) string {
	if j.Reason == nil || *j.Reason == "" {
		return j.Verdict
	}
	return j.Verdict + " (" + *j.Reason + ")"
}

// rewritten returns a note for each task of a verification that is written differently than in the run.
func rewritten(prog *program, c *pipeline.Config, r *record.Sealed, p *fix.Proposal) []string {
	nodes, err := r.Graph()
	if err != nil {
		return []string{"it is not known whether the tasks are written as they were: " + err.Error()}
	}
	var notes []string
	for _, n := range nodes {
		t := c.Task(n.Name)
		if t == nil {
			continue
		}
		if now, err := run.Fingerprint(t, prog.Secrets); (err != nil || now != n.Fingerprint) && checks(p, n.Name) {
			name := view.TaskName(n.Name)
			notes = append(notes, fmt.Sprintf("task %q is written differently in PIPELINE.hcl than it was in the run", name))
		}
	}
	return notes
}

// checks reports whether a task is one of those that verified a fix.
func checks(p *fix.Proposal, task string) bool {
	if p.Task == task || p.Verification == nil {
		return p.Task == task
	}
	for _, c := range p.Verification.Proposed {
		if c.Task == task {
			return true
		}
	}
	return false
}
