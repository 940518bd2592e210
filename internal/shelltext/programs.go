package shelltext

// Which programs a command runs, also by way of others.

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxNested = 5  // texts in texts; calls of functions in functions
	maxLed    = 16 // wrappers of one command
	maxPaths  = 8  // folders that a text adds to PATH
)

// A Program is what a command runs: its name as it is looked up, or a path, which has a slash. It is relative to the folder
// in which the command begins.
type Program struct {
	Name   string
	Script bool // a file that an interpreter, or the shell itself, reads
}

// Programs returns what a shell text runs, in its order, without duplicates. args are its "$@". Names that
// depend on the environment are left out.
func Programs(src string, args ...string) []Program {
	var f finder
	f.text(src, args, []string{"."}, 0)
	return f.out
}

// ProgramsOf returns what a command of these words runs, as Programs does.
func ProgramsOf(words []string) []Program {
	var f finder
	f.command(Command{Words: words, At: []string{"."}}, 0)
	return f.out
}

// A finder collects programs.
type finder struct {
	out   []Program
	has   map[Program]bool
	paths []string // that PATH was given, as names
	read  int      // commands of all texts
	bytes int      // of all texts
}

// calls are the functions of a text.
type calls struct {
	functions map[string]*syntax.Stmt
	depth     int
}

// text reads a shell text that begins in one of the folders at.
func (f *finder) text(src string, args, at []string, depth int) {
	if f.bytes += len(src); depth >= maxNested || f.read >= maxCommands || f.bytes > 2*maxText {
		return
	}
	r := &reader{vars: map[string]string{}, folders: folders{at: at}, runs: &calls{functions: map[string]*syntax.Stmt{}}, given: args}
	r.readAll(src)
	f.read += len(r.out)
	for _, c := range r.out {
		f.command(c, depth)
	}
}

// command adds what a command runs: its first word, and what that leads to.
func (f *finder) command(c Command, depth int) {
	f.addPath(c.Sets["PATH"], c.At)
	words, at := c.Words, c.At
	for range maxLed {
		if len(words) == 0 {
			return
		}
		f.program(words[0], at)
		base, args := path.Base(words[0]), words[1:]
		switch base {
		case "export", "declare", "typeset", "local", "readonly", "env":
			for _, w := range args {
				if value, ok := strings.CutPrefix(w, "PATH="); ok {
					f.addPath(value, at)
				}
			}
		case ".", "source":
			if len(args) > 0 {
				f.script(args[0], at)
			}
			return
		case "eval":
			f.text(strings.Join(args, " "), nil, at, depth+1)
			return
		case "trap":
			if len(args) > 1 && !strings.HasPrefix(args[0], "-") {
				f.text(args[0], nil, at, depth+1)
			}
			return
		case "find":
			f.found(args, at, depth)
			return
		case "sg", "watch", "hyperfine":
			for _, text := range shellTexts(words) {
				f.text(text, nil, at, depth+1)
			}
			return
		case "su", "runuser", "script", "flock":
			if text, ok := commandText(words); ok {
				f.text(text, nil, at, depth+1)
				return
			}
		}
		if slices.Contains(shells, base) {
			f.shell(c, args, at, depth)
			return
		}
		if name := scriptOf(base, args); name != "" {
			f.script(name, at)
			return
		}
		if _, ok := interpreterOf(base); ok && len(args) == 0 && len(c.In) > 0 {
			f.script(c.In[len(c.In)-1], c.At)
			return
		}
		for _, name := range programFiles(base, args) {
			f.script(name, at)
		}
		inner, dir, ok := unwrap(words)
		if !ok {
			return
		}
		if words = inner; dir != "" {
			at = below(at, dir)
		}
	}
}

// program adds the program that a word names.
func (f *finder) program(name string, at []string) {
	if !strings.Contains(name, "/") {
		f.add(Program{Name: name})
		for _, dir := range f.paths {
			f.add(Program{Name: dir + "/" + name})
		}
		return
	}
	for _, name := range named(name, at) {
		f.add(Program{Name: name})
	}
}

func (f *finder) script(name string, at []string) {
	if !strings.Contains(name, "/") {
		name = "./" + name
	}
	for _, name := range named(name, at) {
		f.add(Program{Name: name, Script: true})
	}
}

