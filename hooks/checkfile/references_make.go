package checkfile

// Makefiles that a command uses: their includes, and what the recipes of its goals refer to.

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

// makeFlags are the flags of make that have a value.
var makeFlags = lazily.Words("-C --directory -f --file --makefile -I -o -W --include-dir --eval")

// makeNames are the names of Makefiles in the order in which make prefers them.
var makeNames = []string{"GNUmakefile", "makefile", "Makefile"}

// A MakeDatabase is what make said of its rules and variables, where it was asked with the base as it is.
type MakeDatabase struct {
	Dir  string   // that it ran in, relative to git's top
	Args []string // of the check's command
	Text string   // what it printed with the flags of Ask
}

const maxAsked = 4 // commands of a check about which make is asked

// AskMake returns the commands of make in a check, as they are asked for what they would build: `make -pnk …`. They
// change nothing but what recipes with + and $(shell) do. Dir and Args of each are filled in.
func AskMake(runs []Command) (asked []MakeDatabase) {
	for _, run := range runs {
		list := []shelltext.Command{{Words: run.Argv}}
		if run.Argv == nil {
			list = shelltext.Commands(run.Shell)
		}
		for _, c := range list {
			words := shelltext.Unwrap(c.Words)
			if len(words) > 0 && (words[0] == "cd" || words[0] == "pushd") {
				break
			}
			if len(words) == 0 || words[0] != "make" && words[0] != "gmake" || len(asked) >= maxAsked ||
				strings.ContainsRune(strings.Join(words, ""), shelltext.Unknown) {
				continue
			}
			asked = append(asked, MakeDatabase{Dir: path.Clean(run.Dir), Args: words[1:]})
		}
	}
	return asked
}

// Ask returns the words of the command that asks make.
func (d *MakeDatabase) Ask() []string {
	return append([]string{"make", "--print-data-base", "--just-print", "--keep-going"}, d.Args...)
}

// database returns what make said of a command, nil where it was not asked.
func (n *finder) database(args []string, dir string) *makefile {
	i := slices.IndexFunc(n.said, func(d MakeDatabase) bool { return d.Dir == dir && slices.Equal(d.Args, args) })
	if i < 0 {
		return nil
	}
	at := strings.LastIndex(n.said[i].Text, "# Make data base, printed on")
	if at < 0 {
		return nil
	}
	m := &makefile{vars: map[string]string{}}
	for _, s := range parseMakefile(n.said[i].Text[at:]) {
		switch s.kind {
		case makeVariable:
			m.set(s)
		case makeRule:
			m.rules = append(m.rules, s)
		}
	}
	return m
}

// make follows `make [-C dir] [-f file] [goal…]`: it adds the Makefile, what that includes, and the names that make
// would prefer.
func (n *finder) make(args []string, w site) {
	said := n.database(args, w.dir)
	var list, files []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "-C") || strings.HasPrefix(arg, "-f") { // -Cdir is -C dir
			list = append(list, arg[:2])
			arg = strings.TrimPrefix(arg[2:], "=")
		}
		if arg != "" {
			list = append(list, arg)
		}
	}
	goals := parseFlags(list, makeFlags(), func(flag, value string) {
		switch flag {
		case "-C", "--directory":
			w.dir = w.cd([]string{value})
		case "-f", "--file", "--makefile":
			files = append(files, value)
		}
	})
	goals = slices.DeleteFunc(goals, func(goal string) bool {
		return strings.Contains(goal, "=") || strings.Trim(goal, "0123456789") == "" // CC=gcc, -j 4
	})
	w.inner = w.inner && !slices.ContainsFunc(goals, checkName) // a script builds what it checks
	w.start = w.dir
	m := &makefile{vars: map[string]string{
		"MAKE": "make", "CURDIR": ".", "SHELL": "sh", "CC": "cc", "CXX": "c++", "AR": "ar", "RM": "rm -f",
	}}
	if len(files) > 0 {
		for _, file := range files {
			n.readMakefile(m, n.resolve(file, w), w)
		}
	} else {
		for _, name := range makeNames {
			n.makefile(path.Join(w.dir, name), w)
		}
		for _, name := range makeNames {
			if p := path.Join(w.dir, name); n.seen.Has(p) {
				n.readMakefile(m, p, w)
				break
			}
		}
	}
	if len(goals) == 0 {
		goals = m.defaultGoal()
	}
	if w.inner {
		n.isMade(m, n.walkBuild(m, goals, w, func(string) bool { return false }))
		return
	}
	for _, goal := range goals {
		n.goal(m, goal, w, 0)
	}
	n.makes(m, w)
	n.builtFor(cmp.Or(said, m), goals, w)
	n.automake(w)
	if len(m.read) == 0 {
		n.cmakeTests(w) // it wrote the Makefile
	}
}

