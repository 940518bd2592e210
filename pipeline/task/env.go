package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// inherited are the variables that every task sees, besides LC_*.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TZ", "TERM", "TMPDIR"}

// ours is the prefix of our own variables. Those that a person set for async-pipeline are not passed to tasks.
const ours = "ASYNC_PIPELINE_"

// mark is set in every process below a hook: a run that sees it never starts hooks.
const mark = ours + "HOOK"

// Names of layers; the others are the paths of dotenv files.
const (
	fromPerson   = "inherited"
	fromPipeline = "pipeline pass_env"
	fromTask     = "task pass_env"
	fromSandbox  = "sandbox"
	fromEnv      = "env"
)

// environment returns a task's environment as KEY=VALUE, sorted by name, and the names of variables that are
// withheld because they hold secrets. The layers are PATH HOME USER LANG LC_* TZ TERM TMPDIR, the pipeline's
// pass_env, the task's, the box's, the dotenv files (of the tree, or of the box's copy), and env; the later wins,
// but HOME and TMPDIR of the box win over all. An error is a fault of the task, in words for a person.
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

// A builder puts an environment together, layer by layer.
type builder struct {
	r    *Runner
	t    *pipeline.Task
	box  sandbox.Box
	vars []Layer
	at   map[string]int  // index of a name in vars
	held map[string]bool // names left out because they hold secrets
}

// build applies the layers; their order here decides which value wins.
func (r *Runner) build(dir string, t *pipeline.Task, box sandbox.Box) (*builder, error) {
	b := &builder{r: r, t: t, box: box, at: make(map[string]int), held: make(map[string]bool)}
	who := r.parsed()
	for _, name := range who.base {
		b.set(name, who.set[name], fromPerson)
	}
	if box.Hook == "" && who.set[mark] != "" {
		b.set(mark, who.set[mark], fromPerson)
	}
	b.pass(who, r.Config.PassEnv, fromPipeline)
	b.pass(who, t.PassEnv, fromTask)
	for name, value := range parse(box.Env) {
		b.set(name, value, fromSandbox)
	}
	if err := b.dotenv(dir); err != nil {
		return nil, err
	}
	for _, v := range t.Env {
		if err := b.env(v); err != nil {
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

// set sets a variable; a later layer may replace it.
func (b *builder) set(name, value, from string) {
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

// hold withholds a variable. The value of a lower layer must not take its place, so that is removed too.
func (b *builder) hold(name string) {
	b.held[name] = true
	delete(b.at, name)
}

// pass adds the variables that patterns of pass_env match, except those that are inherited anyway.
func (b *builder) pass(who *person, patterns []string, from string) {
	for _, p := range patterns {
		prefix, many := strings.CutSuffix(p, "*")
		if !many {
			if value, ok := who.set[p]; ok {
				b.passOne(p, value, from)
			}
			continue
		}
		for name, value := range who.set {
			if strings.HasPrefix(name, prefix) {
				b.passOne(name, value, from)
			}
		}
	}
}

func (b *builder) passOne(name, value, from string) {
	switch _, there := b.at[name]; {
	case strings.HasPrefix(name, ours), there && slices.Contains(inherited, name):
	case !b.box.Secrets && b.r.secret(name, value):
		b.hold(name)
	case !there:
		b.set(name, value, from)
	}
}

// env sets an entry of the task's env.
func (b *builder) env(v pipeline.EnvVar) error {
	switch {
	case v.Name == mark || v.Name == ours+"RUNNER":
		return fmt.Errorf("task %q sets %s in env: that name is async-pipeline's own; use another", b.t.Shown(), v.Name)
	case !pipeline.IsEnvName(v.Name):
		return fmt.Errorf("task %q sets %q in env, which no variable can be called: %s", b.t.Shown(), v.Name,
			pipeline.EnvNameRule)
	case strings.ContainsRune(v.Value, 0):
		return fmt.Errorf("the value of %s in env of task %q contains a NUL byte, which no program can be given",
			v.Name, b.t.Shown())
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

// sorted returns the variables by name.
func (b *builder) sorted() []Layer {
	all := make([]Layer, 0, len(b.at))
	for i, l := range b.vars {
		if at, ok := b.at[l.Name]; ok && at == i {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b Layer) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// secret reports whether a variable was read by secret(), or contains a secret value.
func (r *Runner) secret(name, value string) bool {
	for _, s := range r.Config.Secrets {
		if value != "" && (s.Name == name || s.Value == value) {
			return true
		}
	}
	return r.holds(value)
}

// holds reports whether text contains a secret value.
func (r *Runner) holds(text string) bool {
	_, ok := r.Redact.Find([]byte(text))
	return ok
}

// missing returns the fault of a task whose secret is not set.
func missing(t *pipeline.Task, name string) error {
	return fmt.Errorf("task %q needs the secret %s, which is not set: set the environment variable %s, then run again",
		t.Shown(), name, name)
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// A person is the parsed environment of the person who runs us. It is parsed once for all tasks and never changes.
type person struct {
	set  map[string]string
	base []string // names of what every task sees, sorted
}

// parsed returns the person's environment.
func (r *Runner) parsed() *person {
	r.once.Do(func() {
		p := &person{set: parse(r.Environ)}
		for name := range p.set {
			if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
				p.base = append(p.base, name)
			}
		}
		slices.Sort(p.base)
		r.person = p
	})
	return r.person
}

// parse converts KEY=VALUE lines to a map; the last value of a name wins.
func parse(environ []string) map[string]string {
	set := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			set[name] = value
		}
	}
	return set
}

// A Layer is one variable of a task's environment and where it comes from.
type Layer struct {
	Name   string
	Value  string   // must not be shown where Secret is true
	From   string   // "inherited", "pipeline pass_env", "task pass_env", a dotenv file's path, "env"
	Over   []string // the layers whose value it replaced, nearest first
	Secret bool     // the value contains a secret
}

// Layers returns the environment of a task in the tree, sorted by name, each variable with the layer it came from.
// Errors are those of RunTask that need no process.
func (r *Runner) Layers(t *pipeline.Task) ([]Layer, error) {
	b, err := r.build(r.Config.Root, t, sandbox.Box{Tier: sandbox.None, Secrets: true})
	if err != nil {
		return nil, err
	}
	all := b.sorted()
	for i := range all {
		l := &all[i]
		given := slices.ContainsFunc(t.Env, func(v pipeline.EnvVar) bool { return v.Name == l.Name && len(v.Secrets) > 0 })
		l.Secret = r.secret(l.Name, l.Value) || given && l.From == fromEnv
	}
	return all, nil
}
