package checkfile

import (
	"bytes"
	"go/format"
	"io/fs"
	"path"
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
// by parts is restored as a whole. So are sources with tests in them (inline.go). A change stays that means nothing to
// what a check decides (Idle).
func (c *Checks) Restore(changes []patch.Change) []patch.Change {
	var rest []patch.Change
	there := map[string]bool{} // files that the restored tree has, with a slash at the end
	above := map[string]bool{} // folders that these are in: a file cannot be there and have files below it
	for _, change := range changes {
		class := c.Class(change.Path)
		keep := class == 0 || class == 4 && c.stays(change, changes) || c.Idle(change)
		if kind := c.partsOf(change.Path); keep && kind != nil {
			change, keep = kind.restoreParts(change)
		}
		if keep {
			rest = append(rest, change)
		} else if change.Before != nil {
			there[change.Path+"/"] = true
			for dir := path.Dir(change.Path); dir != "." && dir != "/"; dir = path.Dir(dir) {
				above[dir] = true
			}
		}
	}
	return slices.DeleteFunc(rest, func(change patch.Change) bool {
		return change.After != nil && (above[change.Path] || below(change.Path, there))
	})
}

const maxEdited = 512 << 10 // bytes of both sides of a change that is judged by its parts

// edited reports whether a change is one of the text of a file, and not too large to be judged by its parts.
func edited(change patch.Change) bool {
	b, a := change.Before, change.After
	return b != nil && a != nil && b.Mode == a.Mode && b.Mode&fs.ModeType == 0 && len(b.Data)+len(a.Data) <= maxEdited
}

// Idle reports whether a change of a check file means nothing to what it decides: gofmt wrote a source of Go like that, or
// markers of pytest were registered.
func (c *Checks) Idle(change patch.Change) bool {
	class := c.Class(change.Path)
	if class < 2 || class == 3 || !edited(change) || bytes.Equal(change.Before.Data, change.After.Data) {
		return false
	}
	before, after := string(change.Before.Data), string(change.After.Data)
	switch base := path.Base(change.Path); {
	case path.Ext(base) == ".go":
		formatted, err := format.Source(change.Before.Data)
		return err == nil && string(formatted) == after
	case slices.Contains([]string{"pytest.ini", ".pytest.ini", "tox.ini"}, base):
		old, okOld := splitINI(before)
		now, okNow := splitINI(after)
		return okOld && okNow && len(differences(old, now)) == 0
	}
	return false
}

// OnlyBuilds reports whether a change of a Makefile of the check touches only how the program is built, nothing that
// decides. changes is the patch.
func (c *Checks) OnlyBuilds(change patch.Change, changes []patch.Change) bool {
	if !c.refs.makefiles[change.Path] || !edited(change) || disarmed(string(change.Before.Data), string(change.After.Data)) {
		return false
	}
	known := map[string]bool{}
	checks := func(p string) bool {
		if _, ok := known[p]; !ok {
			known[p] = c.Class(p) > 0 && !strings.HasPrefix(p, "-") && !IsObject(p) && !c.refs.made[p] // these are built
		}
		return known[p]
	}
	_, phony := checkParts(string(change.Before.Data), nil, checks)
	after, phony := checkParts(string(change.After.Data), phony, checks)
	before, _ := checkParts(string(change.Before.Data), phony, checks)
	l := linking{Checks: c, dir: path.Dir(change.Path), text: string(change.Before.Data), changes: changes}
	return l.sameParts(before, after)
}
