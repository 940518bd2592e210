package review

import (
	"bytes"
	"go/build/constraint"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// unbuilt reports sources that were built, and checked, and are no longer, although they are still there: a file of Go
// with a build constraint that does not hold here, any source under a name or in a folder that its tools pass over, one
// of Go in another module, one of C in a condition of the preprocessor. So is one in whose place an empty file is, and
// any file that the check listed and read and that is now where it does not look. The kind is dead_code.
func unbuilt(p *proposal) (found findings) {
	left, listings := p.left(), p.checks.Listings()
	gone := goneTexts(left)
	for _, e := range p.edits {
		switch {
		case e.opaque || !e.exists() || e.class != none && (e.class != testData || !e.isNew()):
		case e.isNew():
			was, unseen := p.movedFrom(gone, e), p.passedOver(left, listings, e)
			switch {
			case e.class == none && unseen != nil:
				found.put(e, rules.DeadCode, -1, true, "%s is here, where the check does not look for it", unseen.path)
			case was != nil && builds(was.path, was.change.Before.Data) && (!builds(e.path, e.change.After.Data) || p.otherModule(was, e)):
				found.put(e, rules.DeadCode, -1, true, "%s is here, where it is not built or checked", was.path)
			case e.class == none && onlyPackage(e):
				if gone := goneBeside(left, e); gone != nil {
					found.add(e, rules.DeadCode, -1, true, "an empty file is in the place of %s", gone.path)
				}
			}
		case e.conditionLine() >= 0:
			found.add(e, rules.DeadCode, e.conditionLine(), true, "hardly anything is compiled any more: %s", e.after.trimmed(e.conditionLine()))
		case builds(e.path, e.change.Before.Data) && !builds(e.path, e.change.After.Data):
			found.add(e, rules.DeadCode, e.constraintLine(), true, "the file is no longer built here")
		}
	}
	return found
}

// otherModule reports whether a source of Go moved into a module that the patch makes.
func (p *proposal) otherModule(was, now *edit) bool {
	return path.Ext(now.path) == ".go" && slices.ContainsFunc(p.edits, func(e *edit) bool {
		dir := path.Dir(e.path) + "/"
		return e.isNew() && path.Base(e.path) == "go.mod" && strings.HasPrefix(now.path, dir) && !strings.HasPrefix(was.path, dir)
	})
}

// onlyPackage reports whether a file of Go has nothing but the name of its package.
func onlyPackage(e *edit) bool {
	if e.language != "go" {
		return false
	}
	var code []string
	for i := range e.after.lines {
		if line := strings.TrimSpace(e.after.code(i)); line != "" {
			code = append(code, line)
		}
	}
	return len(code) == 1 && strings.HasPrefix(code[0], "package ")
}

// left returns the edits of production that a file has lost most of its lines in, or is removed by.
func (p *proposal) left() (left []*edit) {
	for _, e := range p.edits {
		if e.class == none && !e.opaque && !e.isNew() && (!e.exists() || len(e.removed)*4 >= len(e.before.lines)*3) {
			left = append(left, e)
		}
	}
	return left
}

// goneBeside returns the one of left that a patch removes in the folder of a new file, and that was built; nil: there is
// none.
func goneBeside(left []*edit, e *edit) *edit {
	return first(left, func(was *edit) bool {
		return !was.exists() && path.Dir(was.path) == path.Dir(e.path) && path.Ext(was.path) == path.Ext(e.path) &&
			builds(was.path, was.change.Before.Data)
	})
}

// first returns the first edit that ok is true of; nil: there is none.
func first(edits []*edit, ok func(*edit) bool) *edit {
	if i := slices.IndexFunc(edits, ok); i >= 0 {
		return edits[i]
	}
	return nil
}

var (
	cCondition   = lazily.Regexp(`^#\s*if(?:n?def\s+|\s+!?\s*defined\s*\(?\s*|\s+!?\s*)(\w+)\s*\)?\s*$`)
	cConditional = lazily.Regexp(`^#\s*(if|elif|else|endif)`)
	// platform are names that compilers define.
	platform = lazily.Regexp(`^(?:__\w+|_WIN\w*|_MSC_VER|WIN32|linux|unix|NDEBUG|DEBUG)$`)
)

// conditionLine returns the new line of a condition of C around most of what the file had, from 0; -1: there is none.
// Where the text before, or another line of the patch, has the name that it asks for, it may hold.
func (e *edit) conditionLine() int {
	if e.language != "c" {
		return -1
	}
	for _, j := range e.fresh {
		m := cCondition().FindStringSubmatch(strings.TrimSpace(e.after.code(j)))
		if m == nil || platform().MatchString(m[1]) || !e.of.mayLookAt(conditionCost*len(e.after.kinds)) || e.of.names(m[1], e.path, j) {
			continue
		}
		inside, all, depth := 0, 0, 0
		for i := range e.after.lines {
			line := strings.TrimSpace(e.after.code(i))
			if d := cConditional().FindStringSubmatch(line); d != nil && i >= j {
				switch d[1] {
				case "if":
					if depth > 0 || i == j {
						depth++
					}
				case "endif":
					depth = max(0, depth-1)
				}
			}
			if line == "" || strings.HasPrefix(line, "#") || e.isAdded(i) {
				continue
			}
			if all++; depth > 0 {
				inside++
			}
		}
		if all >= leastLines && inside*2 > all {
			return j
		}
	}
	return -1
}

// names reports whether the old text of a file has a name, or a new line of the patch besides line j of it.
func (p *proposal) names(name, file string, j int) bool {
	word := func(line string) bool {
		return slices.Contains(strings.FieldsFunc(line, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }), name) ||
			strings.Contains(line, "-D"+name)
	}
	for _, e := range p.edits {
		if e.path == file && slices.ContainsFunc(e.before.lines, word) {
			return true
		}
		for _, k := range e.added {
			if line := e.after.lines[k]; (e.path != file || k != j) && word(line) && !strings.HasPrefix(strings.TrimSpace(line), "#endif") {
				return true
			}
		}
	}
	return false
}

