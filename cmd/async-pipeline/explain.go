package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

// explainCall has the flags of one `explain`.
type explainCall struct {
	env, run, json bool
	against        string // RUN
	cache          cacheFlags
}

func explainCommand(prog *program) *cobra.Command {
	var e explainCall
	c := &cobra.Command{
		Use:   "explain [--env] TASK | explain --run [RUN] [TASK]",
		Short: "Say what a task would do, or why a run ended as it did",
		Long: `Says what a task is and would do, and how it ended last time. Nothing is run.

--env shows each variable that the task would see with the layer it came from;
secrets are hidden. --against compares what the task is made of now with what it
was made of in a recorded run: inputs, variables, programs. --run tells of a
recorded run instead: why each task ended as it did, where the time went, what
hooks did; with TASK of that task alone. Without RUN, or with latest, it is the
newest run with a verdict; a newer one that goes on or was killed is named, and
taken where only it has the task, or where no run has a verdict.`,
		Example: `  async-pipeline explain test
  async-pipeline explain --json test
  async-pipeline explain --env test
  async-pipeline explain test --against latest
  async-pipeline explain --run
  async-pipeline explain --run latest test`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := e.cache.check(); err != nil {
				return err
			}
			switch {
			case e.run && (e.env || e.json || e.against != ""):
				return exit.Misused("--run cannot be used with --env, --against or --json")
			case (e.run || e.env) && e.cache.dirTyped():
				return exit.Misused("--cache-dir cannot be used with --run or --env")
			case e.env && e.against != "":
				return exit.Misused("--env cannot be used with --against")
			case e.run:
				return explainRun(prog, args)
			case len(args) == 0:
				return exit.Misused("explain needs a task\nwrite async-pipeline explain TASK, or explain --run for the newest run")
			case len(args) == 2:
				return exit.Misused("explain takes one task; for a task of a recorded run write\n%s",
					prog.Typed("explain", "--run", args[0], args[1]))
			}
			return explainConfigured(prog, &e, args[0])
		},
	}
	c.Flags().BoolVar(&e.env, "env", false, "show the variables that the task would see, each with its layer")
	c.Flags().BoolVar(&e.run, "run", false, "tell of a recorded run: [RUN] [TASK], the newest with a verdict by default")
	c.Flags().BoolVar(&e.json, "json", false, "print the receipt as JSON; with --env the variables")
	c.Flags().StringVar(&e.against, "against", "", "show what differs between a recorded `RUN` and now")
	e.cache.dirFlag(c, "look in")
	prog.varFlag(c)
	return c
}

func explainConfigured(prog *program, e *explainCall, name string) error {
	c, err := prog.load()
	if err != nil {
		return err
	}
	t, err := prog.oneTask(c, name)
	if err != nil {
		return err
	}
	switch {
	case e.env && t.Agent != nil:
		return exit.Refuse("task %q is done by an agent: what that gets of the environment is written in agent %q", view.TaskName(t.Name), t.Agent.Use)
	case e.env:
		return explainEnv(prog, c, t, e.json)
	case e.against != "":
		return explainAgainst(prog, e, c, t)
	case e.json:
		return prog.PrintJSON(receipt{Task: t.Name, Cache: receiptOf(prog, &e.cache, c, t)})
	}
	x := view.Explained{Task: t, Receipt: receiptOf(prog, &e.cache, c, t), Type: []view.Next{
		{Does: "run it", Type: prog.Typed("run", t.Name)},
		{Does: "what it sees", Type: prog.Typed("explain", "--env", t.Name)},
	}}
	if t.Agent != nil { // the variables of an agent are its own
		x.Type = x.Type[:1]
	}
	for _, other := range c.Tasks {
		if slices.Contains(other.DependsOn, t.Name) {
			x.Before = append(x.Before, other.Name)
		}
	}
	for _, j := range c.Jobs {
		if slices.Contains(j.Tasks, t.Name) {
			x.Jobs = append(x.Jobs, j.Name)
		}
	}
	if run, last := lastTime(record.At(c.Root), t.Name); last != nil {
		x.Last, x.LastRun, x.LastAt = last, run.ID, run.StartedAt.Time
		x.Type = append(x.Type, view.Next{Does: "its last log", Type: prog.Typed("logs", run.ID, t.Name)})
	}
	prog.Results().Explain(x, time.Now())
	return nil
}

