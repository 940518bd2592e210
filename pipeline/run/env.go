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

// A Layer is where a variable of a task's environment comes from.
type Layer struct {
	Name   string
	Value  string   // not to be shown where Secret
	From   string   // "inherited", "pipeline pass_env", "task pass_env", a dotenv file's path, "env"
	Over   []string // the layers whose value it replaced, nearest first
	Secret bool     // the value holds a secret
}

// Layers is the environment of a task in the tree, sorted by name, each variable with the layer it came from. The error is
// that of Environment.
func (r *Runner) Layers(t *pipeline.Task) ([]Layer, error) { panic("door") }

// ours begins the names that belong to us. What a person has set for us is not for a task.
const ours = "ASYNC_PIPELINE_"

// mark is carried by everything that a hook started, however deep: a run that sees it never heals.
const mark = ours + "HOOK"

// Environment builds a task's environment, sorted by name: PATH HOME USER LANG LC_* TZ TERM TMPDIR, then pass_env, then
// the box's, then env; the later wins. Only HOME and TMPDIR of the box win over all. Withheld are the names of variables
// left out because they hold secrets, sorted. An error is a fault of the task in words for a person.
func (r *Runner) Environment(t *pipeline.Task, box sandbox.Box) (env, withheld []string, err error) {
	person := parse(r.Environ)
	set := make(map[string]string)
	held := make(map[string]bool)
	for name, value := range person {
		passed := matches(t.PassEnv, name)
		if strings.HasPrefix(name, ours) || !passed && !slices.Contains(inherited, name) && !strings.HasPrefix(name, "LC_") {
			continue
		}
		if passed && !slices.Contains(inherited, name) && !box.Secrets && r.secret(name, value) {
			held[name] = true
			continue
		}
		set[name] = value
	}
	if value, ok := person[mark]; ok && box.Hook == "" {
		set[mark] = value
	}
	maps.Copy(set, parse(box.Env))
	for _, v := range t.Env {
		switch {
		case v.Name == mark || v.Name == ours+"RUNNER":
			return nil, nil, fmt.Errorf("task %q sets %s in env: that name is async-pipeline's own; use another", t.Name, v.Name)
		case v.Name == "" || strings.ContainsAny(v.Name, "=\x00"):
			return nil, nil, fmt.Errorf("task %q sets %q in env, which no variable can be called: use letters, digits and _", t.Name, v.Name)
		case strings.ContainsRune(v.Value, 0):
			return nil, nil, fmt.Errorf("the value of %s in env of task %q holds a NUL byte: no program can be given one", v.Name, t.Name)
		case !box.Secrets && (len(v.Secrets) > 0 || r.holds(v.Value)):
			held[v.Name] = true
			delete(set, v.Name) // not the person's value in its place either
			continue
		}
		if name := first(v.Missing); name != "" {
			return nil, nil, missing(t, name)
		}
		set[v.Name] = v.Value
		delete(held, v.Name)
	}
	if box.Home != "" {
		set["HOME"] = box.Home
	}
	if box.Tmp != "" {
		set["TMPDIR"] = box.Tmp
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env, slices.Sorted(maps.Keys(held)), nil
}

// secret says whether a variable of the person is one that secret() gave to the file, or holds the value of one.
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

// parse makes a map of KEY=VALUE; of a name that comes twice the last counts.
func parse(environ []string) map[string]string {
	set := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			set[name] = value
		}
	}
	return set
}

// matches says whether pass_env lets a name through; a * is allowed at the end.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); p == name || ok && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
