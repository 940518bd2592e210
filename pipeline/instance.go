package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// The name of a task in a Config and in records is NAME; with the names of the files that include it, each with a colon,
// in front: api:test; of an instance with its key behind: api:test["linux"]. On the screen that is api:test:linux.
// There is no task with the name of an included file, so that within one Config no two tasks are shown alike. What a
// person typed can only be understood by comparing it with the names that there are.

// InstanceName returns the name of one of the tasks that for_each or matrix make of a task, as a reference in
// PIPELINE.hcl and a record write it: test["linux"].
func InstanceName(base, key string) string {
	return base + `["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"]`
}

// ShownName returns the name of a task as a person sees and types it: test:linux for test["linux"].
func ShownName(name string) string {
	if base, key, ok := splitInstance(name); ok {
		return base + ":" + key
	}
	return name
}

// Shown returns the task's name as a person sees it: see ShownName.
func (t *Task) Shown() string { return ShownName(t.Name) }

// IsNamed reports whether a person who typed a name meant the task called name: as a record writes it, as ShownName
// shows it, or as a shell leaves it without its quotes: test[linux].
func IsNamed(name, typed string) bool {
	if name == typed {
		return true
	}
	base, key, ok := splitInstance(name)
	if !ok {
		return false
	}
	k, ok := keyTyped(typed, base)
	return ok && k == key
}

// Meant returns which of the names of tasks a person meant who typed a name, or what was typed.
func Meant(typed string, names []string) string {
	if slices.Contains(names, typed) {
		return typed
	}
	if i := slices.IndexFunc(names, func(name string) bool { return IsNamed(name, typed) }); i >= 0 {
		return names[i]
	}
	return typed
}

// splitInstance splits the name of an instance, as InstanceName makes it.
func splitInstance(name string) (base, key string, ok bool) {
	base, key, _ = strings.Cut(name, `["`)
	if key, ok = strings.CutSuffix(key, `"]`); !ok || base == "" {
		return "", "", false
	}
	return base, unescaped(key), true
}

// keyTyped returns the key that was typed behind the name of a task: test:linux, test[linux] or test["linux"].
func keyTyped(typed, base string) (string, bool) {
	rest, ok := strings.CutPrefix(typed, base)
	if !ok || len(rest) < 2 {
		return "", false
	}
	if rest[0] == ':' {
		return rest[1:], true
	}
	key, ok := strings.CutSuffix(rest[1:], "]")
	if rest[0] != '[' || !ok {
		return "", false
	}
	if n := len(key); n > 1 && key[0] == '"' && key[n-1] == '"' {
		key = unescaped(key[1 : n-1])
	}
	return key, key != ""
}

func unescaped(key string) string { return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(key) }

// KeyInAnyOrder returns the one of keys that has the parts of key in another order, or "" where none or several
// have. The key of a matrix is its elements in the order of its axes; version 1 wrote them in the order of the
// axes' names, and records, scripts and files may still do so.
func KeyInAnyOrder(key string, keys []string) string {
	parts := func(key string) []string { return slices.Sorted(strings.SplitSeq(key, ",")) }
	found, want := "", parts(key)
	for _, k := range keys {
		if len(k) == len(key) && slices.Equal(parts(k), want) {
			if found != "" {
				return ""
			}
			found = k
		}
	}
	return found
}

// Named lists the tasks that were declared under one name, in file order: the task itself, all its instances, or all
// tasks of an included file.
func (c *Config) Named(name string) []*Task {
	var all []*Task
	for _, t := range c.Tasks {
		if t.base() == name || strings.HasPrefix(t.base(), name+":") {
			all = append(all, t)
		}
	}
	return all
}

// base is the name as declared, also of a task that was made without one.
func (t *Task) base() string {
	if t.Base == "" {
		return t.Name
	}
	return t.Base
}

// A roster finds tasks by name, by their place in the file.
type roster struct {
	at    map[string]int   // by whole name
	bases map[string][]int // the tasks of a name that stands for several: their instances, or those of an included file
	order []string         // the keys of bases, in file order
}

func newRoster(c *Config) *roster {
	r := &roster{at: make(map[string]int, len(c.Tasks)), bases: make(map[string][]int)}
	for i, t := range c.Tasks {
		r.at[t.Name] = i
		base := t.base()
		for end, letter := range base {
			if letter == ':' {
				r.under(base[:end], i)
			}
		}
		if base != t.Name {
			r.under(base, i)
		}
	}
	return r
}

// under adds a task to those that a name stands for.
func (r *roster) under(name string, i int) {
	if r.bases[name] == nil {
		r.order = append(r.order, name)
	}
	r.bases[name] = append(r.bases[name], i)
}

// find returns the tasks that a name selects: one task, all the instances of one or none where it has none, or all the
// tasks of an included file.
func (r *roster) find(c *Config, name string) ([]int, bool) {
	if i, ok := r.at[name]; ok {
		return []int{i}, true
	}
	if all, ok := r.bases[name]; ok {
		return all, true
	}
	if slices.Contains(c.Empty, name) {
		return nil, true
	}
	if t := c.instance(name); t != nil {
		return []int{r.at[t.Name]}, true
	}
	return nil, false
}

// instance returns the instance of a task that was typed with its key, or nil.
func (c *Config) instance(typed string) *Task {
	base, key := c.splitTyped(typed)
	keys := c.keys(base)
	if !slices.Contains(keys, key) {
		key = KeyInAnyOrder(key, keys)
	}
	i := slices.IndexFunc(c.Tasks, func(t *Task) bool { return t.base() == base && t.Name == InstanceName(base, key) })
	if i < 0 {
		return nil
	}
	return c.Tasks[i]
}

// splitTyped splits what was typed into the name of a task and the key behind it. Without such a task both are empty.
func (c *Config) splitTyped(typed string) (base, key string) {
	for _, t := range c.Tasks {
		if key, ok := keyTyped(typed, t.base()); ok {
			return t.base(), key
		}
	}
	return "", ""
}

// keys returns the keys of the instances of a task.
func (c *Config) keys(base string) []string {
	var keys []string
	for _, t := range c.Tasks {
		if _, k, ok := splitInstance(t.Name); ok && t.base() == base {
			keys = append(keys, k)
		}
	}
	return keys
}

// nearestInstance returns the instance that was probably meant by a key, if any, and what to tell the person.
func (c *Config) nearestInstance(base, key string) (suggestion, detail string) {
	keys := c.keys(base)
	if k := Nearest(key, keys); k != "" {
		return base + ":" + k, fmt.Sprintf("did you mean %s:%s?", base, k)
	}
	return "", "it has " + english.List(keys, 8)
}
