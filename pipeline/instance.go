package pipeline

import (
	"fmt"
	"strings"
)

// InstanceName is the name of one of the tasks that for_each or matrix make of a task, as it is written in a reference:
// test["linux"].
func InstanceName(base, key string) string {
	return base + `["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"]`
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
	empty map[string]bool  // names that give no instance
}

func newRoster(c *Config) *roster {
	r := &roster{at: make(map[string]int, len(c.Tasks)), bases: make(map[string][]int), empty: make(map[string]bool)}
	for i, t := range c.Tasks {
		r.at[t.Name] = i
		if base := t.base(); base != t.Name {
			if r.bases[base] == nil {
				r.order = append(r.order, base)
			}
			r.bases[base] = append(r.bases[base], i)
		}
	}
	for _, name := range c.Empty {
		r.empty[name] = true
	}
	return r
}

// find gives the tasks that a name stands for: one task, all the instances of one, or none where it has none.
func (r *roster) find(c *Config, name string) ([]int, bool) {
	if i, ok := r.at[name]; ok {
		return []int{i}, true
	}
	if all, ok := r.bases[name]; ok {
		return all, true
	}
	if r.empty[name] {
		return nil, true
	}
	// A shell takes the quotes away: run test["linux"] arrives as test[linux].
	if base, key, ok := split(name); ok {
		if i, ok := r.at[InstanceName(base, key)]; ok && c.Tasks[i].base() == base {
			return []int{i}, true
		}
	}
	return nil, false
}

// nearest gives the instance of a name that was probably meant by a key, and the advice.
func (r *roster) nearest(c *Config, base, key string) (suggestion, detail string) {
	names, keys := make(map[string]string), make([]string, 0, len(r.bases[base]))
	for _, i := range r.bases[base] {
		_, k, _ := split(c.Tasks[i].Name)
		names[k] = c.Tasks[i].Name
		keys = append(keys, k)
	}
	if k := Nearest(key, keys); k != "" {
		return names[k], fmt.Sprintf("did you mean %s?", names[k])
	}
	return "", "it has " + Some(keys)
}

// Some writes the first few of names, and how many more there are.
func Some(names []string) string {
	const few = 8
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// split takes test["linux"], or what a shell made of it, apart.
func split(name string) (base, key string, ok bool) {
	base, rest, ok := strings.Cut(name, "[")
	if !ok || base == "" || !strings.HasSuffix(rest, "]") {
		return "", "", false
	}
	return base, strings.Trim(strings.TrimSuffix(rest, "]"), `"`), true
}
