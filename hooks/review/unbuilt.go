package review

import (
	"bytes"
	"go/build/constraint"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// unbuilt reports sources that were built, and checked, and are no longer, although they are still there: a file of Go
// with a build constraint that does not hold here, or any source under a name that its tools pass over. The kind is
// dead_code.
func unbuilt(p *proposal) (found findings) {
	for _, e := range p.edits {
		switch {
		case e.opaque || !e.exists() || e.class != none:
		case e.isNew():
			if was := p.movedFrom(e); was != nil && builds(was.path, was.change.Before.Data) && !builds(e.path, e.change.After.Data) {
				found.add(e, rules.DeadCode, -1, true, "%s is here, where it is not built or checked", was.path)
			}
		case builds(e.path, e.change.Before.Data) && !builds(e.path, e.change.After.Data):
			found.add(e, rules.DeadCode, e.constraintLine(), true, "the file is no longer built here")
		}
	}
	return found
}

// leastMoved is the number of bytes with which a source is known again.
const leastMoved = 8

// movedFrom returns the source that a patch removes and that a new file holds; nil: there is none.
func (p *proposal) movedFrom(e *edit) *edit {
	for _, was := range p.edits {
		if was.exists() || was.opaque || was.class != none || lang.ByPath(was.path) == "" {
			continue
		}
		if before := bytes.TrimSpace(was.change.Before.Data); len(before) >= leastMoved && bytes.Contains(e.change.After.Data, before) {
			return was
		}
	}
	return nil
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
