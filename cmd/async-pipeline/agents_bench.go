package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/agentbench"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// benchFlags are the flags of agents bench.
type benchFlags struct {
	heal   healFlags
	cases  string
	limit  int
	budget pipeline.Budget
	json   bool
}

func agentsBenchCommand(prog *program) *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench [AGENT...]",
		Short: "Have agents repair failures of the past, and compare them",
		Long: `Has each agent repair failures that are recorded here, in copies of the tree of
that time and under one budget, and tells for each: verified, suspect, gamed
(the task passes only with the patch's own change to the check), cost and time.
Without AGENT all agents of PIPELINE.hcl are asked. The failed task runs once
before each agent; a failure that does not come back is told and left out.

--cases takes failures from a folder instead: a folder for each, with a file
case.json {"commit": "FULL ID", "task": "TASK", "reference": "fix.patch"}. The
task must fail at that commit. With a reference, a patch, it must pass with it.

Nothing is proposed here and nothing is written to your tree. The records and
patches of all tries are kept in .async/bench. Agents that ask a provider cost
what they cost: the budget is that of one try. In CI mode no agent starts.

An agent can read what git has of later commits, so a repair that was committed
can be found there.

Exit code: 0 every case was tried, 1 one was not, 2 could not be carried out.`,
		Example: `  async-pipeline agents bench
  async-pipeline agents bench --limit 3 --cost-usd 0.50
  async-pipeline agents bench --json`,
		RunE: func(c *cobra.Command, names []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if c.Flags().Changed("cases") && f.cases == "" {
				return exit.Misused("--cases has an empty path: is a variable not set?")
			}
			return benchAgents(prog, &f, names)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.cases, "cases", "", "take the failures from the folder `DIR`")
	flags.IntVar(&f.limit, "limit", 5, "try at most `N` recorded failures, the newest")
	flags.IntVar(&f.budget.Attempts, "attempts", 1, "attempts of each try, `N` from 1 to 5")
	flags.DurationVar(&f.budget.WallClock, "wall-clock", 10*time.Minute, "`TIME` of each try")
	flags.Int64Var(&f.budget.Tokens, "tokens", 0, "at most `N` tokens for each try; 0: no limit")
	flags.Float64Var(&f.budget.CostUSD, "cost-usd", 0, "at most `USD` for each try; 0: no limit")
	flags.StringVar(&f.heal.tier, "sandbox", "",
		"how agents and checks are confined: `view|fence|none`\n(default: the strongest of these that this machine has)")
	flags.BoolVar(&f.json, "json", false, "print the report as one JSON object")
	prog.varFlag(c)
	return c
}

// check refuses limits that are none.
func (f *benchFlags) check() error {
	b := f.budget
	switch {
	case f.limit < 1:
		return exit.Misused("--limit %d: at least one failure is tried", f.limit)
	case b.Attempts < 1 || b.Attempts > 5:
		return exit.Misused("--attempts must be 1 to 5, not %d", b.Attempts)
	case b.WallClock <= 0:
		return exit.Misused("--wall-clock must be more than 0, not %v", b.WallClock)
	case b.Tokens < 0:
		return exit.Misused("--tokens must not be negative")
	case b.CostUSD < 0:
		return exit.Misused("--cost-usd must not be negative")
	}
	return nil
}

func benchAgents(prog *program, f *benchFlags, names []string) error {
	tier, err := f.heal.check()
	if err != nil {
		return err
	}
	c, err := prog.load()
	if err != nil {
		return err
	}
	if err := notInHook(prog, "a hook starts no agent"); err != nil {
		return err
	}
	if prog.ciMode() {
		return exit.Refuse("CI is set: agents bench starts agents, which CI does not do")
	}
	agents := prog.Agents(c)
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(agents))
	}
	if len(names) == 0 {
		return exit.Refuse("%s declares no agent", prog.Messages().Path(c.File))
	}
	for _, name := range names {
		a := agents[name]
		if a == nil {
			return exit.Refuse("%s declares no agent %q", prog.Messages().Path(c.File), name)
		}
		if err := a.Ready(); err != nil {
			return exit.Refuse("agent %s cannot be asked: %v", name, err)
		}
	}
	store := record.At(c.Root)
	cases := agentbench.Past(store, prog.fixes(c.Root), f.limit)
	if f.cases != "" {
		dir, err := prog.Path(f.cases)
		if err != nil {
			return err
		}
		if cases, err = agentbench.ReadFolder(c.Root, dir); err != nil {
			return exit.Refuse("%v", err)
		}
	}
	if len(cases) == 0 {
		return exit.Refuse("no failure is recorded here that came back in a copy: run, or name cases with --cases DIR")
	}
	cache, err := cachedir.Dir(prog.Env)
	if err != nil {
		return err
	}
	sweep(prog, store)
	lock, err := store.HealLock()
	if errors.Is(err, record.ErrLocked) {
		return exit.Refuse("%v", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // the end of the process would release it, too
	stop := prog.Listen(func(syscall.Signal) {
		prog.Messages().Notice("the bench is being ended; once more to leave at once")
	})
	defer stop.Stop()
	defer prog.JobControl().End()
	folder, err := benchFolder(store)
	if err != nil {
		return err
	}
	screen := prog.Results()
	if f.json {
		screen = prog.Messages()
	}
	screen.BenchStarted(len(cases), names, f.budget)
	b := &agentbench.Bench{
		Project: prog.Project, Store: store, Cache: cache, Bin: &prog.bin, Tier: tier, Budget: f.budget,
		Agents: agents, Names: names, Folder: folder,
	}
	r, err := console.Await(stop, func() (*agentbench.Report, error) {
		return b.Run(stop.Ctx, cases, func(r agentbench.Row) { screen.BenchRow(benchRow(r)) })
	})
	if err != nil {
		return err
	}
	if f.json {
		err = prog.PrintJSON(r)
	} else {
		totals := make([]view.BenchTotal, len(r.Totals))
		for i, t := range r.Totals {
			totals[i] = view.BenchTotal(t)
		}
		screen.BenchTotals(totals, r.Folder)
	}
	if err == nil && slices.ContainsFunc(r.Rows, func(r agentbench.Row) bool { return r.State == agentbench.NoCase }) {
		return exit.With(exit.Failed)
	}
	return err
}

// benchFolder makes the folder for the records of one bench.
func benchFolder(store *record.Store) (string, error) {
	dir := filepath.Join(store.Dir, "bench")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, time.Now().UTC().Format("20060102T150405Z")+"-*")
}

func benchRow(r agentbench.Row) view.BenchRow {
	row := view.BenchRow{
		Case: r.Case, Agent: r.Agent, Result: r.State, Gamed: r.Gamed, CostUSD: r.CostUSD, DurationMS: r.DurationMS,
	}
	if r.Verdict != nil {
		row.Result = *r.Verdict
	}
	if r.Reason != nil {
		row.Why = *r.Reason
	}
	return row
}
