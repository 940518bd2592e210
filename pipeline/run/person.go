package run

import (
	"slices"
	"strings"
)

// A person is the environment of whoever runs us, taken apart once for all the tasks of a Runner. It never changes.
type person struct {
	set  map[string]string
	base []variable // what every task sees, sorted by name
	mark string     // of a hook that we were started by, or empty
}

type variable struct{ name, value string }

// whose is the person's environment. Environ is read at the first call.
func (r *Runner) whose() *person {
	r.once.Do(func() {
		p := &person{set: parse(r.Environ)}
		for name, value := range p.set {
			if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
				p.base = append(p.base, variable{name, value})
			}
		}
		slices.SortFunc(p.base, func(a, b variable) int { return strings.Compare(a.name, b.name) })
		p.mark = p.set[mark]
		r.person = p
	})
	return r.person
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
