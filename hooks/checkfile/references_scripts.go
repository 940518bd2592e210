package checkfile

// Scripts that a command runs by their name: of package.json, a justfile or a Taskfile.

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

const (
	maxPackages = 300 // package.json files that are read for their names
	maxGoals    = 100 // recipes of one file that lead to each other
)

// A nodePackage holds the scripts of a package.json.
type nodePackage struct {
	dir     string
	Name    string            `json:"name"`
	Scripts map[string]string `json:"scripts"`
}

// packageFlags are the flags of package managers that have a value.
var packageFlags = lazily.Words("-C --dir --cwd --prefix -w --workspace --filter -F")

// packageScript follows `npm run x`, `pnpm --filter y test` and `yarn workspace z x`. The package.json itself is
// restored by its parts.
func (n *finder) packageScript(args []string, w site) {
	var (
		wanted []string // packages by name or folder
		every  bool
	)
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	names := parseFlags(args, packageFlags(), func(flag, value string) { // the first is that of the script
		switch flag {
		case "-w", "--workspace", "--filter", "-F":
			wanted = append(wanted, strings.Trim(value, ".{}^"))
		case "-C", "--dir", "--cwd", "--prefix":
			w.dir = w.cd([]string{value})
		case "-r", "--recursive", "--workspaces", "-ws", "--ws":
			every = true
		}
	})
	if len(names) > 1 && names[0] == "workspace" {
		wanted, names = append(wanted, names[1]), names[2:]
	}
	if len(names) > 0 && names[0] == "workspaces" {
		every = true
		names = slices.DeleteFunc(names[1:], func(s string) bool { return s == "foreach" })
	}
	if len(names) > 1 && (names[0] == "run" || names[0] == "run-script" || names[0] == "rum" || names[0] == "urn") {
		names = names[1:]
	}
	if len(names) == 0 {
		return
	}
	name := names[0]
	if name == "t" || name == "tst" {
		name = "test"
	}
	if w.inner && !checkName(name) {
		return
	}
	for _, p := range n.chosen(wanted, every, w) {
		for _, script := range []string{"pre" + name, name, "post" + name} {
			n.packageText(p, script, w)
		}
	}
}

// chosen returns the packages that a command is about.
func (n *finder) chosen(wanted []string, every bool, w site) []nodePackage {
	if n.node == nil {
		n.node = []nodePackage{}
		for _, p := range n.seen.nodePackages {
			src, ok := n.readOnce(p, "package")
			if !ok {
				continue
			}
			found := nodePackage{dir: path.Dir(p)}
			_ = json.Unmarshal(src, &found) // of a broken one, as much as can be read
			n.node = append(n.node, found)
		}
	}
	var list []nodePackage
	nearest := -1
	for i, p := range n.node {
		switch {
		case every, slices.ContainsFunc(wanted, func(s string) bool {
			return s == p.Name || path.Join(w.dir, s) == p.dir || path.Join(n.seen.sub, s) == p.dir || globbed(s, p)
		}):
			list = append(list, p)
		case p.dir == w.dir || p.dir == "." || strings.HasPrefix(w.dir, p.dir+"/"):
			if nearest < 0 || len(p.dir) > len(n.node[nearest].dir) || n.node[nearest].dir == "." {
				nearest = i
			}
		}
	}
	if len(wanted) == 0 && !every && nearest >= 0 {
		list = append(list, n.node[nearest])
	}
	return list
}

// globbed reports whether pattern is a glob that matches the name of p.
func globbed(pattern string, p nodePackage) bool {
	return strings.Contains(pattern, "*") && lang.Matches(pattern, p.Name)
}

func (n *finder) packageText(p nodePackage, script string, w site) {
	key := "script\x00" + p.dir + "\x00" + script
	if text := p.Scripts[script]; text != "" && !n.done[key] {
		n.done[key] = true
		w.dir, w.from, w.start, w.script, w.inner = p.dir, p.dir, p.dir, "", false
		n.texts = append(n.texts, text)
		n.commands(shelltext.Commands(text), w)
	}
}

var (
	justHeading = lazily.Regexp(`^@?([A-Za-z_][\w-]*)(?:[ \t][^:]*)?:(?:[^=]|$)`)
	justImport  = lazily.Regexp(`(?m)^import\??[ \t]+['"]([^'"\n]+)['"]`)
	justModule  = lazily.Regexp(`(?m)^mod\??[ \t]+(\w+)(?:[ \t]+['"]([^'"\n]+)['"])?`)
)

// just follows `just [-f file] [recipe…]`.
func (n *finder) just(args []string, w site) {
	n.recipesOf(args, "-f --justfile -d --working-directory", "justfile Justfile .justfile JUSTFILE", w, n.justfile)
}

