package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// inherited are the variables that every task sees; LC_* besides.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TZ", "TERM", "TMPDIR"}

// ours begins the names that belong to us. What a person has set for us is not for a task.
const ours = "ASYNC_PIPELINE_"

// mark is carried by everything that a hook started, however deep: a run that sees it never heals.
const mark = ours + "HOOK"

// Names of layers; the others are the paths of dotenv files.
const (
	fromPerson   = "inherited"
	fromPipeline = "pipeline pass_env"
	fromTask     = "task pass_env"
	fromSandbox  = "sandbox"
	fromEnv      = "env"
)

// Environment builds a task's environment, sorted by name: PATH HOME USER LANG LC_* TZ TERM TMPDIR, then the pipeline's
// pass_env, the task's, the box's, the dotenv files (read where the task runs: the tree, or the box's copy), then env; the
// later wins. Only HOME and TMPDIR of the box win over all. Withheld are the names of variables
// left out because they hold secrets, sorted. An error is a fault of the task in words for a person.
func (r *Runner) Environment(t *pipeline.Task, box sandbox.Box) (env, withheld []string, err error) {
	return r.environment(box.At(r.Config.Root), t, box)
}

func (r *Runner) environment(dir string, t *pipeline.Task, box sandbox.Box) (env, withheld []string, err error) {
	b, err := r.build(dir, t, box)
	if err != nil {
		return nil, nil, err
	}
	env = make([]string, 0, len(b.at))
	for _, l := range b.sorted() {
		env = append(env, l.Name+"="+l.Value)
	}
	return env, slices.Sorted(maps.Keys(b.held)), nil
}

// A building is an environment that is being put together, layer by layer.
type building struct {
	r    *Runner
	t    *pipeline.Task
	box  sandbox.Box
	vars []Layer
	at   map[string]int  // place of a name in vars
	held map[string]bool // names left out because they hold secrets
}

// build is the one walk over the layers. What stands here, in this order, is what wins over what.
func (r *Runner) build(dir string, t *pipeline.Task, box sandbox.Box) (*building, error) {
	b := &building{r: r, t: t, box: box, at: make(map[string]int), held: make(map[string]bool)}
	who := r.whose()
	for _, v := range who.base {
		b.set(v.name, v.value, fromPerson)
	}
	if box.Hook == "" && who.mark != "" {
		b.set(mark, who.mark, fromPerson)
	}
	b.pass(who, r.Config.PassEnv, fromPipeline)
	b.pass(who, t.PassEnv, fromTask)
	for _, kv := range box.Env {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			b.set(name, value, fromSandbox)
		}
	}
	if err := b.dotenv(dir); err != nil {
		return nil, err
	}
	for _, v := range t.Env {
		if err := b.own(v); err != nil {
			return nil, err
		}
	}
	if box.Home != "" {
		b.set("HOME", box.Home, fromSandbox)
	}
	if box.Tmp != "" {
		b.set("TMPDIR", box.Tmp, fromSandbox)
	}
	return b, nil
}

// set gives a variable its value for now.
func (b *building) set(name, value, from string) {
	delete(b.held, name)
	l := Layer{Name: name, Value: value, From: from}
	if i, ok := b.at[name]; ok {
		l.Over = slices.Concat([]string{b.vars[i].From}, b.vars[i].Over)
		b.vars[i] = l
		return
	}
	b.at[name] = len(b.vars)
	b.vars = append(b.vars, l)
}

// hold leaves a variable out, and what a lower layer had given it: the person's value may not come in its place either.
func (b *building) hold(name string) {
	b.held[name] = true
	delete(b.at, name)
}

// pass takes what pass_env lets through. What is there from the person already stays as it is.
func (b *building) pass(who *person, patterns []string, from string) {
	for _, p := range patterns {
		prefix, many := strings.CutSuffix(p, "*")
		if !many {
			if value, ok := who.set[p]; ok {
				b.let(p, value, from)
			}
			continue
		}
		for name, value := range who.set {
			if strings.HasPrefix(name, prefix) {
				b.let(name, value, from)
			}
		}
	}
}

func (b *building) let(name, value, from string) {
	switch _, there := b.at[name]; {
	case strings.HasPrefix(name, ours), there && slices.Contains(inherited, name):
	case !b.box.Secrets && b.r.secret(name, value):
		b.hold(name)
	case !there:
		b.set(name, value, from)
	}
}

// own sets an entry of the task's env.
func (b *building) own(v pipeline.EnvVar) error {
	switch {
	case v.Name == mark || v.Name == ours+"RUNNER":
		return fmt.Errorf("task %q sets %s in env: that name is async-pipeline's own; use another", b.t.Name, v.Name)
	case !pipeline.IsEnvName(v.Name):
		return fmt.Errorf("task %q sets %q in env, which no variable can be called: %s", b.t.Name, v.Name, pipeline.EnvNameRule)
	case strings.ContainsRune(v.Value, 0):
		return fmt.Errorf("the value of %s in env of task %q holds a NUL byte: no program can be given one", v.Name, b.t.Name)
	case !b.box.Secrets && (len(v.Secrets) > 0 || b.r.holds(v.Value)):
		b.hold(v.Name)
		return nil
	}
	if name := first(v.Missing); name != "" {
		return missing(b.t, name)
	}
	b.set(v.Name, v.Value, fromEnv)
	return nil
}

// sorted is what is set, by name.
func (b *building) sorted() []Layer {
	all := make([]Layer, 0, len(b.at))
	for i, l := range b.vars {
		if at, ok := b.at[l.Name]; ok && at == i {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b Layer) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// secret says whether a variable is one that secret() gave to the file, or holds the value of one.
func (r *Runner) secret(name, value string) bool {
	for _, s := range r.Config.Secrets {
		if value != "" && (s.Name == name || s.Value == value) {
			return true
		}
	}
	return r.holds(value)
}

// holds says whether text holds a secret value.
func (r *Runner) holds(text string) bool {
	_, ok := r.Redact.Find([]byte(text))
	return ok
}

// missing is the fault of a task that needs a secret nobody has set.
func missing(t *pipeline.Task, name string) error {
	return fmt.Errorf("task %q needs the secret %s, which is not set: set the environment variable %s, then run again", t.Name, name, name)
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
