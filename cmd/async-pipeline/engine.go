// How runs and fixes are connected: the engine of the hooks borrows RunTask from the task runner.
package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/leftovers"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/run"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

func taskRunner(prog *program, c *pipeline.Config) *task.Runner {
	return &task.Runner{Config: c, Environ: prog.Environ, Redact: prog.Secrets}
}

// healingScreen returns the screen on which fixes in progress are shown: screen itself or, where drawn, lines that
// scroll by above a live view until end is called.
func healingScreen(prog *program, screen *view.Screen, drawn bool) (above *view.Screen, live *view.Live, end func()) {
	if !drawn {
		return screen, nil, func() {}
	}
	live = screen.Live(nil, time.Now)
	t := prog.Draw(live)
	above = &view.Screen{}
	*above = *screen
	above.W = t
	return above, live, t.Close
}

// definition returns what reads the PIPELINE.hcl of another folder as if it were that of c.
func definition(prog *program, c *pipeline.Config) failedtask.Define {
	return func(dir string, fetch func(at string, pattern bool)) (*pipeline.Config, error) {
		got, _, err := prog.ReadAs(filepath.Join(dir, filepath.Base(c.File)), hclfile.Options{Root: c.Root, Fetch: fetch})
		return got, err
	}
}

// newEngine returns the engine that answers the failures of a run. It shows what it does on screen and, if there is
// one, in the live view.
func newEngine(prog *program, c *pipeline.Config, s *record.Sealed, screen *view.Screen, live *view.Live, f healFlags, tier sandbox.Tier) (*hooks.Engine, error) {
	cache, err := cachedir.Dir(prog.Env)
	if err != nil {
		return nil, err
	}
	return &hooks.Engine{
		Config: c, Store: record.At(c.Root), Redact: prog.Secrets, Environ: prog.Environ, Cache: cache, Bin: &prog.bin,
		RunTask: taskRunner(prog, c).RunTask,
		Define:  definition(prog, c),
		Agents:  prog.Agents(c),
		Tier:    tier, CI: f.ci, Asked: f.asked,
		Observer: hooks.Observer{
			Started: func(s hooks.Started) { showHook(screen, live, s) },
			Step: func(s hooks.Step) {
				if live != nil {
					live.HookStep(s.Task, s.Text, s.Left)
					return
				}
				screen.HookStep(s.Task, s.Text, s.Left)
			},
			Done: func(o hooks.Outcome) {
				if live != nil {
					live.HookDone()
				}
				showOutcome(prog, screen, s.Dir, o)
			},
		},
	}, nil
}

// showHook shows that a hook begins.
func showHook(screen *view.Screen, live *view.Live, s hooks.Started) {
	what := s.Agent + " works on " + view.TaskName(s.Task)
	if s.Kind == "run" {
		what = `on_fail "run" of ` + view.TaskName(s.Task)
		screen.RunHookStarted(s.Task)
	} else {
		screen.HookStarted(s.Task, s.Agent, string(s.Tier), s.Attempts, s.WallClock)
	}
	if live != nil {
		live.HookStarted(s.Task, what, s.Attempts, s.WallClock)
	}
}

func showOutcome(prog *program, screen *view.Screen, runDir string, o hooks.Outcome) {
	if o.Fix != nil {
		screen.Outcome(o.Fix, commandsAtEnd(prog, runDir, o.Fix))
	}
	if r := o.Run; r != nil {
		problem, log := r.Error, ""
		if problem == record.Failed && r.ExitCode > 0 {
			problem = "" // the exit code says more
		}
		if r.Log != "" {
			log = filepath.Join(runDir, filepath.FromSlash(r.Log))
		}
		screen.RunHookDone(o.Task, r.ExitCode, problem, time.Duration(r.DurationMS)*time.Millisecond, log)
	}
}

// commandsAtEnd returns the commands for a fix that has just ended. Where files were edited meanwhile, a merge is tried,
// so that what is shown is what fix apply would do.
func commandsAtEnd(prog *program, runDir string, f *fix.Fix) view.Commands {
	c := typedCommands(prog, runDir, f)
	if f.State != fix.Proposed || !c.Unfit {
		return c
	}
	s := prog.fixes(rootOf(runDir))
	p, err := s.Find(f.Run, f.Exact())
	if err != nil {
		return c
	}
	return commandsFor(prog, s, p)
}

