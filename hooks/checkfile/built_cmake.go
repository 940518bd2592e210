package checkfile

// Test programs of CMake and Meson: executables that are tests, and their sources that no other target has.

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

const (
	maxCMakeSteps = 20_000 // commands that are followed, also those of loops and functions
	maxCMakeDepth = 12     // folders and functions that lead to each other

	maxCMakeRoom  = 2 << 20   // bytes of arguments that are read
	maxCMakeValue = 256 << 10 // bytes of a variable
)

// A cmakeRoom is how many bytes of arguments are still read, with what variables make of them. A list that is appended to
// itself doubles with every line.
type cmakeRoom int

// words returns arguments without their quotes and with their variables filled in, nil where the room is not enough. A
// list is several words.
func (r *cmakeRoom) words(args []string, vars map[string]string) (words []string) {
	for _, arg := range args {
		arg = strings.Trim(arg, `"`)
		for range maxCMakeDepth {
			before, rest, ok := strings.Cut(arg, "${")
			name, after, closed := strings.Cut(rest, "}")
			if !ok || !closed || len(arg) > maxWord {
				break
			}
			arg = before + vars[name] + after
		}
		if *r -= cmakeRoom(len(arg) + 1); *r < 0 {
			return nil
		}
		words = append(words, strings.FieldsFunc(arg, func(r rune) bool { return r == ' ' || r == ';' })...)
	}
	return words
}

// value returns words as a variable has them, "" where they are too long. To copy a text takes little of the room.
func (r *cmakeRoom) value(words ...string) string {
	n := len(words)
	for _, word := range words {
		n += len(word)
	}
	if *r -= cmakeRoom(n / 64); *r < 0 || n > maxCMakeValue {
		return ""
	}
	return strings.Join(words, " ")
}

// items returns what a loop runs over: plain items, or those of lists.
func (r *cmakeRoom) items(args []string, vars map[string]string) (items []string) {
	lists := false
	for _, arg := range args {
		switch {
		case arg == "IN" || arg == "ITEMS":
			lists = false
		case arg == "LISTS":
			lists = true
		case lists:
			items = append(items, r.words([]string{vars[arg]}, nil)...)
		default:
			items = append(items, arg)
		}
	}
	return items
}

// A cmakeProject is what its CMakeLists.txt files say of targets. Every branch of a condition is read.
type cmakeProject struct {
	n         *finder
	functions map[string][]cmakeCommand // with the command that begins it; by lower case
	sources   map[string][]string       // target → files
	tested    map[string]bool           // programs that are tests; a value of false: with arguments
	shipped   map[string]bool           // targets that are installed
	steps     int
	room      cmakeRoom
}

// cmakeTests adds the sources that only the tests of the project around w use. It is read once.
func (n *finder) cmakeTests(w site) {
	top := ""
	for dir := w.dir; ; dir = path.Dir(dir) {
		if n.seen.Has(path.Join(dir, "CMakeLists.txt")) {
			top = dir // the one that is nearest to the top
		}
		if dir == "." || dir == "/" || dir == ".." {
			break
		}
	}
	if top == "" {
		return
	}
	c := &cmakeProject{
		n: n, functions: map[string][]cmakeCommand{}, sources: map[string][]string{}, tested: map[string]bool{},
		shipped: map[string]bool{}, room: maxCMakeRoom,
	}
	c.folder(top, map[string]string{}, 0)
	tested, shipped := map[string]bool{}, map[string]bool{}
	for name, files := range c.sources {
		alone, isTest := c.tested[name]
		certain := alone && testishName(name) || slices.ContainsFunc(files, n.testProgram)
		to := shipped
		if isTest && !c.shipped[name] && certain {
			to = tested
			n.testTargets[name] = true
		}
		for _, file := range files {
			to[file] = true
		}
	}
	n.onlyFor(tested, shipped, true)
}

// folder reads the CMakeLists.txt of a folder.
func (c *cmakeProject) folder(dir string, vars map[string]string, depth int) {
	src, ok := c.n.readOnce(path.Join(dir, "CMakeLists.txt"), "cmake")
	if !ok || depth > maxCMakeDepth {
		return
	}
	commands, _ := cmakeCommands(string(src))
	c.run(commands, dir, maps.Clone(vars), depth)
}

