package checkfile

// What is left of a patch when every check file, and the check's parts of every manifest, are put back.

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// PutBack is changes with every check file, and the check parts of every manifest, as the tree that c was made of has
// them. What is left is what the second half of verification runs with. A rename is a deletion and an addition: a check file
// that is gone comes back, one that is new goes, with what stands in its way.
//
// A Makefile that the run names stays as the patch left it when only rules and variables differ that say how files of the
// program are made; a shell library that it sources, when only what it tries differs (library.go). A manifest that cannot be mended by parts goes back as a whole.
func (c *Checks) PutBack(changes []patch.Change) []patch.Change {
	var rest []patch.Change
	var there []string // files that come back, or that stay because their change goes
	for _, change := range changes {
		class := c.Class(change.Path)
		keep := class == 0 || class == 4 && c.stays(change)
		if kind := ManifestOf(change.Path); keep && kind != nil {
			change, keep = kind.putParts(change)
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

const maxMakefile = 512 << 10 // bytes of both sides; beyond that it is not looked into

// onlyBuilds says whether a change of a Makefile that the run names leaves all of it as it was that decides.
func (c *Checks) OnlyBuilds(change patch.Change) bool {
	if !c.refs.makefiles[change.Path] || change.Before == nil || change.After == nil || change.Before.Mode != change.After.Mode {
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
