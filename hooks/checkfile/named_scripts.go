package checkfile

// Scripts by name, that a run names: of package.json, of a justfile, of a Taskfile.

import (
	"encoding/json"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

const (
	maxPackages = 300 // package.json files that are read for their names
	maxGoals    = 100 // recipes of one file that lead to each other
)

// A nodePackage is what a package.json says about its scripts.
type nodePackage struct {
	dir     string
	Name    string            `json:"name"`
	Scripts map[string]string `json:"scripts"`
}

// packageScript is npm run x, pnpm --filter y test, yarn workspace z x. The package.json itself is put back by its parts.
func (n *namer) packageScript(args []string, w where) {
	var (
		wanted []string // packages by name or folder
		every  bool
		names  []string // of the script; all that is no flag
	)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		arg := args[i]
		flag, value, joined := strings.Cut(arg, "=")
		switch flag {
		case "-C", "--dir", "--cwd", "--prefix", "-w", "--workspace", "--filter", "-F":
			if !joined && i+1 < len(args) {
				i++
				value = args[i]
			}
			switch {
			case (flag == "-w" || flag == "--workspace" || flag == "--filter" || flag == "-F") && value != "":
				wanted = append(wanted, strings.Trim(value, ".{}^"))
			case value != "":
				w.dir = w.into([]string{value})
			}
		case "-r", "--recursive", "--workspaces", "-ws", "--ws":
			every = true
		default:
			if !strings.HasPrefix(arg, "-") {
				names = append(names, arg)
			}
		}
	}
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

// chosen are the packages that a command is about.
func (n *namer) chosen(wanted []string, every bool, w where) []nodePackage {
	if !n.listed {
		n.listed = true
		for _, p := range n.seen.nodePackages {
			src, ok := n.open(p, "package")
			if !ok {
				continue
			}
			found := nodePackage{dir: path.Dir(p)}
			_ = json.Unmarshal(src, &found) // a broken one tells what it can
			n.packages = append(n.packages, found)
		}
	}
	var list []nodePackage
	nearest := -1
	for i, p := range n.packages {
		switch {
		case every, slices.ContainsFunc(wanted, func(s string) bool {
			return s == p.Name || path.Join(w.dir, s) == p.dir || path.Join(n.sub, s) == p.dir || globbed(s, p)
		}):
			list = append(list, p)
		case p.dir == w.dir || p.dir == "." || strings.HasPrefix(w.dir, p.dir+"/"):
			if nearest < 0 || len(p.dir) > len(n.packages[nearest].dir) || n.packages[nearest].dir == "." {
				nearest = i
			}
		}
	}
	if len(wanted) == 0 && !every && nearest >= 0 {
		list = append(list, n.packages[nearest])
	}
	return list
}

func globbed(pattern string, p nodePackage) bool {
	return strings.Contains(pattern, "*") && lang.Matches(pattern, p.Name)
}

func (n *namer) packageText(p nodePackage, script string, w where) {
	key := "script\x00" + p.dir + "\x00" + script
	if text := p.Scripts[script]; text != "" && !n.done[key] {
		n.done[key] = true
		w.dir, w.from, w.start, w.script, w.inner = p.dir, p.dir, p.dir, "", false
		n.commands(shelltext.Commands(text), w)
	}
}

var (
	justRecipe = late.Regexp(`^@?([A-Za-z_][\w-]*)(?:[ \t][^:]*)?:(?:[^=]|$)`)
	justImport = late.Regexp(`(?m)^import\??[ \t]+['"]([^'"\n]+)['"]`)
	justModule = late.Regexp(`(?m)^mod\??[ \t]+(\w+)(?:[ \t]+['"]([^'"\n]+)['"])?`)
	taskName   = late.Regexp(`^([A-Za-z_][\w:-]*):[ \t\r]*$`)
	taskFile   = late.Regexp(`(?m)(?:taskfile:|^[ \t]+[\w-]+:)[ \t]*['"]?([\w./-]+\.ya?ml|\.{0,2}/[\w./-]+)['"]?[ \t\r]*$`)
)

// just names the justfile of `just [-f file] [recipe…]`, and what it imports.
func (n *namer) just(args []string, w where) {
	p, goals := n.given(args, []string{"-f", "--justfile", "-d", "--working-directory"}, &w)
	if w.inner && !slices.ContainsFunc(goals, checkName) {
		return
	}
	w.inner = false
	if p == "" {
		p = n.either(w, "justfile", "Justfile", ".justfile", "JUSTFILE")
	}
	n.justfile(p, goals, w)
}

func (n *namer) justfile(p string, goals []string, w where) {
	src, ok := n.open(p, "just")
	if !ok {
		return
	}
	w.dir, w.from, w.start = path.Dir(p), path.Dir(p), path.Dir(p)
	for _, m := range justImport().FindAllSubmatch(src, -1) {
		file := n.paths(string(m[1]), w)
		n.add(file)
		n.justfile(file, goals, w)
	}
	for _, m := range justModule().FindAllSubmatch(src, -1) {
		name := string(m[1])
		for _, file := range []string{string(m[2]), name + ".just", name + "/mod.just", name + "/justfile", name + "/.justfile"} {
			if q := n.paths(file, w); file != "" && n.seen.Has(q) {
				n.add(q)
				n.justfile(q, nil, w)
			}
		}
	}
	n.recipes(string(src), goals, justRecipe(), w)
}

// task names the Taskfile of `task [-t file] [name…]`, and what it includes.
func (n *namer) task(args []string, w where) {
	p, goals := n.given(args, []string{"-t", "--taskfile", "-d", "--dir"}, &w)
	if w.inner && !slices.ContainsFunc(goals, checkName) {
		return
	}
	w.inner = false
	if p == "" {
		p = n.either(w, "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml")
	}
	n.taskfile(p, goals, w)
}

func (n *namer) taskfile(p string, goals []string, w where) {
	src, ok := n.open(p, "task")
	if !ok {
		return
	}
	w.dir, w.from, w.start = path.Dir(p), path.Dir(p), path.Dir(p)
	for _, m := range taskFile().FindAllSubmatch(src, -1) {
		file := n.paths(string(m[1]), w)
		if n.isFolder(file) {
			file = path.Join(file, "Taskfile.yml")
		}
		if n.seen.Has(file) {
			n.add(file)
			n.taskfile(file, nil, w)
		}
	}
	n.recipes(tasksOf(string(src)), goals, taskName(), w)
}

// tasksOf is what stands below "tasks:", less far in.
func tasksOf(src string) string {
	_, below, _ := strings.Cut("\n"+src, "\ntasks:")
	if _, below, _ = strings.Cut(below, "\n"); below == "" {
		return ""
	}
	indent := ""
	for line := range strings.Lines(below) {
		if indent = line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.TrimSpace(line) != "" {
			break
		}
	}
	return strings.ReplaceAll("\n"+below, "\n"+indent, "\n")
}

// recipes follows the lines below the headings of goals, and of those that they name; of all, without goals.
func (n *namer) recipes(src string, goals []string, heading *regexp.Regexp, w where) {
	lines := strings.Split(src, "\n")
	names := map[string]bool{}
	for _, line := range lines {
		if m := heading.FindStringSubmatch(line); m != nil {
			names[m[1]] = true
		}
	}
	every := len(goals) == 0
	for again := !every; again; {
		again = false
		in := false
		for _, line := range lines {
			if m := heading.FindStringSubmatch(line); m != nil {
				in = slices.Contains(goals, m[1])
			}
			if !in {
				continue
			}
			for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r:,[](){}\"'", r) }) {
				if names[word] && len(goals) < maxGoals && !slices.Contains(goals, word) {
					goals, again = append(goals, word), true
				}
			}
		}
	}
	in := every
	for _, line := range lines {
		if m := heading.FindStringSubmatch(line); m != nil {
			in = every || slices.Contains(goals, m[1])
			continue
		}
		text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "@-")), "cmd:"))
		if in && text != "" && (line[0] == ' ' || line[0] == '\t') {
			n.commands(shelltext.Commands(strings.Trim(text, `"'`)), w)
		}
	}
}

// given is the file that a flag names, and the operands. A folder that a flag names is where the command runs.
func (n *namer) given(args, flags []string, w *where) (file string, operands []string) {
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(flags, flag):
			if !joined && i+1 < len(args) {
				i++
				value = args[i]
			}
			p := n.paths(value, *w)
			if n.isFolder(p) {
				w.dir = p
				continue
			}
			file = p
			n.add(p)
		case !strings.HasPrefix(args[i], "-") && !joined:
			operands = append(operands, args[i])
		}
	}
	return file, operands
}