// named returns the paths of a name with a slash in the folders at. They are not cleaned: a may be a link in a/.. .
func named(name string, at []string) (all []string) {
	if rest, ok := strings.CutPrefix(name, start); ok {
		return []string{"." + rest}
	}
	if path.IsAbs(name) {
		return []string{name}
	}
	for _, dir := range at {
		if dir != "." {
			dir += "/" + strings.TrimPrefix(name, "./")
		} else {
			dir = name
		}
		all = append(all, dir)
	}
	return all
}

func (f *finder) add(p Program) {
	if p.Name == "" || f.has[p] || len(f.out) >= maxCommands || strings.ContainsAny(p.Name, string(Unknown)+start) {
		return
	}
	if f.has == nil {
		f.has = map[Program]bool{}
	}
	f.has[p] = true
	f.out = append(f.out, p)
}

// addPath notes the folders of a new PATH: what is looked up after that may be in them.
func (f *finder) addPath(value string, at []string) {
	for dir := range strings.SplitSeq(value, ":") {
		if dir == "" || strings.ContainsRune(dir, Unknown) || strings.HasPrefix(dir, "~") {
			continue
		}
		if !strings.Contains(dir, "/") && !strings.HasPrefix(dir, start) {
			dir = "./" + dir
		}
		for _, p := range named(dir, at) {
			if len(f.paths) < maxPaths && !slices.Contains(f.paths, p) {
				f.paths = append(f.paths, p)
			}
		}
	}
}

// found adds what find runs.
func (f *finder) found(args, at []string, depth int) {
	for len(args) > 0 && depth < maxNested {
		flag, in := args[0], at
		args = args[1:]
		switch flag {
		case "-execdir", "-okdir":
			in = nil
		case "-exec", "-ok":
		default:
			continue
		}
		words := args
		if end := slices.IndexFunc(words, func(w string) bool { return w == ";" || w == "+" }); end >= 0 {
			words = words[:end]
		}
		args = args[len(words):]
		f.command(Command{Words: words, At: in}, depth+1)
	}
}

// shells read text as this package does, or nearly so.
var shells = []string{"sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "fish"}

// shell adds what a shell runs: a text, a script, or what its here-document says.
func (f *finder) shell(c Command, args, at []string, depth int) {
	text, input := false, false
	for len(args) > 0 {
		a := args[0]
		if len(a) < 2 || a[0] != '-' && a[0] != '+' {
			if a == "-" {
				args = args[1:]
			}
			break
		}
		args = args[1:]
		if a == "--" {
			break
		}
		long := strings.HasPrefix(a, "--")
		if a == "--rcfile" || a == "--init-file" || !long && strings.ContainsAny(a, "oO") {
			args = args[min(1, len(args)):]
		}
		text = text || !long && a[0] == '-' && strings.Contains(a, "c")
		input = input || !long && a[0] == '-' && strings.Contains(a, "s")
	}
	switch {
	case text && len(args) > 0:
		given := args[1:]
		if len(given) > 0 { // the first one is $0
			given = given[1:]
		}
		f.text(args[0], given, at, depth+1)
	case text:
	case len(args) > 0 && !input:
		f.script(args[0], at)
	case len(c.In) > 0:
		f.script(c.In[len(c.In)-1], c.At)
	case c.Here != "":
		f.text(c.Here, args, at, depth+1)
	}
}

// commandText returns the text that a program gives to a shell, as in su -c TEXT. Of flock LOCK COMMAND and of runuser -u
// USER COMMAND the flags of the command are not theirs, and so is a -c among them.
func commandText(words []string) (text string, ok bool) {
	base, args := path.Base(words[0]), words[1:]
	if base != words[0] && !path.IsAbs(words[0]) {
		return "", false // a program of the project that is called the same
	}
	switch inner, _, wraps := unwrap(words); {
	case base == "flock":
		if args = afterLock(args); len(args) == 0 || !strings.HasPrefix(args[0], "-") {
			return "", false
		}
	case wraps:
		args = args[:len(args)-len(inner)]
	}
	for i, a := range args {
		if text, ok := strings.CutPrefix(a, "--command="); ok {
			return text, true
		}
		short := len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "c")
		if a == "--" {
			return "", false
		}
		if (short || a == "--command") && i+1 < len(args) {
			return args[i+1], true
		}
	}
	return "", false
}

// shellTexts returns the texts that sg, watch and hyperfine give to a shell.
func shellTexts(words []string) []string {
	if path.Base(words[0]) == "hyperfine" { // other values of its flags name no program
		var texts []string
		for _, a := range words[1:] {
			if strings.HasPrefix(a, "--") {
				_, a, _ = strings.Cut(a, "=")
			}
			texts = append(texts, a)
		}
		return texts
	}
	inner, _, _ := unwrap(words)
	return []string{strings.Join(inner, " ")}
}

