package checkfile

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Restore returns changes without those of check files, and without those of the check's parts of manifests. What is
// left is what the second half of verification runs with. A rename is a deletion and an addition: a check file that
// is gone comes back, a new one goes, and with them what is in their way.
//
// A change stays in a Makefile of the check when it is only of rules and variables that build the program, and in a
// library of shell functions when it is only of what is tested (shell_library.go). A manifest that cannot be restored
// by parts is restored as a whole.
func (c *Checks) Restore(changes []patch.Change) []patch.Change {
	var rest []patch.Change
	var there []string // files that the restored tree has
	for _, change := range changes {
		class := c.Class(change.Path)
		keep := class == 0 || class == 4 && c.stays(change)
		if kind := manifestOf(change.Path); keep && kind != nil {
			change, keep = kind.restoreParts(change)
		}
		if keep {
			rest = append(rest, change)
		} else if change.Before != nil {
			there = append(there, change.Path)
		}
	}
	if len(there) == 0 {
		return rest
	}
	// A file cannot be there and have files below it.
	back := map[string]bool{}
	for _, p := range there {
		back[p] = true
	}
	folders := map[string]bool{}
	for _, p := range there {
		for i := range p {
			if p[i] == '/' {
				folders[p[:i]] = true
			}
		}
	}
	return slices.DeleteFunc(rest, func(change patch.Change) bool {
		if change.After == nil {
			return false
		}
		if folders[change.Path] {
			return true
		}
		for i := range change.Path {
			if change.Path[i] == '/' && back[change.Path[:i]] {
				return true
			}
		}
		return false
	})
}

const maxMakefile = 512 << 10 // bytes of both sides; beyond that it is restored

// OnlyBuilds reports whether a change of a Makefile of the check touches only how the program is built, nothing that
// decides.
func (c *Checks) OnlyBuilds(change patch.Change) bool {
	if !c.refs.makefiles[change.Path] || change.Before == nil || change.After == nil ||
		change.Before.Mode != change.After.Mode {
		return false
	}
	if change.Before.Mode&fs.ModeType != 0 || len(change.Before.Data)+len(change.After.Data) > maxMakefile {
		return false
	}
	known := map[string]bool{}
	checks := func(p string) bool {
		is, ok := known[p]
		if !ok {
			class := c.Class(p)
			is = class > 0 && !strings.HasPrefix(p, "-")
			known[p] = is
		}
		return is
	}
	_, phony := checkParts(string(change.Before.Data), nil, checks)
	after, phony := checkParts(string(change.After.Data), phony, checks)
	before, _ := checkParts(string(change.Before.Data), phony, checks)
	return slices.Equal(before, after)
}
