// Node projects: package.json, its package manager and what installs the dependencies.
package detect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// nodeEnv are the variables that package managers and node read; npm's settings have its prefix in either spelling.
var nodeEnv = []string{"NPM_CONFIG_*", "npm_config_*", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS"}

// A manifest is as much of a package.json as is needed. Every field is read by itself: a wrong one hides no other.
type manifest struct {
	name       string
	manager    string // packageManager: "pnpm@9.1.0"
	scripts    map[string]string
	workspaces []string
	needs      int // dependencies of any kind
}

// manifest reads the package.json of a folder; nil where there is none, or none that can be read.
func (d *detector) manifest(f *folder) *manifest {
	text := d.read(f, "package.json")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
		d.note("%s: left out, because it is no JSON object that can be read", at(f.path, "package.json"))
		return nil
	}
	m := &manifest{scripts: map[string]string{}}
	field(fields, "name", &m.name)
	field(fields, "packageManager", &m.manager)
	if !field(fields, "workspaces", &m.workspaces) {
		var inner struct{ Packages []string }
		field(fields, "workspaces", &inner)
		m.workspaces = inner.Packages
	}
	var scripts map[string]any
	field(fields, "scripts", &scripts)
	for name, v := range scripts {
		if script, ok := v.(string); ok && strings.TrimSpace(script) != "" {
			m.scripts[name] = script
		}
	}
	for _, kind := range []string{"dependencies", "devDependencies"} {
		var packages map[string]any
		field(fields, kind, &packages)
		m.needs += len(packages)
	}
	return m
}

// field reads one field and reports whether it has the type of to.
func field(fields map[string]json.RawMessage, name string, to any) bool {
	return fields[name] != nil && json.Unmarshal(fields[name], to) == nil
}

// A manager is a package manager as one project uses it.
type manager struct {
	name string // npm | pnpm | yarn | bun
	lock string // the lockfile, or ""
	new  bool   // yarn 2 and later

	instead string // the one that the project wants, where npm has to do
}

var lockfiles = []struct{ file, manager string }{
	{"pnpm-lock.yaml", "pnpm"},
	{"yarn.lock", "yarn"},
	{"bun.lock", "bun"},
	{"bun.lockb", "bun"},
	{"npm-shrinkwrap.json", "npm"},
	{"package-lock.json", "npm"},
}

// managerOf returns the manager that packageManager names, or else the one of the lockfile. Where that program is not
// in PATH and npm is, it returns npm, unless workspaces are written where npm does not look for them.
func (d *detector) managerOf(f *folder, m *manifest) manager {
	g := manager{name: "npm"}
	said, version, _ := strings.Cut(m.manager, "@")
	known := said == "npm" || said == "pnpm" || said == "yarn" || said == "bun"
	if known {
		g.name = said
	}
	for _, k := range lockfiles {
		if f.files[k.file] && g.lock == "" && (!known || k.manager == g.name) {
			g.name, g.lock = k.manager, k.file
		}
	}
	switch {
	case g.name == "npm" || d.has(g.name) || !d.has("npm"):
	case f.files["pnpm-workspace.yaml"] && len(m.workspaces) == 0:
		d.note("%s: %s is not in PATH here, and npm does not read pnpm-workspace.yaml: install %s to run these tasks", at(f.path, "package.json"), g.name, g.name)
	default:
		d.note("%s: %s is not in PATH here, so npm runs the scripts and installs what package.json names, whatever %s says", at(f.path, "package.json"), g.name, cmp.Or(g.lock, "a lockfile"))
		return manager{name: "npm", instead: g.name}
	}
	g.new = g.name == "yarn" && (f.files[".yarnrc.yml"] || known && version != "" && !strings.HasPrefix(version, "1."))
	return g
}

func (d *detector) node(f *folder) *project {
	if d.members["node "+f.path] {
		return nil
	}
	m := d.manifest(f)
	if m == nil {
		return nil
	}
	g := d.managerOf(f, m)
	p := &project{
		dir: f.path, kind: "node", env: nodeEnv, found: at(f.path, "package.json") + ": Node project, " + g.name,
		sources: []string{"**", "!**/node_modules/**"},
	}
	if m.name != "" {
		p.found = fmt.Sprintf("%s: Node project %s, %s", at(f.path, "package.json"), line(m.name, 100), g.name)
	}
	members := d.nodeMembers(f, m, g)
	if len(members) > 0 {
		p.found += fmt.Sprintf(", workspaces: %d", len(members))
	}
	install := d.install(p, m, g, len(members) > 0)
	left := d.scripts(p, m, g, members)
	if len(p.tasks) == 0 {
		d.aside(f, "%s: left out, because it has no script that checks, tests or builds", at(f.path, "package.json"))
		return nil
	}
	if len(left) > 0 {
		d.note("%s: scripts that are no tasks: %s (they go on for ever, change something, call others, or their names do not say that they check)", at(p.dir, "package.json"), some(left))
	}
	if install != nil {
		for _, t := range p.tasks {
			t.after = append([]*task{install}, t.after...)
		}
		p.tasks = append([]*task{install}, p.tasks...)
	}
	return p
}

// newer skips an install after which package.json has not changed.
const newer = "[ node_modules/.package-lock.json -nt package.json ] || "

// install returns the task that installs the dependencies, or nil where there are none.
func (d *detector) install(p *project, m *manifest, g manager, workspaces bool) *task {
	if m.needs == 0 && !workspaces {
		return nil
	}
	t := &task{name: "install", about: "Install the dependencies with " + g.name, timeout: "15m", needs: []string{g.name}}
	switch {
	case g.name == "npm" && g.lock != "":
		// npm ci begins by deleting node_modules: it is done when the lockfile is newer than what was installed
		// from it.
		p.about = append(p.about, "npm ci throws node_modules away and installs anew: only where "+g.lock+" is newer.")
		t.shell = "[ node_modules/.package-lock.json -nt " + g.lock + " ] || npm ci"
	case g.instead != "":
		p.about = append(p.about, "npm installs what package.json names only until "+g.instead+
			" is here: it writes no lockfile.")
		t.shell = newer + "npm install --no-package-lock --no-audit --no-fund"
	case g.name == "npm":
		p.about = append(p.about, "Without a lockfile an install may bring other versions: commit the package-lock.json that this one writes, and call npm ci here.")
		t.shell = newer + "npm install --no-audit --no-fund"
	case g.lock == "":
		t.argv = []string{g.name, "install"}
	case g.new:
		t.argv = []string{"yarn", "install", "--immutable"}
	default:
		t.argv = []string{g.name, "install", "--frozen-lockfile"}
	}
	if g.lock != "" && !g.new { // where yarn 2 puts things is a matter of its settings
		t.inputs = []string{"package.json", g.lock}
		t.outputs = []string{"node_modules/**"}
		if workspaces {
			t.inputs = []string{"**/package.json", "!**/node_modules/**", g.lock}
			t.outputs = []string{"**/node_modules/**"}
		}
	}
	return d.add(&project{}, t) // in front of the others, when there are any
}
