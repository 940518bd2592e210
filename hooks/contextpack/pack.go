// Package contextpack tells what an agent, or a person, needs to know to repair a failed task: one JSON object a
// task, of at most 16 KiB, stored beside the sealed run.
package contextpack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Limits in bytes.
const (
	packLimit = 16 << 10 // of a pack
	tailLimit = 4 << 10  // of the log in it
	lineLimit = 160      // of a line of Differs
)

const mostDiffers = 20 // lines

// A Builder builds context packs.
type Builder struct {
	Config  *pipeline.Config
	Store   *record.Store
	Redact  *redact.Set
	RunTask failedtask.RunTask // asks programs for their version; nil: none is asked
}

// A pack is one context pack. The log is data from outside: it has a field of its own and is never part of an
// instruction.
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
	Flaky         *string           `json:"flaky,omitempty"` // the run in which it passed with the same inputs
	RunAgain      string            `json:"run_again"`       // for a shell
	LogTail       string            `json:"log_tail"`
	Changed       changed           `json:"changed"`
	Differs       []string          `json:"differs,omitempty"` // the first reasons of the receipt: inputs, variables, programs
	Git           gitState          `json:"git"`
	Tools         map[string]string `json:"tools"` // program → the version that it prints
}

type gitState struct {
	Commit    *string  `json:"commit"`
	Dirty     []string `json:"dirty"` // relative to git's top; null: not known
	DirtyMore int      `json:"dirty_more,omitempty"`
}

// Pack returns the context pack of a failed task, one JSON object without control or bidi characters. Where WriteAll
// stored one it returns that, so that a person and every agent read the same bytes.
func (b *Builder) Pack(ctx context.Context, run *record.Sealed, task string) ([]byte, error) {
	stored, err := run.Context(task)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	return b.build(ctx, run, task, b.placeOf(ctx, run, task))
}

