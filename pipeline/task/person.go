package task

import (
	"slices"
	"strings"
)

// A person is the parsed environment of the person who runs us. It is parsed once for all tasks and never changes.
type person struct {
	set  map[string]string
	base []variable // what every task sees, sorted by name
	mark string     // set when a hook started us, or empty
}

type variable struct{ name, value string }

// parsed returns the person's environment.
func (r *Runner) parsed() *person {
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