// rootOf returns the root that a folder .async/runs/RUN is in.
func rootOf(runDir string) string { return filepath.Dir(filepath.Dir(filepath.Dir(runDir))) }

// typedCommands returns what a person types about a fix, and what its logs say of tests.
func typedCommands(prog *program, runDir string, f *fix.Fix) view.Commands {
	apply := accepting([]string{"fix", "apply", f.Run, f.Exact()}, f)
	root := rootOf(runDir)
	c := view.Commands{
		Dirty: uncommitted(root, f), Show: prog.Typed("fix", "show", f.Run, f.Exact()),
		Heal: prog.Typed("heal", f.Run, f.Task), Dir: runDir,
	}
	if f.Patch != nil && f.Tree != nil {
		for _, p := range f.Patch.Files {
			if slices.Contains(f.Tree.Changed, p.Path) {
				c.Changed = append(c.Changed, p.Path)
			}
		}
	}
	if c.Unfit = len(c.Changed) > 0; c.Unfit {
		apply = append(apply, "--3way")
	}
	if len(c.Dirty) > 0 {
		apply = append(apply, "--allow-dirty")
	}
	c.Apply = prog.Typed(apply...)
	if c.Failing, c.Tail = failing(runDir, f); len(c.Failing) > 0 {
		if run, err := prog.findRun(record.At(root), f.Run); err == nil && run.Task(f.Task) != nil &&
			run.Task(f.Task).Log != nil {
			c.Failed = failingOf(run, run.Task(f.Task), 1).Names
		}
	}
	if f.State == fix.Skipped && f.Fingerprint != nil {
		alike, _, _ := prog.fixes(root).Earlier(*f.Fingerprint) // what cannot be read is not open
		for _, p := range alike {
			if p.Disposition == fix.Open {
				c.Open = prog.Typed("fix", "show", p.Run, p.Exact())
				break
			}
		}
	}
	return c
}

// uncommitted returns the files of a proposal that have uncommitted changes; none where git cannot tell.
func uncommitted(root string, f *fix.Fix) []string {
	if f.Patch == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	repo, err := git.Of(ctx, root)
	if err != nil {
		return nil
	}
	var paths []string
	for _, p := range f.Patch.Files {
		paths = append(paths, p.Path)
	}
	dirty, err := repo.Dirty(ctx, paths...)
	if err != nil {
		return nil
	}
	return dirty
}

// accepting appends the --accept flags that fix apply needs, one for each flagged item.
func accepting(args []string, f *fix.Fix) []string {
	for _, g := range f.Flags {
		args = append(args, "--accept", g.ID)
	}
	return args
}

// sweep ends the processes that killed runs left, stores what their agents had changed, removes their copies, and
// prints what it did. Its errors are warnings. It reports whether nothing is left.
func sweep(prog *program, store *record.Store) (clean bool) {
	if prog.Env(sandbox.HookMark) != "" {
		return false // in a hook: what is alive here belongs to the one that started us
	}
	clean = true
	left, err := sandbox.EndOrphansOf(run.OrphansOf(store))
	if err != nil {
		clean = false
		prog.Messages().Warning("looking for processes of a killed run: " + err.Error())
	}
	for _, p := range left {
		whose := "a task"
		if p.Hook != "" {
			whose = "the hook " + p.Hook
		}
		prog.Messages().Note(fmt.Sprintf("ended process %d, which %s of a killed run left", p.PID, whose))
	}
	noteInterrupted(prog, store)
	cache, err := cachedir.Dir(prog.Env)
	if err != nil {
		return false // said when it is needed
	}
	settled, err := leftovers.Settle(context.Background(), store, cache, prog.Secrets, &prog.bin,
		cachedir.Existing(prog.Env)...)
	for _, s := range settled {
		prog.Messages().Note(s)
	}
	if err != nil {
		prog.Messages().Warning("settling what a killed run left: " + err.Error())
	}
	return clean && err == nil
}
