package checkfile

// Changes of Makefiles by what they do to a compiler: some take the asserts out of tests, some only link one object more.

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	// flagsInParts matches what may put a flag together: -D$(N)BUG, $(A)$(B), a response file.
	flagsInParts = lazily.Regexp(`-D\w*\$|\)\w|\)\$[({]|^@[\w./]|-Wl,@|^-B\S*$`)
	madeFlags    = lazily.Regexp(`-D.*\$[({](?:subst|patsubst|join|addprefix|addsuffix)\b|\$[({](?:subst|patsubst|join|addprefix|addsuffix)\b.*-D`)
	compilerHere = lazily.Regexp(`^(?:CC|CXX|CPP|LD|AR|AS)[ \t]*[:?+]*=[ \t]*[^/\s]+/`)
	compileLine  = lazily.Regexp("^\t[@-]?(?:\\$[({](?:CC|CXX|LD|LINK\\.\\w+)[)}]|cc|gcc|g\\+\\+|c\\+\\+|clang|clang\\+\\+)[ \t][^;&|<>`#]*$")
	flagsLine    = lazily.Regexp(`^(?:CFLAGS|CPPFLAGS|CXXFLAGS|LDFLAGS|LDLIBS|LIBS|LOADLIBES|OBJS|OBJECTS)[ \t]*[:?+]*=`)
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

// linksMore reports whether the second version of a part of a Makefile differs from the first in nothing but a library
// of the system or an object of the tree that is linked too, or a folder of headers that is corrected. dir is that of
// the Makefile.
func (c *Checks) linksMore(before, after, dir string) bool {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(old) != len(now) {
		return false
	}
	for i, line := range now {
		if line == old[i] {
			continue
		}
		form := slices.ContainsFunc([]func() *regexp.Regexp{compileLine, flagsLine, headLine}, func(form func() *regexp.Regexp) bool {
			return form().MatchString(line) && form().MatchString(old[i])
		})
		if !form || !c.addsLink(strings.Fields(old[i]), strings.Fields(line), dir) {
			return false
		}
	}
	return true
}

// addsLink reports whether the words of a line are the old ones in their order, and besides these only what is linked.
func (c *Checks) addsLink(old, now []string, dir string) bool {
	archive := slices.ContainsFunc(now, func(word string) bool { return path.Ext(word) == ".a" })
	at := 0
	for _, word := range now {
		was := ""
		if at < len(old) {
			was = old[at]
		}
		folder, headers := strings.CutPrefix(word, "-I")
		switch {
		case word == was:
			at++
		case linksLibrary().MatchString(word):
		case anyObject().MatchString(word) && !archive && c.product(word): // an archive would yield to an object
		case headers && strings.HasPrefix(was, "-I") && !strings.Contains(folder, "$") && c.HasBelow(path.Join(dir, folder)+"/"):
			at++
		default:
			return false
		}
	}
	return at == len(old)
}

// product reports whether an object is made of a source of the tree that is no check file.
func (c *Checks) product(object string) bool {
	stem := strings.TrimSuffix(path.Base(object), path.Ext(object))
	found := false
	for p := range c.tree.Files() {
		if isCompiled(p) && strings.TrimSuffix(path.Base(p), path.Ext(p)) == stem {
			if c.Class(p) > 0 || foreign(p) {
				return false
			}
			found = true
		}
	}
	return found
}
