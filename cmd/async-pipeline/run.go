package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/resume"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
)

// runFlags has the flags of one `run`.
type runFlags struct {
	heal        healFlags
	noHeal      bool
	concurrency int
	dryRun      bool
	json        bool
	progress    string // --progress
	keepGoing   bool
	trace       string // --trace
	only        bool
	cache       cacheFlags
	args        []string // behind --
	affected    affectedFlag
	resume      string // RUN
	watch       bool
	rounds      *watching // of watch; nil: there is one run
}

// healFlags are the flags that run and heal share.
type healFlags struct {
	asked   bool   // --heal, or the verb
	ci      bool   // --ci, or the environment says so
	ciTyped bool   // --ci
	tier    string // --sandbox
}

func (f *healFlags) flags(c *cobra.Command) {
	c.Flags().BoolVar(&f.ci, "ci", false, "CI mode: nobody watches; also when CI is set to anything but 0 or false")
	c.Flags().StringVar(&f.tier, "sandbox", "",
		"how agents and checks in copies are confined: `view|fence|none`\n(default: the strongest of these that this machine has)")
}

// typed returns the flags that were typed.
func (f *healFlags) typed() []string {
	var words []string
	if f.ciTyped {
		words = append(words, "--ci")
	}
	if f.tier != "" {
		words = append(words, "--sandbox", f.tier)
	}
	return words
}

// check refuses an unknown tier.
func (f *healFlags) check() (sandbox.Tier, error) {
	switch t := sandbox.Tier(f.tier); t {
	case "", sandbox.View, sandbox.Fence, sandbox.None:
		return t, nil
	}
	return "", exit.Misused("--sandbox must be view, fence or none, not %q", f.tier)
}

func runCommand(prog *program) *cobra.Command {
	var r runFlags
	c := &cobra.Command{
		Use:   "run [JOB|TASK...] [-- ARGS...]",
		Short: "Run tasks with what they depend on",
		Long: `Runs jobs and tasks with what they depend on: the job "default" when none is
named, every task when there is no such job. After the first failure nothing new
starts (--keep-going: nothing that waits for it). The run is recorded in
.async/runs; then a failed task's on_fail hooks are carried out. They never
change the verdict.

What stands behind -- is appended to the command of the one task that is named
(where run is text for the shell, as "$@"), not to those it depends on. It
counts in the cache, and a fix is checked with it.

With --affected only tasks run that changes since BASE may have changed
(commits, uncommitted and new files): those with inputs among them, those
without inputs, and what depends on one. What they depend on runs or is cached
as ever. BASE is a branch or commit, by default the upstream of the branch, else
the default branch of origin, else main or master.

With --resume only tasks run that did not pass in RUN, also one that was killed.
Of those that passed, the ones run again whose inputs, environment or definition
changed since, or whose outputs are missing; the record names the others.

With --watch the tasks run, and after each change of files those whose inputs it
touches, with what depends on them; a round that a change touches begins anew.
Each round is a run with its own record. Tasks without inputs run in the first
round, and when something they depend on runs. A service goes on between rounds
until what it is made of changes. No hook starts without --heal.

Ctrl-C once ends what runs (SIGTERM, SIGKILL after 3 s), twice at once; Ctrl-Z
stops the tasks too.

Exit code: 0 passed, 1 a task failed, 2 could not be carried out, 130 and 143
ended by SIGINT and SIGTERM, 141 nobody reads the output any more.`,
		Example: `  async-pipeline run
  async-pipeline run test lint
  async-pipeline run --only test
  async-pipeline run test -- -run TestLogin
  async-pipeline run --affected=main --dry-run
  async-pipeline run --resume latest
  async-pipeline run --force --check-inputs lint
  async-pipeline run --dry-run --var go=go1.26
  async-pipeline run --keep-going --trace trace.json
  async-pipeline run --progress json | jq .type`,
		RunE: func(c *cobra.Command, names []string) error {
			if at := c.ArgsLenAtDash(); at >= 0 {
				names, r.args = names[:at], names[at:]
			}
			if c.Flags().Changed("concurrency") && r.concurrency < 1 {
				return exit.Misused("--concurrency %d: at least one task runs at a time", r.concurrency)
			}
			if r.noHeal && r.heal.asked {
				return exit.Misused("--heal cannot be used with --no-heal")
			}
			if c.Flags().Changed("resume") {
				if err := r.resumable(names); err != nil {
					return err
				}
			}
			if err := r.cache.check(); err != nil {
				return err
			}
			if err := r.shows(c.Flags().Changed("progress")); err != nil {
				return err
			}
			if r.cache.checkInputs && r.dryRun {
				return exit.Misused("--check-inputs cannot be used with --dry-run: nothing runs")
			}
			if r.trace != "" && r.dryRun {
				return exit.Misused("--trace cannot be used with --dry-run")
			}
			if c.Flags().Changed("trace") && r.trace == "" {
				return exit.Misused("--trace has an empty path: is a variable not set?")
			}
			r.heal.ciTyped = r.heal.ci
			r.heal.ci = r.heal.ci || prog.ciMode()
			if r.watch {
				if err := r.watchable(); err != nil {
					return err
				}
				return watchTasks(prog, &r, names)
			}
			return runTasks(prog, &r, names)
		},
	}
	r.heal.flags(c)
	prog.varFlag(c)
	r.cache.flags(c)
	f := c.Flags()
	f.BoolVar(&r.heal.asked, "heal", false, "in CI mode: also heal where the hook has ci = true")
	f.BoolVar(&r.noHeal, "no-heal", false, "record the verdict and stop: no on_fail hook starts")
	f.IntVar(&r.concurrency, "concurrency", 0,
		"run `N` tasks at a time (default: what PIPELINE.hcl says, else the number of CPUs)")
	f.BoolVar(&r.dryRun, "dry-run", false, "show what would run and why, and run nothing")
	f.BoolVar(&r.keepGoing, "keep-going", false, "after a failure go on with what does not depend on it")
	progressFlag(c, &r.progress, runWays)
	f.BoolVar(&r.json, "json", false, "as --progress json: the run's journal on stdout, one JSON object a line, and messages on stderr")
	f.StringVar(&r.trace, "trace", "", "write when each task ran to `FILE`, a trace for ui.perfetto.dev or chrome://tracing")
	r.affected.flag(c)
	f.BoolVar(&r.watch, "watch", false, "run again what changes touch, until Ctrl-C")
	f.StringVar(&r.resume, "resume", "", "only what did not pass in `RUN`, and what changed since")
	f.BoolVar(&r.only, "only", false, "leave out what the named tasks depend on")
	return c
}