// oneTask finds a task by name. Its error names the task that was probably meant.
func (prog *program) oneTask(c *pipeline.Config, name string) (*pipeline.Task, error) {
	if t := c.Task(name); t != nil {
		return t, nil
	}
	var names, instances []string
	for _, t := range c.Tasks {
		names = append(names, t.Name)
	}
	for _, t := range c.Named(name) {
		instances = append(instances, t.Name)
	}
	remedy := prog.Typed("list") + " shows them"
	if near := pipeline.Nearest(name, names); near != "" {
		remedy = "did you mean " + view.TaskName(near) + "?"
	}
	switch {
	case slices.Contains(c.Empty, name):
		remedy = "its for_each or matrix is empty, so it has no instances"
	case len(instances) > 0:
		all := english.List(view.TaskNames(instances), 8)
		remedy = "it is " + english.Count(len(instances), "task") + ", name one: " + all
	case c.Job(name) != nil:
		remedy = "it is a job, of " + strings.Join(view.TaskNames(c.Job(name).Tasks), ", ")
	}
	return nil, exit.Refuse("there is no task %q: %s", view.TaskName(name), remedy)
}

// A receipt is explain --json: what the cache says of a task, in the fields of a task of run.json.
type receipt struct {
	Task string `json:"task"`
	record.Cache
}

// lookedAt is how many runs, newest first, are searched for a task.
const lookedAt = 100

// lastTime returns the newest run in which a task was started, else the newest that has it, and how the task ended
// there.
func lastTime(store *record.Store, task string) (*record.Sealed, *record.Task) {
	ids, err := store.IDs()
	if err != nil {
		return nil, nil // the records are not what was asked about
	}
	var run *record.Sealed
	var last *record.Task
	for _, id := range ids[:min(len(ids), lookedAt)] {
		e := store.Entry(id)
		if e.Sealed == nil {
			continue
		}
		t := e.Sealed.Task(task)
		if t != nil && t.Status != record.Skipped {
			return e.Sealed, t
		}
		if t != nil && last == nil {
			run, last = e.Sealed, t
		}
	}
	return run, last
}

// shellsOwn are the names that every shell sets for itself. No task misses them.
var shellsOwn = []string{"_", "OLDPWD", "PWD", "SHLVL"}

// atStart adds the variables that a task gets when it is started, which win over all layers, and sorts them by name.
func atStart(c *pipeline.Config, t *pipeline.Task, layers []task.Layer) []task.Layer {
	for _, l := range []task.Layer{
		{Name: "PWD", Value: filepath.Join(c.Root, filepath.FromSlash(t.Dir)), From: "async-pipeline"},
		{Name: sandbox.RunnerMark, From: "async-pipeline"},
	} {
		if i := slices.IndexFunc(layers, func(under task.Layer) bool { return under.Name == l.Name }); i >= 0 {
			l.Over = slices.Concat([]string{layers[i].From}, layers[i].Over)
			layers = slices.Delete(layers, i, i+1)
		}
		layers = append(layers, l)
	}
	slices.SortFunc(layers, func(a, b task.Layer) int { return cmp.Compare(a.Name, b.Name) })
	return layers
}

// explainEnv prints the variables that a task would see.
func explainEnv(prog *program, c *pipeline.Config, t *pipeline.Task, asJSON bool) error {
	layers, err := taskRunner(prog, c).Layers(t)
	if err != nil {
		return exit.Refuse("%v", err)
	}
	layers = atStart(c, t, layers)
	e := view.Environment{Task: t.Name}
	seen := map[string]bool{}
	for _, l := range layers {
		line := view.EnvLine{Name: l.Name, From: l.From, Over: append([]string{}, l.Over...), Secret: l.Secret}
		if l.Name != sandbox.RunnerMark && !l.Secret {
			line.Value = &l.Value
		}
		e.Lines = append(e.Lines, line)
		seen[l.Name] = true
	}
	if asJSON {
		return prog.PrintJSON(e.Lines)
	}
	for _, file := range t.Dotenv {
		if _, err := os.Stat(filepath.Join(c.Root, filepath.FromSlash(file))); err != nil {
			e.Dotenv = append(e.Dotenv, file)
		}
	}
	var names []string
	for _, kv := range prog.Environ {
		if name, _, ok := strings.Cut(kv, "="); ok && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, pass := range slices.Concat(c.PassEnv, t.PassEnv) {
		prefix, star := strings.CutSuffix(pass, "*")
		if !slices.ContainsFunc(names, func(n string) bool { return n == pass || star && strings.HasPrefix(n, prefix) }) {
			e.Unset = append(e.Unset, pass)
		}
	}
	for _, n := range slices.Compact(names) {
		if !seen[n] && !strings.HasPrefix(n, "ASYNC_PIPELINE_") && !slices.Contains(shellsOwn, n) {
			e.Outside = append(e.Outside, n)
		}
	}
	prog.Results().Environ(e)
	return nil
}
