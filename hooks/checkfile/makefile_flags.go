package checkfile

// Changes of Makefiles by what they do to a compiler: some take the asserts out of tests, some only link one object more.

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

var (
	// flagsInParts matches what may put a flag together: -D$(N)BUG, $(A)$(B), a response file.
	flagsInParts = lazily.Regexp(`-D\w*\$|\)\w|\)\$[({]|^@[\w./]|-Wl,@|^-B\S*$`)
	madeFlags    = lazily.Regexp(`-D.*\$[({](?:subst|patsubst|join|addprefix|addsuffix)\b|\$[({](?:subst|patsubst|join|addprefix|addsuffix)\b.*-D`)
	compilerHere = lazily.Regexp(`^(?:CC|CXX|CPP|LD|AR|AS)[ \t]*[:?+]*=[ \t]*[^/\s]+/`)
	compileLine  = lazily.Regexp("^\t[@-]?(?:\\$[({](?:CC|CXX|LD|LINK\\.\\w+)[)}]|cc|gcc|g\\+\\+|c\\+\\+|clang|clang\\+\\+)[ \t][^;&|<>`#]*$")
	flagsLine    = lazily.Regexp(`^(?:CFLAGS|CPPFLAGS|CXXFLAGS|LDFLAGS|LDLIBS|LIBS|LOADLIBES)[ \t]*[:?+]*=`)
	listLine     = lazily.Regexp(`^((?:\w+_)?(?i:OBJS?|OBJECTS?|SRCS?|SOURCES?|(?:OBJ|SRC|O|C)_?FILES))[ \t]*[:?+]*=`)
	leavesOut    = lazily.Regexp(`(?i)skip|ignor|exclu|except|without|omit`)
	headLine     = lazily.Regexp(`^[^\t=:#][^=:]*:[^=:;#]*$`)
	linksLibrary = lazily.Regexp(`^-l[a-z]\w*$`)
	anyObject    = lazily.Regexp(`^[\w./-]+\.(?:o|c|cc|cpp|cxx)$`)
)

// Disarms reports whether flags of a compiler or linker take the asserts out of what is built with them, or lead their
// functions elsewhere.
func Disarms(flags string) bool { return disarming().MatchString(unquoted(flags)) }