// block returns the commands up to the one that ends the block which list[0] begins, and how many there are.
func block(list []cmakeCommand) (body []cmakeCommand, n int) {
	name, end, depth := list[0].name, "end"+list[0].name, 0
	for i, c := range list {
		switch c.name {
		case name:
			depth++
		case end:
			if depth--; depth == 0 {
				return list[1:i], i + 1
			}
		}
	}
	return list[1:], len(list)
}

func (c *cmakeProject) run(list []cmakeCommand, dir string, vars map[string]string, depth int) {
	for i := 0; i < len(list) && depth <= maxCMakeDepth; i++ {
		if c.steps++; c.steps > maxCMakeSteps {
			return
		}
		switch at := list[i]; at.name {
		case "foreach":
			body, n := block(list[i:])
			i += n - 1
			c.room -= cmakeRoom(n)
			args := c.room.words(at.args, vars)
			if len(args) == 0 {
				continue
			}
			for _, item := range c.room.items(args[1:], vars) {
				vars[args[0]] = item
				c.run(body, dir, vars, depth+1)
			}
		case "function", "macro":
			_, n := block(list[i:])
			c.room -= cmakeRoom(n)
			if len(at.args) > 0 {
				c.functions[strings.ToLower(at.args[0])] = list[i : i+n]
			}
			i += n - 1
		default:
			c.command(at.name, c.room.words(at.args, vars), dir, vars, depth)
		}
	}
}

// command takes over what one command says.
func (c *cmakeProject) command(name string, args []string, dir string, vars map[string]string, depth int) {
	if f := c.functions[name]; f != nil {
		if c.room -= cmakeRoom(len(f[0].args)); c.room < 0 {
			return
		}
		in := maps.Clone(vars)
		for i, param := range f[0].args[1:] {
			if in[param] = ""; i < len(args) {
				in[param] = args[i]
			}
		}
		in["ARGV"], in["ARGN"] = c.room.value(args...), c.room.value(args[min(len(f[0].args)-1, len(args)):]...)
		c.run(f[1:len(f)-1], dir, in, depth+1)
		return
	}
	if len(args) == 0 {
		return
	}
	first, rest := args[0], args[1:]
	switch name {
	case "set":
		vars[first] = c.room.value(rest...)
	case "list":
		if first == "APPEND" && len(rest) > 0 {
			vars[rest[0]] = c.room.value(append([]string{vars[rest[0]]}, rest[1:]...)...)
		}
	case "file":
		if strings.HasPrefix(first, "GLOB") && len(rest) > 0 {
			vars[rest[0]] = c.room.value(c.glob(rest[1:], dir)...)
		}
	case "aux_source_directory":
		if len(rest) > 0 {
			vars[rest[0]] = c.room.value(c.glob([]string{first + "/*.c", first + "/*.cpp"}, dir)...)
		}
	case "get_filename_component":
		if len(rest) > 1 && strings.HasPrefix(rest[1], "NAME_W") {
			vars[first] = strings.TrimSuffix(path.Base(rest[0]), path.Ext(rest[0]))
		}
	case "add_subdirectory":
		c.folder(path.Join(dir, first), vars, depth+1)
	case "add_executable", "add_library", "target_sources":
		for _, word := range rest {
			if p := c.resolve(word, dir); p != "" {
				c.sources[first] = append(c.sources[first], p)
			}
		}
	case "install":
		for _, word := range rest {
			c.shipped[word] = true
		}
	case "gtest_discover_tests", "gtest_add_tests", "catch_discover_tests", "doctest_discover_tests":
		c.tested[strings.TrimPrefix(first, "TARGET")] = true
	case "add_test":
		if at := slices.Index(args, "COMMAND"); at >= 0 {
			rest = args[at+1:]
		}
		c.runs(rest, dir)
	case "add_custom_target":
		if at := slices.Index(args, "COMMAND"); at >= 0 && checkName(first) {
			c.runs(args[at+1:], dir)
		}
	}
}