// shows resolves --json and --progress. asked: --progress was typed.
func (r *runFlags) shows(asked bool) error {
	switch {
	case r.json && asked && r.progress != progressJSON:
		return exit.Misused("--json cannot be used with --progress %s", r.progress)
	case r.dryRun && (r.json || r.progress == progressJSON):
		return exit.Misused("--json cannot be used with --dry-run")
	case r.dryRun && asked:
		return exit.Misused("--progress cannot be used with --dry-run")
	case r.json:
		r.progress = progressJSON
	}
	r.json = r.progress == progressJSON
	return nil
}

// runTasks carries out the tasks that are asked for, or shows the plan of that, and lets the hooks answer a failure.
func runTasks(prog *program, r *runFlags, names []string) error {
	tier, err := r.heal.check()
	if err != nil {
		return err
	}
	drawn, err := drawsLive(prog, r.progress, runWays, r.heal.ci)
	if err != nil {
		return err
	}
	trace, err := traceFile(prog, r.trace)
	if err != nil {
		return err
	}
	if !r.dryRun {
		sandbox.Prepare() // it starts while the file is read, and before a lock is held that a fork would share
		defer sandbox.Close()
		run.Prepare()
	}
	var stop *console.Interrupt
	if !r.dryRun && r.rounds == nil {
		stop = prog.ListenSoon(console.Die)
		defer stop.Stop()
	}
	file, err := prog.settledFile()
	if err != nil {
		return err
	}
	if err := r.cache.fits(prog, filepath.Dir(file)); err != nil {
		return err
	}
	var git func(context.Context) *record.Git
	if !r.dryRun {
		git = run.AskGit(filepath.Dir(file)) // meanwhile the file is read
	}
	c, err := prog.loadFile(file)
	if err != nil {
		return err
	}
	if c, err = withArgs(prog, c, names, r.args); err != nil {
		return err
	}
	screen := prog.Results()
	if r.json {
		screen = prog.Messages()
	}
	chosen, err := r.choose(prog, c, names, screen)
	if err != nil || chosen.graph == nil {
		return err
	}
	if r.dryRun {
		plan := chosen.plan(names)
		predict(prog, &chosen, r.serves(names), &r.cache, plan)
		prog.Results().Plan(plan, run.Parallel(chosen.config, r.concurrency))
		return nil
	}
	p := &runCall{
		selection: chosen, prog: prog, flags: r, names: names, tier: tier, screen: screen, drawn: drawn,
		trace: trace, store: record.At(chosen.config.Root), git: git, stop: stop,
	}
	return p.perform()
}