var shellQuotes = strings.NewReplacer(`'`, "", `"`, "", `\`, "")

// unquoted returns flags as the shell hands them on.
func unquoted(flags string) string { return shellQuotes.Replace(flags) }

// disarmed reports whether lines of a Makefile that are new in after may take the asserts out of tests.
func disarmed(before, after string) bool {
	known := map[string]bool{}
	for line := range strings.Lines(before) {
		known[strings.TrimSpace(line)] = true
		for _, word := range strings.Fields(unquoted(line)) {
			known[word] = true
		}
	}
	inParts := func(word string) bool { return !known[word] && flagsInParts().MatchString(word) }
	for line := range strings.Lines(after) {
		line = strings.TrimSpace(line)
		if line == "" || known[line] || strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimLeft(line, "@-+ ") // of a recipe
		if Disarms(line) || compilerHere().MatchString(line) || madeFlags().MatchString(line) ||
			slices.ContainsFunc(strings.Fields(unquoted(line)), inParts) {
			return true
		}
	}
	return false
}

// A linking is what a patch is, for changes of what a Makefile links.
type linking struct {
	*Checks
	dir     string // of the Makefile
	text    string // of the Makefile, before the patch
	changes []patch.Change
}

// sameParts reports whether parts of a Makefile are as before, but for what is linked too.
func (l *linking) sameParts(before, after []string) bool {
	at := 0
	for _, part := range after {
		switch {
		case at < len(before) && (part == before[at] || l.linksMore(before[at], part)):
			at++
		case l.appends(part):
		default:
			return false
		}
	}
	return at == len(before)
}

// appends reports whether a new part of a Makefile only adds to a list: OBJ += more.o.
func (l *linking) appends(part string) bool {
	words := strings.Fields(part)
	return len(words) > 2 && words[1] == "+=" && !strings.Contains(part, "\n") && l.isList(part) && l.addsLink(words[:2], words)
}

// linksMore reports whether the second version of a part of a Makefile differs from the first in nothing but a library
// of the system or an object of the program that is linked too, or a folder of headers that is corrected.
func (l *linking) linksMore(before, after string) bool {
	old, now := makeLines(before), makeLines(after)
	if len(old) != len(now) {
		return false
	}
	for i, line := range now {
		if line == old[i] {
			continue
		}
		form := slices.ContainsFunc([]func() *regexp.Regexp{compileLine, flagsLine, headLine}, func(form func() *regexp.Regexp) bool {
			return form().MatchString(line) && form().MatchString(old[i])
		}) || l.isList(line) && l.isList(old[i])
		if !form || !l.addsLink(strings.Fields(old[i]), strings.Fields(line)) {
			return false
		}
	}
	return true
}

// makeLines returns the lines of a part of a Makefile. Those that continue each other are one, but not in recipes.
func makeLines(part string) (lines []string) {
	for at := 0; at < len(part); {
		end := logical(part, at)
		line := strings.TrimRight(part[at:end], "\r\n")
		if line == "" || line[0] == '\t' {
			lines = append(lines, strings.Split(line, "\n")...)
		} else {
			lines = append(lines, strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(line))
		}
		at = end
	}
	return lines
}

// isList reports whether a line assigns a list of objects or sources, and not one of those that something leaves out.
func (l *linking) isList(line string) bool {
	m := listLine().FindStringSubmatch(line)
	return m != nil && !leavesOut().MatchString(m[1]) && !strings.Contains(l.text, "filter-out $("+m[1])
}

// addsLink reports whether the words of a line are the old ones in their order, and besides these only what is linked.
func (l *linking) addsLink(old, now []string) bool {
	archive := slices.ContainsFunc(now, func(word string) bool { return path.Ext(word) == ".a" })
	at := 0
	for i, word := range now {
		was := ""
		if at < len(old) {
			was = old[at]
		}
		folder, headers := strings.CutPrefix(word, "-I")
		switch {
		case word == was:
			at++
		case i == 0 || now[i-1] == "-o":
			return false
		case linksLibrary().MatchString(word):
		case l.product(word) && !archive && l.behind(now[i-1], old[at:]): // an archive would yield to an object
		case headers && strings.HasPrefix(was, "-I") && !strings.Contains(folder, "$") && l.HasBelow(path.Join(l.dir, folder)+"/"):
			at++
		default:
			return false
		}
	}
	return at == len(old)
}

// behind reports whether an object may be added between a word and the rest of its line. The value of a flag would be
// another one. What is first in a list is $<, and a test there would not be built.
func (l *linking) behind(word string, rest []string) bool {
	if strings.HasSuffix(word, ":") || strings.HasSuffix(word, "=") {
		return !slices.ContainsFunc(rest, func(next string) bool { return !l.product(next) })
	}
	return !strings.HasPrefix(word, "-")
}

// product reports whether an object is made of a source of the tree or the patch that is no check file, or is one.
func (l *linking) product(object string) bool {
	if !anyObject().MatchString(object) {
		return false
	}
	stem := strings.TrimSuffix(path.Base(object), path.Ext(object))
	found := false
	made := func(p string) bool { // of a source that is the program's, or of none of that name
		if !isCompiled(p) || strings.TrimSuffix(path.Base(p), path.Ext(p)) != stem {
			return true
		}
		found = true
		return l.Class(p) == 0 && !foreign(p)
	}
	for p := range l.tree.Files() {
		if !made(p) {
			return false
		}
	}
	for _, change := range l.changes {
		if change.Before == nil && change.After != nil && !made(change.Path) {
			return false
		}
	}
	return found
}
