// Package pipeline defines Config as read from PIPELINE.hcl, Graph of the selected tasks, and Scheduler, which
// walks it. It does no I/O: what a task does is passed to it.
package pipeline

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// A Config is one PIPELINE.hcl, evaluated. Nothing in it is lazy.
type Config struct {
	Root        string   // absolute path of the folder that holds File
	File        string   // absolute path of PIPELINE.hcl
	Included    []string `json:",omitempty"` // files that it includes, also indirectly; relative to the root
	Name        string
	Concurrency int      // tasks at a time; 0 means the number of CPUs
	KeepRuns    int      // sealed runs that are kept; 0 keeps all
	PassEnv     []string // names that every task may see; a * is allowed at the end
	Tasks       []*Task  // in file order; the instances of one in the order of their keys
	Empty       []string // names of tasks whose for_each or matrix gives no instance
	Agents      []*Agent // in file order
	Jobs        []*Job   // in file order
	Secrets     []Secret // every value that must never be written anywhere
	Warnings    []Error  // faults that do not stop a run

	Filesets []string `json:"-"` // patterns that fileset() was asked for anywhere, relative to the root
	Asked    []string `json:"-"` // files that file() and filesha256() were asked for anywhere, whether they are there or not
	Found    []string `json:"-"` // files that file functions found anywhere, relative to the root, sorted

	places map[string]int // of Tasks by name, see Index
}

// A Secret is a value that must never be written anywhere, and the name that is shown in its place.
type Secret struct {
	Name  string // the environment variable, or what the value was made from
	Value string
}

// A Text is a string of the file, with what must not be shown.
type Text struct {
	Value   string
	Secrets []string // the names secret() was asked for to make Value, sorted
	Missing []string // those of them that are not set: an error when the task is about to run
	// Value without the secrets in it, where there are any: what is quoted or cut hides from a redactor
	Hidden string
}

// Show returns the text without its secrets, for people and records.
func (t Text) Show() string {
	if t.Hidden != "" {
		return t.Hidden
	}
	return t.Value
}

// A Command is an argv, or text for /bin/sh -eu -c; exactly one of the two is set.
type Command struct {
	Argv  []Text
	Shell Text

	// what a person typed behind run TASK --: the end of Argv, or "$@" of Shell
	Args []Text `json:",omitempty"`
}

// Words returns the words of an argv, or nil where one of them is secret or missing, or where the command is shell
// text.
func (c Command) Words() []string {
	var all []string
	for _, w := range c.Argv {
		if len(w.Missing) > 0 || len(w.Secrets) > 0 {
			return nil
		}
		all = append(all, w.Value)
	}
	return all
}

// An EnvVar is one entry of a task's env.
type EnvVar struct {
	Name string
	Text
	Written bool // PIPELINE.hcl has the value in plain text: it did not come from elsewhere
}

// A Task is one command, or one agent, and what it needs.
type Task struct {
	Name        string // test, or test["linux"] for one of several made by for_each or matrix; api:test of an included file
	Base        string // the name without a key: test, api:test
	Description string
	Pos         Pos
	DependsOn   []string // names of tasks (of instances, where there are several), without doubles
	Run         Command
	Env         []EnvVar      // sorted by name
	PassEnv     []string      // names; a * is allowed at the end
	Dir         string        // slash-separated, relative to the root, inside it; "." by default
	Dotenv      []string      // files of NAME=VALUE lines, slash-separated, relative to the root, inside it
	Inputs      []string      // globs
	Auto        bool          `json:",omitempty"` // what it was seen to read is its inputs; Inputs is empty
	Strict      bool          `json:",omitempty"` // it is not cached when it reads what is not among Inputs
	Tools       []Tool        `json:",omitempty"` // sorted by name
	Outputs     []string      // globs
	Reads       []string      // files that file functions of this task read: inputs too; relative to the root, sorted
	Filesets    []string      `json:"-"` // patterns that fileset() was asked for in what defines it, relative to the root, sorted
	Asked       []string      `json:"-"` // files that file() and filesha256() were asked for in what defines it, for_each too, whether they are there or not
	Seen        []string      `json:"-"` // with Auto: patterns of what it read the last times it passed; empty before cache.Know
	Programs    []string      `json:"-"` // files of the project that its command runs or its tools name, relative to the root, sorted; empty before cache.Know
	Timeout     time.Duration // of the whole task, all attempts included; 0 means none
	Retry       Retry
	Cache       CacheRules
	Service     *Service   `json:",omitempty"` // nil: the task ends by itself
	Agent       *AgentWork `json:",omitempty"` // done by an agent: there is no Run; nil: there is
	OnFail      []Hook     // in file order
	Scratch     ScratchRules
}

