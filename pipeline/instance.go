package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

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

// RecordedName returns a name that a person typed as records have it: test["linux"] for test:linux and for
// test[linux].
func RecordedName(typed string) string {
	if base, key, ok := splitInstance(typed); ok {
		return InstanceName(base, key)
	}
	return typed
}

// IsNamed reports whether a person who typed a name meant the task called name: as a record writes it, as ShownName
// shows it, or as a shell leaves it without its quotes: test[linux].
func IsNamed(name, typed string) bool {
	if name == typed {
		return true
	}
	base, key, ok := splitInstance(typed)
	return ok && InstanceName(base, key) == name
}

// splitInstance splits the name of an instance, in any of its forms.
func splitInstance(name string) (base, key string, ok bool) {
	i := strings.IndexAny(name, "[:")
	if i < 1 || i == len(name)-1 {
		return "", "", false
	}
	base, key = name[:i], name[i+1:]
	if name[i] == ':' {
		return base, key, true
	}
	if key, ok = strings.CutSuffix(key, "]"); !ok {
		return "", "", false
	}
	if n := len(key); n > 1 && key[0] == '"' && key[n-1] == '"' {
		key = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(key[1 : n-1])
	}
	return base, key, true
}

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

// Named lists the tasks that were declared under one name, in file order: the task itself, or all its instances.
func (c *Config) Named(base string) []*Task {
	var all []*Task
	for _, t := range c.Tasks {
		if t.base() == base {
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
	bases map[string][]int // the instances of a name that for_each or matrix multiply
	order []string         // the keys of bases, in file order
}

func newRoster(c *Config) *roster {
	r := &roster{at: make(map[string]int, len(c.Tasks)), bases: make(map[string][]int)}
	for i, t := range c.Tasks {
		r.at[t.Name] = i
		if base := t.base(); base != t.Name {
			if r.bases[base] == nil {
				r.order = append(r.order, base)
			}
			r.bases[base] = append(r.bases[base], i)
		}
	}
	return r
}

// find returns the tasks that a name selects: one task, all the instances of one, or none where it has none.
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
	if base, key, ok := splitInstance(name); ok {
		if i, ok := r.at[InstanceName(base, key)]; ok && c.Tasks[i].base() == base {
			return []int{i}, true
		}
		if k := KeyInAnyOrder(key, c.keys(base)); k != "" {
			return []int{r.at[InstanceName(base, k)]}, true
		}
	}
	return nil, false
}

// keys returns the keys of the instances of a task.
func (c *Config) keys(base string) []string {
	var keys []string
	for _, t := range c.Named(base) {
		_, k, _ := splitInstance(t.Name)
		keys = append(keys, k)
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