// serves is Run.Serve of a run of these names.
func (r *runFlags) serves(names []string) bool { return len(names) > 0 || r.resume != "" }

// A selection is what a run carries out.
type selection struct {
	config *pipeline.Config
	graph  *pipeline.Graph   // nil: nothing is to be run
	job    *string           // nil: no job is run, or not all of it
	taken  *record.Resumed   // of --resume
	left   *resume.Left      // of --resume
	since  *record.Affected  // of --affected
	why    map[string]string // of the affected tasks
}

// choose selects tasks and tells which the flags leave out.
func (r *runFlags) choose(prog *program, c *pipeline.Config, names []string, screen *view.Screen) (s selection, err error) {
	if r.resume != "" {
		if s.left, err = leftOf(prog, r, c); err != nil {
			return s, err
		}
		c = s.left.Past.Config
	}
	s.config, s.job = c, jobOf(c, names)
	if s.graph, err = selectLeft(prog, c, s.left, names, r.only); err != nil {
		return s, err
	}
	if left := s.left; left != nil {
		s.taken, s.job = &left.Taken, nil
		screen.Resumes(left.Taken.Run, left.Past.Status, left.Taken.Passed, left.Past.Gone, left.Unknown, passedAndAgain(left), r.dryRun)
		if s.graph == nil {
			screen.Line("Nothing is left to run.")
			return s, nil
		}
	}
	prog.Messages().Diagnostics(warningsFor(c, s.graph.Tasks(), names))
	if r.rounds != nil {
		all := s.graph
		if s.graph, err = r.rounds.choose(prog, c, all, screen); s.graph == nil || err != nil {
			return s, err
		}
		if s.graph != all {
			s.job = nil
		}
	}
	if r.affected.asked {
		r.cache.know(prog, c)
		if s.graph, s.since, s.why, err = r.affected.choose(prog, c, s.graph, &r.cache, r.only); err != nil {
			return s, err
		}
		screen.Affected(s.since, s.why, r.dryRun)
		s.job = nil
	}
	return s, nil
}

// warningsFor returns the warnings of PIPELINE.hcl about some tasks, and about those of names that have no
// instances. validate shows all warnings.
func warningsFor(c *pipeline.Config, tasks []*pipeline.Task, names []string) (all pipeline.Errors) {
	for _, w := range c.Warnings {
		var owner *pipeline.Task // the last one that begins above
		for _, t := range c.Tasks {
			if t.Pos.File == w.Pos.File && t.Pos.Line <= w.Pos.Line && (owner == nil || t.Pos.Line > owner.Pos.Line) {
				owner = t
			}
		}
		about := func(name string) bool {
			return slices.Contains(c.Empty, name) && strings.Contains(w.Summary, strconv.Quote(name))
		}
		if owner == nil || slices.ContainsFunc(tasks, func(t *pipeline.Task) bool { return t.Pos == owner.Pos }) ||
			slices.ContainsFunc(names, about) {
			all = append(all, w)
		}
	}
	return all
}

// selectTasks selects the graph and prints what is wrong with the names.
func selectTasks(prog *program, c *pipeline.Config, names []string, only bool) (*pipeline.Graph, error) {
	g, err := pipeline.Select(c, names, only)
	if err != nil {
		return nil, diagnosed(prog, err)
	}
	if len(g.Tasks()) == 0 {
		return nil, nothingToRun(prog, c, names)
	}
	if only {
		return g, run.CheckOutputs(c, g)
	}
	return g, nil
}

// diagnosed prints the faults that an error consists of. It returns what is left of the error.
func diagnosed(prog *program, err error) error {
	if faults := pipeline.Errors(nil); errors.As(err, &faults) {
		prog.Messages().Diagnostics(faults)
		return exit.With(exit.Refused)
	}
	return err
}

// nothingToRun returns the error for a run without a task, which would pass.
func nothingToRun(prog *program, c *pipeline.Config, names []string) error {
	var empty []string
	for _, name := range names {
		what := "task"
		if !slices.Contains(c.Empty, name) {
			what = "job"
		}
		empty = append(empty, fmt.Sprintf("%s %q", what, name))
	}
	if len(empty) == 0 {
		return exit.Refuse("%s has no task to run: a run of nothing would pass\nwrite one: task \"test\" { run = [\"./test.sh\"] }", prog.Messages().Path(c.File))
	}
	return exit.Refuse("nothing to run under %s: a for_each or matrix is empty, and a run of nothing would pass",
		strings.Join(empty, ", "))
}