// HasInputs reports whether it is known, or will be, what the task is made of.
func (t *Task) HasInputs() bool { return t.Auto || len(t.Inputs) > 0 }

// A Tool is a program of a task by a command: what that prints counts in place of the contents of the program.
type Tool struct {
	Name string
	Argv []string
}

// An AgentWork is what an agent does as a task. Its patch is the output of the task, and is never applied.
type AgentWork struct {
	Use      string // name of an agent
	Prompt   string
	StdoutTo string // the file that the answer is written to, as Task.Outputs has it; empty: none
	Budget   Budget // Attempts is 1
}

// A Retry is how often a failed task is tried again. The zero Retry is one attempt.
type Retry struct {
	Attempts int           // in all; 0 and 1 mean one
	Delay    time.Duration // between two attempts
	OnExit   []int         // only these exit codes deserve another attempt; empty: every failure does
}

// CacheRules are how the result of a task is cached. The zero value caches what a task with inputs makes and prints.
type CacheRules struct {
	Disabled     bool
	NoOutputs    bool          // outputs are not stored: they must be there for a hit
	CleanOutputs bool          // what the last result has is removed before the task runs
	TTL          time.Duration // a result that is older is not used; 0 means for ever
}

// A Service says when a task that keeps running is ready for the tasks that depend on it. At most one of Command, Port
// and Log is set; without them it is ready once it has run for a moment.
type Service struct {
	Command *Command      // when this exits with 0
	Port    int           // when something listens on this port of the machine
	Log     string        // when a line that it prints matches this regular expression, which is valid
	Timeout time.Duration // how long it may take to be ready
}

// ScratchRules add paths to the usual contents of a scratch copy, or leave some out.
type ScratchRules struct {
	Include []string // globs relative to the root
	Exclude []string
}

// A Hook answers a failure of its task; exactly one of Agent and Run is set.
type Hook struct {
	Pos   Pos
	Agent *AgentHook // on_fail "agent": propose a fix
	Run   *RunHook   // on_fail "run": tell somebody
}

// An AgentHook proposes a fix.
type AgentHook struct {
	Use         string // name of an agent
	Prompt      string // may be empty
	Output      string // tree: it edits the copy | diff: it prints a unified diff; empty means tree
	Budget      Budget
	Protect     []string   // globs relative to the root
	Allow       [][]string // patterns of commands that an agent of our own may run besides the task's own
	Verify      []string   // names of tasks besides the usual ones
	PassSecrets bool       // the copy's checks get secret() values
	CI          bool       // heal in CI mode, when --heal is given too
	Fallback    []string   // names of agents that are asked, in order, when one before them fails
	Reviewer    string     // name of an agent that is asked for a second opinion; empty: none is
}

// A Budget bounds an agent hook. Both limits are always positive.
type Budget struct {
	Attempts  int           // 1..5
	WallClock time.Duration // over tries, retries and verification together
	Tokens    int64         // input and output; 0: no cap
	CostUSD   float64       // 0: no cap
}

// A RunHook runs a command after a failure; nothing it does changes the verdict.
type RunHook struct {
	Run     Command
	Timeout time.Duration // 0 means the default of package hooks
}

