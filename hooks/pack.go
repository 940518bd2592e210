package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// packLimit is the size of a context pack, in bytes, at most; tailLimit that of the log in it.
const (
	packLimit = 16 << 10
	tailLimit = 4 << 10
)

// A pack is what any agent host needs to repair a failed task by itself. Log is data from outside: it stands in its own
// field and is never part of an instruction.
type pack struct {
	SchemaVersion int               `json:"schema_version"`
	Run           string            `json:"run"`
	Task          string            `json:"task"`
	Description   string            `json:"description,omitempty"`
	Command       any               `json:"command"` // a list is argv, a string is shell text
	Dir           string            `json:"dir"`     // relative to the root
	Status        string            `json:"status"`
	ExitCode      *int              `json:"exit_code"`
	Signal        *string           `json:"signal"`
	Error         *string           `json:"error"`
	Attempts      int               `json:"attempts"`
	RunAgain      string            `json:"run_again"` // for a shell
	LogTail       string            `json:"log_tail"`
	Changed       packChanged       `json:"changed"`
	Git           packGit           `json:"git"`
	Tools         map[string]string `json:"tools"` // program → what it says its version is
}

type packGit struct {
	Commit    *string  `json:"commit"`
	Dirty     []string `json:"dirty"` // relative to git's top; null: not known
	DirtyMore int      `json:"dirty_more,omitempty"`
}

// Pack is the context pack of a failed task, one JSON object of at most 16 KiB without a single control or bidi character.
// What WritePacks stored is given as it was: a person and every agent read the same bytes.
func (e *Engine) Pack(ctx context.Context, run *record.Sealed, task string) ([]byte, error) {
	stored, err := run.Context(task)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	return e.buildPack(ctx, run, task, e.placeOf(ctx, run, task))
}

