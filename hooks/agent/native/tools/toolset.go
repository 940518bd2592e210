// Package tools has the tools that a model may call: they read, search and change the files of one copy, and run
// commands in it. Whatever a model asks for ends as an Outcome, whose Code tells how the call ended; its text is
// for the model alone.
package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/policy"
)

// Names of tools that mean something to the callers of this package.
const (
	Edit   = "edit"
	Check  = "check"
	Finish = "finish"
)

// An effect is what a tool can do to the world. It decides what may run beside what, and what a disconnect means.
type Effect int

// The effects.
const (
	Reads  Effect = iota // nothing changes: calls of one round run side by side
	Writes               // changes files of the copy: one after the other, in the order of the calls
	Runs                 // starts a process in the box: the same
	Ends                 // ends the turn: finish
)

// A code is the result of a call. The empty code means that it did what it was asked to do.
type Code string

// The codes.
const (
	Empty   Code = "empty"   // it succeeded and found nothing
	Failed  Code = "failed"  // it was carried out, and failed
	NotRun  Code = "not_run" // it was refused, or could not be started: nothing was done
	Invalid Code = "invalid" // there is no such tool, or its arguments are not those of its schema: nothing was done
)

// Failed reports whether the call did not succeed.
func (c Code) Failed() bool { return c != "" && c != Empty }

// An outcome is the result of a call, as the model sees it. A mistake of the model's is a failed outcome, never a Go
// error.
type Outcome struct {
	Text     string
	Code     Code
	Path     string         // the file it was about, below the top of the copy; empty: none
	Finished *agent.Control // of finish
	Warnings []string       // also in text; for the transcript
}

// A Toolset is the tools of one turn on one copy. Calls that only read may be made from several goroutines at once;
// those that write or run must be made one after the other.
type Toolset struct {
	r      *agent.Request
	root   *place
	top    string // r.Top, by which this program names it
	all    []declared
	sub    string // the working directory below the top, with slashes; "." is the top
	seenAs string // the top where the agent's commands see it
	policy policy.Policy

	mu      sync.Mutex
	read    map[string]state // by path below the top: what the model knows of a file
	paths   []string         // files that were written, edited or deleted, in the order of their first change
	passed  []string         // commands that ended well since the last change
	ran     int              // calls of run that were started
	refused int              // ... and that the policy refused
	runs    int              // outputs so far
	kept    []output
	tops    []string // of older copies, see Again
}

// Open opens the copy of a request. Its error describes what is wrong with the request.
func Open(r *agent.Request) (*Toolset, error) {
	if !filepath.IsAbs(r.Copy) {
		return nil, fmt.Errorf("the copy %q is not an absolute path", r.Copy)
	}
	top := cmp.Or(r.Top, r.Copy)
	sub, err := filepath.Rel(top, r.Copy)
	if err != nil || !filepath.IsLocal(sub) {
		return nil, fmt.Errorf("the working directory %s does not lie in the copy %s", r.Copy, top)
	}
	if err := policy.Check(r.Allow); err != nil {
		return nil, fmt.Errorf("allow: %w", err)
	}
	root := &place{open: r.Open, lent: r.Open != nil}
	if !root.lent {
		root.open = func() (*os.Root, error) { return os.OpenRoot(top) }
	}
	if _, err := root.at(); err != nil {
		return nil, err
	}
	w := &Toolset{
		r: r, root: root, top: top, all: declarations(r.ReadOnly, r.Task), sub: filepath.ToSlash(sub),
		seenAs: seenAs(r.Dir, top, sub), read: map[string]state{},
	}
	w.policy = policy.Policy{Own: r.Run, Allow: r.Allow, Planted: w.planted}
	return w, nil
}

// seenAs returns the path of the top for the agent's commands, which see its folder sub as dir.
func seenAs(dir, top, sub string) string {
	if sub == "." && dir != "" {
		return filepath.Clean(dir)
	}
	if above, ok := strings.CutSuffix(filepath.Clean(dir), string(filepath.Separator)+sub); ok && above != "" {
		return above
	}
	return top
}

func (w *Toolset) Close() error { return w.root.Close() }

// A declared is a tool as its file declares it. The arguments are checked before do is called.
type declared struct {
	name, says string
	verb, noun string // for Describe: "reads", and "file" for several
	effect     Effect
	fields     []field
	spare      func(name string) bool // arguments of no field that are left out, with a warning; nil: none
	do         func(ctx context.Context, w *Toolset, a args) Outcome
}