// task follows `task [-t file] [name…]`.
func (n *finder) task(args []string, w site) {
	n.recipesOf(args, "-t --taskfile -d --dir", `Taskfile.yml taskfile.yml Taskfile.yaml taskfile.yaml
		Taskfile.dist.yml taskfile.dist.yml Taskfile.dist.yaml taskfile.dist.yaml`, w, n.taskfile)
}

// recipesOf adds the file that one of flags gives, or that has one of names, and follows the recipes that args name.
// A folder that a flag gives becomes the working directory.
func (n *finder) recipesOf(args []string, flags, names string, w site, follow func(p string, goals []string, w site)) {
	file, valued := "", strings.Fields(flags)
	goals := parseFlags(args, valued, func(flag, value string) {
		if !slices.Contains(valued, flag) {
			return
		}
		p := n.resolve(value, w)
		if n.seen.IsDir(p) {
			w.dir = p
			return
		}
		file = p
		n.add(p)
	})
	goals = slices.DeleteFunc(goals, func(goal string) bool { return strings.Contains(goal, "=") })
	if w.inner && !slices.ContainsFunc(goals, checkName) {
		return
	}
	w.inner = false
	if file == "" {
		file = n.either(w, strings.Fields(names)...)
	}
	follow(file, goals, w)
}

// justfile adds what the justfile at p imports, and follows its recipes.
func (n *finder) justfile(p string, goals []string, w site) {
	src, ok := n.readOnce(p, "just")
	if !ok {
		return
	}
	w.dir, w.from, w.start = path.Dir(p), path.Dir(p), path.Dir(p)
	for _, m := range justImport().FindAllSubmatch(src, -1) {
		file := n.resolve(string(m[1]), w)
		n.add(file)
		n.justfile(file, goals, w)
	}
	for _, m := range justModule().FindAllSubmatch(src, -1) {
		name := string(m[1])
		for _, file := range []string{
			string(m[2]), name + ".just", name + "/mod.just", name + "/justfile",
			name + "/.justfile",
		} {
			if q := n.resolve(file, w); file != "" && n.seen.Has(q) {
				n.add(q)
				n.justfile(q, nil, w)
			}
		}
	}
	all := map[string]*recipe{}
	var now *recipe
	var text strings.Builder // of the recipe
	end := func() {
		if now != nil {
			now.shell = []string{text.String()}
		}
		text.Reset()
	}
	for line := range strings.Lines(string(src)) {
		if m := justHeading().FindStringSubmatch(line); m != nil {
			end()
			now = &recipe{}
			all[m[1]] = now
		} else if now != nil && strings.TrimLeft(line, " \t") != line {
			text.WriteString(strings.TrimLeft(line, " \t@-"))
		}
		if now != nil {
			now.leads = append(now.leads, strings.FieldsFunc(line,
				func(r rune) bool { return strings.ContainsRune(" \t\r\n:,[](){}\"'", r) })...)
		}
	}
	end()
	n.recipes(all, goals, w)
}

// taskfile adds what the Taskfile at p includes, and follows its tasks.
func (n *finder) taskfile(p string, goals []string, w site) {
	src, ok := n.readOnce(p, "task")
	if !ok {
		return
	}
	w.dir, w.from, w.start = path.Dir(p), path.Dir(p), path.Dir(p)
	var file struct{ Includes, Tasks map[string]yaml.Node }
	if yaml.Unmarshal(src, &file) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(file.Includes)) {
		included := file.Includes[name]
		for _, word := range scalars(&included) {
			p := n.resolve(word, w)
			if n.seen.IsDir(p) {
				p = path.Join(p, "Taskfile.yml")
			}
			if n.seen.Has(p) {
				n.add(p)
				n.taskfile(p, nil, w)
			}
		}
	}
	all := map[string]*recipe{}
	for name, task := range file.Tasks {
		words := scalars(&task)
		all[name] = &recipe{leads: words, shell: words}
	}
	n.recipes(all, goals, w)
}

// scalars returns the texts in a YAML node except the keys of maps. It follows no alias.
func scalars(node *yaml.Node) (list []string) {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	for i, part := range node.Content {
		if node.Kind != yaml.MappingNode || i%2 == 1 {
			list = append(list, scalars(part)...)
		}
	}
	return list
}

// A recipe is one of a justfile, or a task of a Taskfile.
type recipe struct {
	leads []string // words that name other recipes, among others
	shell []string
}

// recipes follows the recipes of goals and those that they lead to; without goals, all.
func (n *finder) recipes(all map[string]*recipe, goals []string, w site) {
	if len(goals) == 0 {
		goals = slices.Sorted(maps.Keys(all))
	}
	for i := 0; i < len(goals); i++ {
		r := all[goals[i]]
		if r == nil {
			continue
		}
		for _, text := range r.shell {
			n.texts = append(n.texts, text)
			n.commands(shelltext.Commands(text), w)
		}
		for _, word := range r.leads {
			if all[word] != nil && len(goals) < maxGoals && !slices.Contains(goals, word) {
				goals = append(goals, word)
			}
		}
	}
}