// WritePacks stores the context pack of every failed task beside the sealed run, and tells the journal of the hooks their digests.
func (e *Engine) WritePacks(ctx context.Context, run *record.Sealed) error {
	var tasks []string
	for i := range run.Tasks {
		if failed(&run.Tasks[i]) {
			tasks = append(tasks, run.Tasks[i].Name)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	place := e.placeOf(ctx, run, tasks...)
	for _, name := range tasks {
		b, err := e.buildPack(ctx, run, name, place)
		if err != nil {
			return fmt.Errorf("context pack of task %q: %w", name, err)
		}
		if err := run.WriteContext(name, b); err != nil {
			return err
		}
	}
	return fix.TellPacks(run.Dir, run.Digest, tasks)
}

func (e *Engine) buildPack(ctx context.Context, run *record.Sealed, task string, place *packPlace) ([]byte, error) {
	ended := run.Task(task)
	if ended == nil {
		return nil, fmt.Errorf("run %s has no task %q", run.ID, task)
	}
	if !failed(ended) {
		return nil, fmt.Errorf("task %q of run %s is %s: a context pack is made of a failed task", task, run.ID, ended.Status)
	}
	p := pack{
		SchemaVersion: 1, Run: run.ID, Task: task, Dir: ".", Status: ended.Status, ExitCode: ended.ExitCode,
		Signal: ended.Signal, Error: ended.Error, Attempts: ended.Attempts,
		RunAgain: "async-pipeline run --only " + shellWord(task),
		Changed:  place.changedSince(ctx, task),
		Git:      packGit{Dirty: place.dirty},
		Tools:    map[string]string{},
	}
	if tail, err := run.Tail(task, 2*tailLimit); err == nil {
		p.LogTail = lastText(e.Redact.String(place.clean(string(tail))), tailLimit)
	}
	if t := e.Config.Task(task); t != nil {
		p.Description, p.Dir, p.Command = t.Description, t.Dir, commandOf(t)
		p.Tools = e.toolVersions(ctx, t)
	}
	if run.Git != nil {
		p.Git.Commit = run.Git.Commit
	}
	return e.encodePack(p, place)
}

// hide takes secrets, and what hides or reorders text, out of everything that a person or a program wrote. Names of tasks,
// digests and the structure stay.
func (p *pack) hide(clean func(string) string) {
	p.Description, p.LogTail = clean(p.Description), clean(p.LogTail)
	if p.Error != nil {
		p.Error = new(clean(*p.Error))
	}
	switch c := p.Command.(type) {
	case string:
		p.Command = clean(c)
	case []string:
		for i := range c {
			c[i] = clean(c[i])
		}
	}
	p.Git.Dirty = slices.Clone(p.Git.Dirty) // those of one place are shared
	for i := range p.Git.Dirty {
		p.Git.Dirty[i] = clean(p.Git.Dirty[i])
	}
	for i := range p.Changed.Paths {
		p.Changed.Paths[i].Path = clean(p.Changed.Paths[i].Path)
	}
	for program, version := range p.Tools {
		p.Tools[program] = cut(clean(version), 200)
	}
}

// tooLong stands for a command that is longer than a pack can hold.
const tooLong = "(longer than a context pack can hold)"

// encodePack cuts what can be cut until the pack fits: the lists of files first, the longer one, then the log from its
// front.
func (e *Engine) encodePack(p pack, place *packPlace) ([]byte, error) {
	p.hide(func(s string) string { return e.Redact.String(place.clean(s)) })
	for {
		b, err := asciiControl(p)
		if err != nil {
			return nil, err
		}
		switch {
		case len(b) <= packLimit:
			return b, nil
		case len(p.Git.Dirty) > 0 && len(p.Git.Dirty) >= len(p.Changed.Paths):
			keep := len(p.Git.Dirty) / 2
			p.Git.DirtyMore += len(p.Git.Dirty) - keep
			p.Git.Dirty = p.Git.Dirty[:keep]
		case len(p.Changed.Paths) > 0:
			keep := len(p.Changed.Paths) / 2
			p.Changed.More += len(p.Changed.Paths) - keep
			p.Changed.Paths = p.Changed.Paths[:keep]
		case len(p.LogTail) > 256:
			p.LogTail = lastText(p.LogTail, len(p.LogTail)/2)
		case len(p.Description) > 256:
			p.Description = cut(p.Description, 256)
		case p.Error != nil && len(*p.Error) > 256:
			p.Error = new(cut(*p.Error, 256))
		case !equal(p.Command, tooLong):
			p.Command = tooLong
		case p.RunAgain != "":
			p.RunAgain = ""
		default:
			return nil, fmt.Errorf("a context pack of %d bytes; at most %d are allowed", len(b), packLimit)
		}
	}
}

func equal(command any, text string) bool {
	s, ok := command.(string)
	return ok && s == text
}

// commandOf is the command as written, without the secrets in it.
func commandOf(t *pipeline.Task) any {
	if t.Run.Argv == nil {
		return t.Run.Shell.Show()
	}
	argv := make([]string, len(t.Run.Argv))
	for i, a := range t.Run.Argv {
		argv[i] = a.Show()
	}
	return argv
}

// versionArgs says how programs are asked for their version.
var versionArgs = map[string]string{
	"go": "version", "node": "--version", "npm": "--version", "python": "--version", "python3": "--version",
	"cargo": "--version", "rustc": "--version", "java": "-version", "make": "--version", "gcc": "--version",
}

// toolVersions asks the command's own program. A program that is not known is not run: who knows what it would do.
func (e *Engine) toolVersions(ctx context.Context, t *pipeline.Task) map[string]string {
	versions := map[string]string{}
	program := ""
	if len(t.Run.Argv) > 0 {
		program = t.Run.Argv[0].Value
	} else if words := strings.Fields(t.Run.Shell.Value); len(words) > 0 {
		program = words[0]
	}
	arg, known := versionArgs[program]
	if !known || e.RunTask == nil {
		return versions
	}
	ask := *t
	ask.Run = pipeline.Command{Argv: []pipeline.Text{{Value: program}, {Value: arg}}}
	ask.Timeout, ask.Retry = 5*time.Second, pipeline.Retry{}
	var out bytes.Buffer
	got, err := e.RunTask(ctx, e.Config.Root, &ask, sandbox.Box{Tier: sandbox.None}, &out)
	if err == nil && got.Status == record.Passed {
		first, _, _ := strings.Cut(out.String(), "\n")
		versions[program] = strings.TrimSpace(first)
	}
	return versions
}

// commandText is the command in one line, for a prompt. What is quoted hides from a redactor: the secrets are out before.
func commandText(t *pipeline.Task) string {
	if t.Run.Argv == nil {
		return t.Run.Shell.Show()
	}
	words := make([]string, len(t.Run.Argv))
	for i, a := range t.Run.Argv {
		words[i] = a.Show()
		if strings.ContainsAny(words[i], " \t\n\"'\\$") || words[i] == "" {
			words[i] = fmt.Sprintf("%q", words[i])
		}
	}
	return strings.Join(words, " ")
}