// declarations returns the tools of a turn. task: one that repairs nothing has no commands, no check and no report.
func declarations(readOnly, task bool) []declared {
	all := []declared{toolRead, toolList, toolSearch, toolWrite, toolEdit, toolDelete, toolRun, toolCheck, toolFinish}
	if task {
		all = slices.DeleteFunc(all, func(d declared) bool { return d.effect == Runs || d.effect == Ends })
	}
	if readOnly {
		all = slices.DeleteFunc(all, func(d declared) bool { return d.effect == Writes || d.effect == Runs })
	}
	return all
}

// Specs returns the tools that a model may call, always in the same order.
func (w *Toolset) Specs() []model.Tool {
	var all []model.Tool
	for _, d := range w.all {
		all = append(all, model.Tool{Name: d.name, Description: d.says, Schema: schema(d.fields)})
	}
	return all
}

// Has reports whether there is a tool of that name.
func (w *Toolset) Has(name string) bool {
	_, ok := w.tool(name)
	return ok
}

func (w *Toolset) tool(name string) (declared, bool) {
	i := slices.IndexFunc(w.all, func(d declared) bool { return d.name == name })
	if i < 0 {
		return declared{}, false
	}
	return w.all[i], true
}

// Call carries out one call. It never panics, and there is no secret in the outcome.
func (w *Toolset) Call(ctx context.Context, c model.Call) (o Outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = failed("%s could not be carried out, for a fault of async-pipeline: %v", c.Name, p)
			w.note(fmt.Sprintf("fault in %s: %v\n%s", c.Name, p, debug.Stack()))
		}
		o.Text = atMost(valid(w.clean(o.Text)), mostText)
		for i, s := range o.Warnings {
			o.Warnings[i] = valid(w.clean(s))
		}
	}()
	t, ok := w.tool(c.Name)
	if !ok {
		return fail(Invalid, "there is no tool %s: there are %s", quoted(c.Name), w.names())
	}
	if err := ctx.Err(); err != nil {
		return fail(NotRun, "%s was not started: the turn is ending", c.Name)
	}
	a, err := t.parse(c.Args)
	if err != nil {
		return fail(Invalid, "%v", err)
	}
	o = t.do(ctx, w, a)
	for _, name := range a.extra {
		o.warn("there is no argument %s: it was left out", quoted(name))
	}
	return o
}

// Invalid reports whether a call has no tool, or arguments that its tool does not accept.
func (w *Toolset) Invalid(c model.Call) bool {
	t, ok := w.tool(c.Name)
	_, err := t.parse(c.Args)
	return !ok || err != nil
}

// Effect returns what a call of that name can do. A call of an unknown tool can do nothing, because it fails.
func (w *Toolset) Effect(name string) Effect {
	t, _ := w.tool(name) // the zero effect is reads
	return t.effect
}

func (w *Toolset) names() string {
	var all []string
	for _, t := range w.all {
		all = append(all, t.name)
	}
	return strings.Join(all, ", ")
}

// Commands counts the calls of run so far.
func (w *Toolset) Commands() agent.Commands {
	w.mu.Lock()
	defer w.mu.Unlock()
	return agent.Commands{Allowed: new(w.ran), Refused: new(w.refused)}
}

// changed records a change of the file at.
func (w *Toolset) changed(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed = nil
	if !slices.Contains(w.paths, at) {
		w.paths = append(w.paths, at)
	}
}

func (w *Toolset) note(text string) {
	if w.r.Note != nil {
		w.r.Note(agent.Line{Type: "notice", Data: map[string]any{"text": w.clean(text)}})
	}
}

// clean returns text without secrets.
func (w *Toolset) clean(text string) string { return w.r.Secrets.String(text) }

// mostText bounds the text of a result, in bytes. The tools show less; this bounds text that quotes something
// else.
const mostText = 64 << 10

// atMost returns s, or the beginning of a longer one with a note of what is missing.
func atMost(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head := s[:border(s, most)]
	return fmt.Sprintf("%s… (%d bytes left out)", head, len(s)-len(head))
}

// valid returns text that every protocol can carry.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func fail(c Code, format string, args ...any) Outcome {
	return Outcome{Text: fmt.Sprintf(format, args...), Code: c}
}

func failed(format string, args ...any) Outcome { return fail(Failed, format, args...) }

// failedIf returns Failed if bad, else the code of a success.
func failedIf(bad bool) Code {
	if bad {
		return Failed
	}
	return ""
}

// onFile carries out a call on the file at, if that was found, and names the file in the outcome.
func onFile(at string, err error, do func() Outcome) Outcome {
	if err != nil {
		return failed("%v", err)
	}
	o := do()
	o.Path = at
	return o
}

// warn adds a warning to an outcome, which does not change its code.
func (o *Outcome) warn(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	o.Warnings = append(o.Warnings, s)
	o.Text += "\nwarning: " + s
}

// why returns an error of the file system without the operation and the path.
func why(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err.Error()
	}
	return err.Error()
}