// An Agent may be asked for a fix: exactly one of Command, CLI and Model is set.
type Agent struct {
	Name    string
	Pos     Pos
	Command []Text         // a program: prompt and context pack on stdin, works in its current directory
	Given   Given          // to a program, also to a CLI
	Retry   failure.Policy // of a program, also of a CLI
	Model   *ModelAgent    // our own loop with a model
	CLI     *CLIAgent      // an agent CLI that we know
}

// A CLIAgent is one of the agent CLIs that we know.
type CLIAgent struct {
	Name    string // of package knowncli
	Model   string // as its provider calls it; empty: its own choice
	Args    []string
	Wire    string // the protocol to its provider: anthropic | openai | openai_chat | gemini
	BaseURL string // empty: the provider's own
	Key     *Text  // always made from a secret; nil: it uses its own sign-in
}

// Given is what the program of an agent gets of the person's, besides what every agent gets.
type Given struct {
	Env     []EnvVar // sorted by name
	PassEnv []string // names in the person's environment; a * at the end stands for the rest of a name
	Files   []string // "~/…", slash-separated and clean: below the person's HOME
}

// A ModelAgent is our own loop with a model of a provider.
type ModelAgent struct {
	Provider string // anthropic | openai | openai_chat | gemini
	Model    string
	BaseURL  string // empty: the provider's own
	Key      Text   // always made from a secret; an empty one: none is sent
	MaxTurns int    // how often the model may be asked in one attempt
}

// A Job is a named entry point.
type Job struct {
	Name  string
	Pos   Pos
	Tasks []string
}

// Files returns the absolute paths of every PIPELINE.hcl that was read.
func (c *Config) Files() []string {
	all := []string{c.File}
	for _, f := range c.Included {
		all = append(all, filepath.Join(c.Root, filepath.FromSlash(f)))
	}
	return all
}

// Index lets Task find names without a search, also in copies of c. Where Tasks has changed since, it is searched.
func (c *Config) Index() {
	c.places = make(map[string]int, len(c.Tasks))
	for i, t := range c.Tasks {
		c.places[t.Name] = i
	}
}

// Task finds a task by name, in any form that IsNamed takes, or nil.
func (c *Config) Task(name string) *Task {
	if i, ok := c.places[name]; ok && i < len(c.Tasks) && c.Tasks[i].Name == name {
		return c.Tasks[i]
	}
	if i := slices.IndexFunc(c.Tasks, func(t *Task) bool { return t.Name == name }); i >= 0 {
		return c.Tasks[i]
	}
	return c.instance(name)
}

// WithArgs returns a copy of the configuration in which these tasks run with further arguments: run TASK -- ARGS.
func (c *Config) WithArgs(names []string, args []Text) *Config {
	changed := *c
	changed.Tasks = slices.Clone(c.Tasks)
	for i, t := range changed.Tasks {
		if !slices.Contains(names, t.Name) || len(args) == 0 {
			continue
		}
		with := *t
		with.Run.Args = slices.Clone(args)
		if t.Run.Argv != nil {
			with.Run.Argv = slices.Concat(t.Run.Argv, args)
		}
		changed.Tasks[i] = &with
	}
	return &changed
}

// Job finds a job by name, or nil.
func (c *Config) Job(name string) *Job {
	if i := slices.IndexFunc(c.Jobs, func(j *Job) bool { return j.Name == name }); i >= 0 {
		return c.Jobs[i]
	}
	return nil
}

// Agent finds an agent by name, or nil.
func (c *Config) Agent(name string) *Agent {
	if i := slices.IndexFunc(c.Agents, func(a *Agent) bool { return a.Name == name }); i >= 0 {
		return c.Agents[i]
	}
	return nil
}

// A Pos is a place in a file; lines and columns count from 1, 0 means unknown.
type Pos struct {
	File         string
	Line, Column int
}

func (p Pos) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}