// makefile adds a file of make, unless that only builds what a script checks.
func (n *finder) makefile(p string, w site) {
	if !w.inner {
		n.add(p)
	}
}

// readMakefile adds the text of p, and of what it includes, to m.
func (n *finder) readMakefile(m *makefile, p string, w site) {
	if p == "" {
		return
	}
	if n.makefile(p, w); !w.inner {
		n.makefiles[p] = true
	}
	if len(m.read) > maxDepth*4 || slices.Contains(m.read, p) || n.read == nil || !n.seen.Has(p) ||
		n.reads >= maxReads {
		return
	}
	m.read = append(m.read, p)
	n.reads++
	src, err := n.read(p)
	if err != nil || len(src) > maxReadSize {
		return
	}
	for _, s := range parseMakefile(string(src)) {
		for _, word := range strings.Fields(s.text) { // a response file: cc @flags
			if file, ok := strings.CutPrefix(word, "@"); ok && n.seen.Has(n.resolve(file, w)) {
				n.makefile(n.resolve(file, w), w)
			}
		}
		switch s.kind {
		case makeVariable:
			m.set(s)
		case makeRule:
			m.rules = append(m.rules, s)
		case makeInclude:
			for _, word := range strings.Fields(m.expand(s.value)) {
				if strings.HasSuffix(word, ".d") { // dependencies that a compiler writes, where git does not see them
					n.makefile(n.resolve(word, w), w)
					continue
				}
				if strings.ContainsRune(word, shelltext.Unknown) && m.listsDependencies(s.value) {
					n.makefile(path.Join(literal(w.dir), "**", "*.d"), w)
				}
				in := w
				in.from = path.Dir(p)
				file := n.resolve(strings.TrimSuffix(word, string(shelltext.Unknown)), in)
				if strings.ContainsAny(file, "*?[") {
					n.makefile(file, w)
					for _, q := range n.seen.In(path.Dir(file)) {
						if lang.Matches(file, q) {
							n.readMakefile(m, q, w)
						}
					}
				} else {
					n.readMakefile(m, file, w)
				}
			}
		}
	}
}

// listsDependencies reports whether what is included may be files that a compiler writes: $(OBJS:.o=.d), $(DEPS).
func (m *makefile) listsDependencies(included string) bool {
	return strings.Contains(included, ".d") || slices.ContainsFunc(variablesIn(included), func(name string) bool {
		return strings.Contains(m.vars[name], ".d")
	})
}

// goal follows the recipes that lead to a goal, except those that build a file of the program.
func (n *finder) goal(m *makefile, goal string, w site, depth int) {
	key := "goal\x00" + w.dir + "\x00" + strings.Join(m.read, "\x00") + "\x00" + goal
	if depth > maxDepth || n.done[key] || len(n.done) > maxFollowed {
		return
	}
	n.done[key] = true
	phony := false // it is something to do, not a file
	for _, i := range m.rulesOf(goal) {
		r := &m.rules[i]
		for _, pre := range strings.Fields(m.expand(strings.Join(r.prereqs, " "))) {
			n.goal(m, pre, w, depth+1)
		}
		if r.makesFile() && !checkName(goal) {
			continue
		}
		phony = true
		for _, line := range r.recipe {
			n.commands(shelltext.Commands(m.recipe(line)), w)
		}
	}
	if !phony || strings.ContainsAny(goal, string(shelltext.Unknown)+"%") {
		return
	}
	for _, p := range n.absent(m, goal, w) {
		n.files[p], n.files[p+"/"] = true, true
	}
}