// afterLock returns what comes after the lock file of flock.
func afterLock(args []string) []string {
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		switch {
		case !strings.HasPrefix(a, "-"):
			return args
		case slices.Contains(strings.Fields(wrappers["flock"].valued), a) && len(args) > 0:
			args = args[1:]
		}
	}
	return nil
}

// An interpreter is a program that runs the file which its arguments name.
type interpreter struct {
	valued string // flags whose value is the next word
	ends   string // flags after which no file is named: a text or a module is. Short ones also behind others: -we is -w -e
}

var interpreters = map[string]interpreter{
	"python":  {"-W -X --check-hash-based-pycs", "-c -m"},
	"pypy":    {"-W -X", "-c -m"},
	"node":    {"-r --require --import --loader --experimental-loader -C --conditions --env-file", "-e --eval -p --print"},
	"ruby":    {"-I -r -C -E", "-e"},
	"perl":    {"-I -M -m", "-e -E"},
	"php":     {"-d -c", "-r"},
	"lua":     {"-l", "-e"},
	"Rscript": {"", "-e"},
	"tclsh":   {"", ""},
	"expect":  {"", "-c"},
}

// interpreterOf returns an interpreter by its name, which may end in a version.
func interpreterOf(base string) (known interpreter, ok bool) {
	if known, ok = interpreters[base]; !ok {
		known, ok = interpreters[strings.TrimRight(base, "0123456789.")]
	}
	return known, ok
}

// programFiles returns the files with programs that awk and sed are given: -f FILE.
func programFiles(base string, args []string) (names []string) {
	if !slices.Contains([]string{"awk", "gawk", "mawk", "nawk", "sed", "gsed"}, base) {
		return nil
	}
	for i, a := range args {
		name, long := strings.CutPrefix(a, "--file=")
		switch {
		case a == "--":
			return names
		case long:
			names = append(names, name)
		case (a == "-f" || a == "--file" || a == "-nf" || a == "-Ef" || a == "-rf") && i+1 < len(args):
			names = append(names, args[i+1])
		case strings.HasPrefix(a, "-f") && a != "-f":
			names = append(names, a[2:])
		}
	}
	return names
}

// scriptOf returns the file that an interpreter runs, or "".
func scriptOf(base string, args []string) string {
	known, ok := interpreterOf(base)
	if !ok {
		return ""
	}
	for len(args) > 0 {
		a := args[0]
		switch {
		case !strings.HasPrefix(a, "-"):
			return a
		case a == "--" && len(args) > 1:
			return args[1]
		case known.endsAt(a):
			return ""
		case slices.Contains(strings.Fields(known.valued), a) && len(args) > 1:
			args = args[1:]
		}
		args = args[1:]
	}
	return ""
}

// endsAt reports whether no file is named after a flag.
func (i interpreter) endsAt(flag string) bool {
	ends := strings.Fields(i.ends)
	if slices.Contains(ends, flag) {
		return true
	}
	const most = 5 // letters of short flags in one word
	if len(flag) < 3 || len(flag) > 1+most || flag[1] == '-' || slices.Contains(strings.Fields(i.valued), flag[:2]) {
		return false // the rest is its value: -Ilib
	}
	return slices.Contains(ends, "-"+flag[len(flag)-1:])
}

// words returns what a word of a command comes to: "$@" may be several.
func (r *reader) words(w *syntax.Word) []string {
	if r.given == nil || len(w.Parts) != 1 {
		return []string{r.word(w)}
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Exp != nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Param.Value != "@" && p.Param.Value != "*" {
		return []string{r.word(w)}
	}
	return r.given
}

// call reads the function that a simple command calls, once more, and notes what set gives to "$@". after is where the
// shell is after the command.
func (r *reader) call(words []string, after ends) ends {
	if len(words) == 0 {
		return after
	}
	if words[0] == "set" {
		if i := slices.Index(words, "--"); i > 0 {
			r.given = words[i+1:]
		}
		return after
	}
	body, ok := r.runs.functions[words[0]]
	if !ok || r.runs.depth >= maxNested {
		return after
	}
	defer func(given, at []string) {
		r.given, r.at = given, at
		r.runs.depth--
	}(r.given, r.at)
	r.runs.depth++
	r.given = words[1:]
	return r.stmt(body)
}