// conditionCost is how much longer it takes to look for a condition's name, and for what is in it, than to search a text.
const conditionCost = 200

// leastLines is the number of lines of code of a file that is conditioned out.
const leastLines = 3

// leastMoved is the number of bytes with which a source is known again.
const leastMoved = 8

// goneTexts are the sources of left that a patch removes, by their text without blanks at its ends.
func goneTexts(left []*edit) map[string]*edit {
	gone := map[string]*edit{}
	for _, was := range left {
		before := string(bytes.TrimSpace(was.change.Before.Data))
		if !was.exists() && lang.ByPath(was.path) != "" && len(before) >= leastMoved && gone[before] == nil {
			gone[before] = was
		}
	}
	return gone
}

// movedFrom returns the source of gone that a new file holds, the longest one; nil: there is none.
func (p *proposal) movedFrom(gone map[string]*edit, e *edit) (from *edit) {
	after := text(e.change.After)
	if was := gone[strings.TrimSpace(after)]; was != nil {
		return was
	}
	longest := 0
	for before, was := range gone {
		longer := len(before) > longest || len(before) == longest && was.path < from.path
		if longer && p.mayLook(after) && strings.Contains(after, before) {
			longest, from = len(before), was
		}
	}
	return from
}

// passedOver returns the file of left whose text a new file has, and that the check listed where it was; nil: there is
// none.
func (p *proposal) passedOver(left []*edit, by checkfile.Listings, e *edit) *edit {
	size := by.Size()
	if size == 0 {
		return nil
	}
	return first(left, func(was *edit) bool {
		lines := 1 + len(was.before.lines)/lineCost
		return p.mayLookAt(lines*len(e.change.After.Data)) && was.wentTo(e) && p.mayLookAt(listingCost*size) && by.PassOver(was.path, e.path)
	})
}

const (
	listingCost = 500 // how much longer it takes to find out what a text lists than to search it
	lineCost    = 16  // how many lines are looked for in the time in which their text is searched
)

// wentTo reports whether most lines that a file had, and has no more, are in a new one. Of a short file all must be.
func (e *edit) wentTo(to *edit) bool {
	before := bytes.TrimSpace(e.change.Before.Data)
	if len(before) < leastMoved {
		return false
	}
	if bytes.Contains(to.change.After.Data, before) {
		return true
	}
	all, same := 0, 0
	for i := range e.before.lines {
		if line := e.before.trimmed(i); line != "" {
			all++
			if slices.ContainsFunc(to.after.lines, func(now string) bool { return strings.TrimSpace(now) == line }) {
				same++
			}
		}
	}
	return all > leastLines && same*4 >= all*3
}

// constraintLine returns the line of the build constraint, from 0; -1 where there is none.
func (e *edit) constraintLine() int {
	return slices.IndexFunc(e.after.lines, constraint.IsGoBuild)
}

// builds reports whether a tool takes a file for a source that it builds on Linux. It knows the rules of Go; of another
// language the name decides.
func builds(p string, src []byte) bool {
	base := path.Base(p)
	switch language := lang.ByPath(p); {
	case language == "":
		return false
	case language != "go":
		return true
	case base[0] == '_' || base[0] == '.' || lang.InFolder(p, []string{"testdata", "vendor"}) || !builtHere(strings.TrimSuffix(base, ".go")):
		return false
	}
	for _, folder := range strings.Split(path.Dir(p), "/") {
		if strings.HasPrefix(folder, "_") || strings.HasPrefix(folder, ".") && folder != "." {
			return false
		}
	}
	for line := range bytes.Lines(src) {
		text := strings.TrimSpace(string(line))
		switch {
		case constraint.IsGoBuild(text):
			x, err := constraint.Parse(text)
			return err != nil || x.Eval(holdsHere)
		case strings.HasPrefix(text, "package "):
			return true
		}
	}
	return true
}

// otherSystems are the systems and processors, besides the usual ones of Linux, that a file of Go can be for by its
// name. See https://pkg.go.dev/cmd/go#hdr-Build_constraints.
var otherSystems = lazily.Words(`
	aix android darwin dragonfly freebsd hurd illumos ios js nacl netbsd openbsd plan9 solaris wasip1 windows zos
	386 arm armbe loong64 mips mipsle mips64 mips64le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm`)

// builtHere reports whether the name of a Go file, without its end, is not that of another system's.
func builtHere(stem string) bool {
	parts := strings.Split(strings.TrimSuffix(stem, "_test"), "_")
	return !slices.ContainsFunc(parts[max(1, len(parts)-2):], func(part string) bool { return slices.Contains(otherSystems(), part) })
}

// holdsHere reports whether a tag of a build constraint holds in a usual build.
func holdsHere(tag string) bool {
	return slices.Contains([]string{"linux", "unix", "amd64", "arm64", "gc", "cgo"}, tag) || strings.HasPrefix(tag, "go1.")
}