// absent returns where a new file or folder would tell make that a target is made already.
func (n *finder) absent(m *makefile, target string, w site) (paths []string) {
	elsewhere := strings.FieldsFunc(m.expand(m.vars["VPATH"]), func(c rune) bool { return c == ' ' || c == '\t' || c == ':' })
	for _, dir := range append([]string{"."}, elsewhere...) {
		if p := path.Join(w.dir, dir, target); !n.seen.Has(p) && !n.seen.IsDir(p) && !strings.HasPrefix(p, "../") {
			paths = append(paths, p)
		}
	}
	return paths
}

// isMade adds the files that recipes make and the tree lacks. Where a patch has one, its recipe would not run.
func (n *finder) isMade(m *makefile, b *buildWalk) {
	for target := range b.made {
		if !path.IsAbs(target) {
			for _, p := range n.absent(m, target, b.w) {
				n.made[p] = n.made[p] || !n.files[p]
				n.files[p] = true
			}
		}
	}
}

// makes follows the recipes of files that the check compares with: a script that makes one decides.
func (n *finder) makes(m *makefile, w site) {
	for _, p := range slices.Sorted(maps.Keys(n.wanted)) {
		for _, i := range m.rulesOf(strings.TrimPrefix(lang.Rel(w.dir, p), "./")) {
			r := &m.rules[i]
			for _, line := range r.recipe {
				n.commands(shelltext.Commands(m.recipe(line)), w)
			}
		}
	}
}

// A makefile is the text of a Makefile and of what it includes.
type makefile struct {
	vars     map[string]string
	rules    []makeSegment
	read     []string
	steps    int // references that were expanded
	targets  map[string][]int
	patterns []patternRule // nil until they are asked
}

const (
	maxSteps    = 100_000
	maxAppended = 16 << 10 // bytes of a value that more is appended to; nothing reads as much of it
)

// set takes over the value of an assignment.
func (m *makefile) set(s makeSegment) {
	switch {
	case s.name == "":
	case s.op == "+=" && len(m.vars[s.name]) > maxAppended:
	case s.op == "+=" && m.vars[s.name] != "":
		m.vars[s.name] += " " + s.value
	default:
		m.vars[s.name] = s.value
	}
}

// rulesOf returns the indexes of the rules of a target.
func (m *makefile) rulesOf(target string) []int {
	if m.targets == nil {
		m.targets = map[string][]int{}
		for i, r := range m.rules {
			for _, t := range strings.Fields(m.expand(strings.Join(r.targets, " "))) {
				m.targets[t] = append(m.targets[t], i)
			}
		}
	}
	return m.targets[target]
}

// defaultGoal returns the goal that make takes by itself, if there is one.
func (m *makefile) defaultGoal() []string {
	if goal := m.vars[".DEFAULT_GOAL"]; goal != "" {
		return []string{goal}
	}
	for _, r := range m.rules {
		for _, target := range strings.Fields(m.expand(strings.Join(r.targets, " "))) {
			if !strings.HasPrefix(target, ".") && !strings.Contains(target, "%") {
				return []string{target}
			}
		}
	}
	return nil
}

// expand replaces the variables in text by their values, or by shelltext.Unknown.
func (m *makefile) expand(text string) string { return m.expandAt(text, 0) }

func (m *makefile) expandAt(text string, depth int) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text) && b.Len() < maxWord; i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		m.steps++
		name := text[i+1 : i+2]
		if name == "(" || name == "{" {
			end := min(i+reference(text[i:]), len(text))
			name = text[i+2 : max(end, i+2)]
			i = end
		} else {
			i++
		}
		value, ok := m.vars[name]
		pattern, wild := strings.CutPrefix(name, "wildcard ")
		more := depth < maxDepth && m.steps < maxSteps
		switch {
		case name == "$":
			b.WriteByte('$')
		case wild && more:
			b.WriteString(m.expandAt(pattern, depth+1))
		case ok && more:
			b.WriteString(m.expandAt(value, depth+1))
		default:
			b.WriteRune(shelltext.Unknown)
		}
	}
	return b.String()
}

// recipe returns a line of a recipe as the shell sees it.
func (m *makefile) recipe(line string) string {
	return m.expand(strings.TrimLeft(line, " \t@-+"))
}