// runs notes the program of a test, and follows the command.
func (c *cmakeProject) runs(words []string, dir string) {
	c.n.commands([]shelltext.Command{{Words: c.asCommand(words, dir)}}, site{dir: ".", from: dir, start: dir})
	for i, word := range words {
		if i > 0 && (word == "WORKING_DIRECTORY" || word == "CONFIGURATIONS" || word == "DEPENDS") {
			return
		}
		word = strings.TrimSuffix(strings.TrimPrefix(word, "$<TARGET_FILE:"), ">")
		if word = path.Base(word); c.sources[word] != nil {
			alone := i == len(words)-1 || words[i+1] == "WORKING_DIRECTORY"
			c.tested[word] = c.tested[word] || alone
		}
	}
}

// asCommand returns the words of a test's command with the files of the tree that they mean. ${CMAKE_COMMAND} is left out:
// it is not known.
func (c *cmakeProject) asCommand(words []string, dir string) (command []string) {
	switch {
	case len(words) > 1 && words[0] == "-E" && words[1] == "compare_files":
		command, words = []string{"cmp"}, words[2:]
	case slices.Contains(words, "-P"):
		command = []string{"cmake"}
	}
	for _, word := range words {
		if p := c.resolve(word, dir); p != "" {
			word = p
		}
		command = append(command, word)
	}
	return command
}

// resolve returns the file of the tree that a word means, "" for none.
func (c *cmakeProject) resolve(word, dir string) string {
	if at := strings.LastIndexByte(word, '}'); at >= 0 {
		word = word[at+1:]
	}
	if p := path.Join(dir, word); c.n.seen.Has(p) {
		return p
	}
	if word = strings.TrimLeft(word, "/"); c.n.seen.Has(word) { // of ${CMAKE_SOURCE_DIR}, which is not known
		return word
	}
	return ""
}

// glob returns the files that patterns match, relative to a folder.
func (c *cmakeProject) glob(patterns []string, dir string) (files []string) {
	for _, pattern := range patterns {
		pattern = path.Join(dir, strings.TrimLeft(pattern, "/"))
		if !strings.ContainsAny(pattern, "*?[") || !doublestar.ValidatePattern(pattern) {
			continue
		}
		for p := range c.n.seen.Files() {
			if doublestar.MatchUnvalidated(pattern, p) {
				rel := strings.TrimPrefix(p, dir+"/")
				files = append(files, rel)
			}
		}
	}
	slices.Sort(files)
	return files
}

var (
	mesonProgram = lazily.Regexp(`(?s)(?:(\w+)\s*=\s*)?\b(executable|library|static_library|shared_library|both_libraries)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)`)
	mesonTest    = lazily.Regexp(`(?s)\btest\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)`)
	mesonName    = lazily.Regexp(`'[^'\n]*'|\b[A-Za-z_]\w*`)
)

// mesonTests adds the sources that only the tests of a meson.build use.
func (n *finder) mesonTests(w site) {
	for p := range n.seen.Files() {
		src, ok := []byte(nil), false
		if path.Base(p) == "meson.build" && !foreign(p) {
			src, ok = n.readOnce(p, "meson")
		}
		if !ok {
			continue
		}
		inTest := map[string]bool{}
		for _, m := range mesonTest().FindAllSubmatch(src, -1) {
			for _, name := range mesonName().FindAllString(string(m[1]), -1) {
				inTest[name] = true
			}
		}
		tested, shipped := map[string]bool{}, map[string]bool{}
		for _, m := range mesonProgram().FindAllStringSubmatch(string(src), -1) {
			to := shipped
			if m[2] == "executable" && m[1] != "" && inTest[m[1]] && !strings.Contains(m[3], "install") {
				to = tested
			}
			for _, name := range mesonName().FindAllString(m[3], -1) {
				if file := path.Join(path.Dir(p), strings.Trim(name, "'")); n.seen.Has(file) {
					to[file] = true
				}
			}
		}
		n.onlyFor(tested, shipped, true)
	}
}
