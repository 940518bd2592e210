// A project is one kind of thing in one folder, with the tasks that were made of it. Here they get their names.
package detect

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

type project struct {
	dir     string   // slash-separated, "." for the root
	kind    string   // go | node | python | rust | cmake | make | just | task
	found   string   // for the person
	about   []string // comment lines above its first task
	tasks   []*task
	env     []string // variables that its tools read
	sources []string // globs relative to dir, "!" in front takes away: what its tasks read
	mixed   bool     // another kind lives in the same folder

	local string // name of the locals entry for sources
}

type task struct {
	name    string // what it does: test; nameAll makes it unique in the file
	about   string
	argv    []string // or
	shell   string
	env     [][2]string
	sources bool     // inputs are the project's sources
	inputs  []string // other inputs: globs relative to the project's dir
	outputs []string // globs relative to the project's dir
	after   []*task
	timeout string
	needs   []string // programs
	checks  bool     // it runs tests: the example of on_fail goes to the first of these
	sort    string   // of a script of package.json: see scriptSorts

	lacks string // the first of needs that is not in PATH
}

// add appends a task and finds out which program it lacks.
func (d *detector) add(p *project, t *task) *task {
	if len(t.needs) == 0 && len(t.argv) > 0 {
		t.needs = t.argv[:1]
	}
	for _, program := range t.needs {
		if t.lacks == "" && !strings.Contains(program, "/") && !d.has(program) {
			t.lacks = program
		}
	}
	p.tasks = append(p.tasks, t)
	return t
}

// nameAll gives every task a unique name, with the folder and the kind in front where there is more than one.
func nameAll(projects []*project) {
	taken := map[string]bool{}
	for _, p := range projects {
		var prefix []string
		if p.dir != top {
			prefix = append(prefix, p.dir)
		}
		if p.mixed {
			prefix = append(prefix, p.kind)
		}
		for _, t := range p.tasks {
			t.name = free(taken, "-", identifier(strings.Join(append(slices.Clone(prefix), t.name), "-")))
		}
		p.local = strings.ReplaceAll(identifier(strings.Join(append(prefix, "sources"), "-")), "-", "_")
		p.local = free(taken, "_", p.local)
	}
}

// free returns name, or name-2, name-3 … with that sign where it is taken.
func free(taken map[string]bool, sign, name string) string {
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = fmt.Sprintf("%s%s%d", name, sign, n)
	}
	taken[unique] = true
	return unique
}

// identifier returns a name that HCL accepts: test:unit becomes test-unit.
func identifier(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 60 {
			break
		}
	}
	name := strings.Trim(b.String(), "-_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = strings.TrimRight("task-"+name, "-")
	}
	return name
}

// below returns globs of a folder, relative to the root.
func below(dir string, globs []string) []string {
	if dir == top {
		return globs
	}
	// A folder may be named with signs that mean something in a pattern.
	plain := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`, `!`,
		`\!`).Replace(dir)
	all := make([]string, len(globs))
	for i, g := range globs {
		g, not := strings.CutPrefix(g, "!")
		all[i] = path.Join(plain, g)
		if not {
			all[i] = "!" + all[i]
		}
	}
	return all
}

// some lists words for a sentence, the first of them where there are many.
func some(words []string) string {
	const first = 8
	shown := make([]string, 0, first)
	for _, w := range words[:min(len(words), first)] {
		shown = append(shown, line(w, 40))
	}
	if more := len(words) - first; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	}
	return strings.Join(shown, ", ")
}