// jobOf returns the one job that was asked for, or nil.
func jobOf(c *pipeline.Config, names []string) *string {
	name := "default"
	if len(names) == 1 {
		name = names[0]
	}
	if len(names) > 1 || c.Job(name) == nil {
		return nil
	}
	return &name
}

// plan returns why each task is selected.
func (s *selection) plan(names []string) []view.Planned {
	c, g := s.config, s.graph
	if len(names) == 0 && c.Job("default") != nil {
		names = []string{"default"}
	}
	why := map[string]string{}
	for _, n := range names {
		asked, j := called(c, n), c.Job(n)
		for _, t := range asked {
			why[t.Name] = "asked for"
		}
		if len(asked) > 0 || j == nil {
			continue
		}
		for _, name := range j.Tasks {
			for _, t := range called(c, name) {
				why[t.Name] = cmp.Or(why[t.Name], "job "+n)
			}
		}
	}
	neededBy := map[string]string{} // the first selected task that depends on one
	for _, t := range g.Tasks() {
		for _, d := range g.DependsOn(t.Name) {
			neededBy[d] = cmp.Or(neededBy[d], view.TaskName(t.Name))
		}
	}
	var plan []view.Planned
	for _, t := range g.Tasks() {
		reason := cmp.Or(why[t.Name], "needed by "+cmp.Or(neededBy[t.Name], "another task"))
		switch {
		case s.left != nil && t.Service == nil:
			reason = whyLeft(s.left, t.Name)
		case s.why[t.Name] != "":
			reason = "affected"
		case len(names) == 0 && s.why == nil:
			reason = "every task"
		}
		plan = append(plan, view.Planned{Task: t, After: g.DependsOn(t.Name), Why: reason})
	}
	return plan
}

// called returns the tasks that a name means: one, all instances of one, or all of an included file.
func called(c *pipeline.Config, name string) []*pipeline.Task {
	if t := c.Task(name); t != nil {
		return []*pipeline.Task{t}
	}
	return c.Named(name)
}

// How a run or a fix in progress is shown: --progress.

// progress is told how a run goes, one call at a time.
type progress interface {
	Started(t *pipeline.Task)
	Runs(t *pipeline.Task)
	Output(task string, chunk []byte)
	Retried(t *pipeline.Task, attempt int, before record.Task)
	Ready(t *pipeline.Task, took time.Duration, since string)
	Finished(t record.Task)
	Quiet()
	Shown(task string) bool // the end of its output was just shown
	End(tasks []record.Task)
}

var (
	_ progress = (*view.Lines)(nil)
	_ progress = (*view.Live)(nil)
)

// Ways to show it.
const (
	progressAuto  = "auto"
	progressLive  = "live"
	progressPlain = "plain"
	progressJSON  = "json"
)

// What a verb can besides auto, as its help and its refusal say it.
const (
	runWays  = "live, plain or json"
	healWays = "live or plain"
)

// progressFlag adds --progress to a verb; ways are its values besides auto.
func progressFlag(c *cobra.Command, how *string, ways string) {
	c.Flags().StringVar(how, "progress", progressAuto,
		"`HOW` to show it: auto, "+ways+"; auto is live in a terminal, and plain elsewhere and in CI mode")
}

// drawsLive reports whether progress is drawn in the terminal, and refuses values that are not in ways.
func drawsLive(prog *program, how, ways string, ci bool) (bool, error) {
	switch how {
	case progressAuto:
		return prog.CanDraw() && !ci, nil
	case progressLive:
		if !prog.CanDraw() {
			return false, exit.Misused("--progress live needs a terminal on stdout, and TERM; leave it out or write --progress plain")
		}
		return true, nil
	case progressPlain, progressJSON:
		return false, nil
	}
	return false, exit.Misused("--progress must be auto, %s, not %q", ways, how)
}

// Which old runs are removed: by gc, and after a run where PIPELINE.hcl has keep_runs.

// pruneAfter removes the runs beyond keep_runs after a run was sealed. Its errors are warnings. While another run or
// hooks are at work it leaves all to the next run.
func pruneAfter(prog *program, c *pipeline.Config, store *record.Store, sealed string) {
	if c.KeepRuns < 1 || prog.Env(sandbox.HookMark) != "" || len(store.Held()) > 0 {
		return
	}
	p := run.Prune(store, c.KeepRuns, sealed, prog.fixes(store.Root).Keeps)
	if p.None() {
		return
	}
	if _, err := store.Prune(p.Keeps); err != nil {
		prog.Messages().Warning("removing old runs (keep_runs): " + err.Error())
	}
}