// WriteAll stores the context pack of every failed task beside the sealed run, and their digests in the journal of
// the hooks.
func (b *Builder) WriteAll(ctx context.Context, run *record.Sealed) error {
	var tasks []string
	for i := range run.Tasks {
		if failedtask.Failed(&run.Tasks[i]) {
			tasks = append(tasks, run.Tasks[i].Name)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	place := b.placeOf(ctx, run, tasks...)
	for _, name := range tasks {
		text, err := b.build(ctx, run, name, place)
		if err != nil {
			return fmt.Errorf("context pack of task %q: %w", pipeline.ShownName(name), err)
		}
		if err := run.WriteContext(name, text); err != nil {
			return err
		}
	}
	return draft.TellPacks(run.Dir, run.Digest, tasks)
}

func (b *Builder) build(ctx context.Context, run *record.Sealed, task string, place *place) ([]byte, error) {
	ended := run.Task(task)
	if ended == nil {
		return nil, fmt.Errorf("run %s has no task %q", run.ID, pipeline.ShownName(task))
	}
	if !failedtask.Failed(ended) {
		return nil, fmt.Errorf("task %q of run %s is %s: a context pack is made of a failed task",
			pipeline.ShownName(task),
			run.ID, ended.Status)
	}
	p := pack{
		SchemaVersion: 1, Run: run.ID, Task: task, Dir: ".", Status: ended.Status, ExitCode: ended.ExitCode,
		Signal: ended.Signal, Error: ended.Error, Attempts: ended.Attempts,
		RunAgain: "async-pipeline run --only " + shelltext.Quote(task),
		Changed:  place.changedSince(ctx, task),
		Git:      gitState{Dirty: place.dirty},
		Tools:    map[string]string{},
	}
	if t := b.Config.Task(task); t != nil && len(b.Config.Services(t)) > 0 { // --only gives it none
		p.RunAgain = "async-pipeline run " + shelltext.Quote(task)
	}
	for i, a := range ended.Args {
		if i == 0 {
			p.RunAgain += " --"
		}
		p.RunAgain += " " + shelltext.Quote(a)
	}
	if tail, err := run.Tail(task, 2*tailLimit); err == nil {
		p.LogTail = failedtask.LastText(b.clean(place, string(tail)), tailLimit)
	}
	if t := b.Config.Task(task); t != nil {
		p.Description, p.Dir, p.Command = t.Description, t.Dir, commandOf(t)
		p.Tools = b.toolVersions(ctx, t)
	}
	if ended.Cache != nil {
		p.Flaky = ended.Cache.Flaky
	}
	if r, err := record.ReadReceipt(run.Dir, task); err == nil && r.MadeOf != nil {
		p.Differs = r.Reasons[:min(len(r.Reasons), mostDiffers)]
	}
	if run.Git != nil {
		p.Git.Commit = run.Git.Commit
	}
	return b.encode(p, place)
}

// clean removes the run's secrets, what looks like a key although nobody declared it as a secret, what hides or
// reorders text, and the paths of this machine.
func (b *Builder) clean(place *place, text string) string {
	return redact.Keys(b.Redact.String(place.clean(text)))
}

// hide removes secrets, and what hides or reorders text, from everything that a person or a program wrote. Names of
// tasks and digests are kept.
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
	p.Git.Dirty = slices.Clone(p.Git.Dirty) // the packs of one run share it
	for i := range p.Git.Dirty {
		p.Git.Dirty[i] = clean(p.Git.Dirty[i])
	}
	for i := range p.Changed.Paths {
		p.Changed.Paths[i].Path = clean(p.Changed.Paths[i].Path)
	}
	for i := range p.Differs {
		p.Differs[i] = cut(clean(p.Differs[i]), lineLimit)
	}
	for program, version := range p.Tools {
		p.Tools[program] = cut(clean(version), 200)
	}
}

// tooLong replaces a command that is longer than a pack can hold.
const tooLong = "(longer than a context pack can hold)"

// encode shortens the pack until it fits: the longer list of files first, then the log from its front.
func (b *Builder) encode(p pack, place *place) ([]byte, error) {
	p.hide(func(s string) string { return b.clean(place, s) })
	for {
		text, err := asciiControl(p)
		if err != nil {
			return nil, err
		}
		switch {
		case len(text) <= packLimit:
			return text, nil
		case len(p.Git.Dirty) > 0 && len(p.Git.Dirty) >= len(p.Changed.Paths):
			keep := len(p.Git.Dirty) / 2
			p.Git.DirtyMore += len(p.Git.Dirty) - keep
			p.Git.Dirty = p.Git.Dirty[:keep]
		case len(p.Changed.Paths) > 0:
			keep := len(p.Changed.Paths) / 2
			p.Changed.More += len(p.Changed.Paths) - keep
			p.Changed.Paths = p.Changed.Paths[:keep]
		case len(p.LogTail) > 256:
			p.LogTail = failedtask.LastText(p.LogTail, len(p.LogTail)/2)
		case len(p.Description) > 256:
			p.Description = cut(p.Description, 256)
		case p.Error != nil && len(*p.Error) > 256:
			p.Error = new(cut(*p.Error, 256))
		case p.Command != tooLong:
			p.Command = tooLong
		case p.RunAgain != "":
			p.RunAgain = ""
		default:
			return nil, fmt.Errorf("a context pack of %d bytes; at most %d are allowed", len(text), packLimit)
		}
	}
}

// commandOf returns the command as written, without the secrets in it.
func commandOf(t *pipeline.Task) any {
	if t.Agent != nil {
		return "# done by agent " + t.Agent.Use + ": " + t.Agent.Prompt
	}
	if t.Run.Argv == nil {
		return failedtask.ShellText(t.Run)
	}
	argv := make([]string, len(t.Run.Argv))
	for i, a := range t.Run.Argv {
		argv[i] = a.Show()
	}
	return argv
}

// versionArgs are the arguments that make programs print their version.
var versionArgs = map[string]string{
	"go": "version", "node": "--version", "npm": "--version", "python": "--version", "python3": "--version",
	"cargo": "--version", "rustc": "--version", "java": "-version", "make": "--version", "gcc": "--version",
}

// toolVersions asks the command's own program for its version. A program that is not in versionArgs is not run: it
// could do anything.
func (b *Builder) toolVersions(ctx context.Context, t *pipeline.Task) map[string]string {
	versions := map[string]string{}
	program := ""
	if len(t.Run.Argv) > 0 {
		program = t.Run.Argv[0].Value
	} else if words := strings.Fields(t.Run.Shell.Value); len(words) > 0 {
		program = words[0]
	}
	arg, known := versionArgs[program]
	if !known || b.RunTask == nil {
		return versions
	}
	ask := *t
	ask.Run = pipeline.Command{Argv: []pipeline.Text{{Value: program}, {Value: arg}}}
	ask.Timeout, ask.Retry = 5*time.Second, pipeline.Retry{}
	var out bytes.Buffer
	got, err := b.RunTask(ctx, b.Config.Root, &ask, sandbox.Box{Tier: sandbox.None}, &out)
	if err == nil && got.Status == record.Passed {
		first, _, _ := strings.Cut(out.String(), "\n")
		versions[program] = strings.TrimSpace(first)
	}
	return versions
}

// cut returns the first bytes of text, to the end of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// asciiControl returns v as indented JSON in which every character that is not shown, or that reorders others, is
// escaped: also in a task's name, which must not change.
func asciiControl(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if bytes.IndexFunc(b.Bytes(), unseen) < 0 {
		return b.Bytes(), nil
	}
	var out bytes.Buffer
	for _, r := range b.String() {
		switch {
		case !unseen(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes(), nil
}

// unseen reports whether a character must be escaped. The line ends of the JSON text itself are kept.
func unseen(r rune) bool {
	return r != '\n' && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' ||
		r == '\u2029')
}
