package hclfile

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A claim is the outputs of a task whose result is stored.
type claim struct {
	task *pipeline.Task
	at   hcl.Range
	in   *report // of its file
}

// An outputsAt is where outputs are declared.
type outputsAt struct {
	in *report
	at hcl.Pos
}

// overlaps adds a fault for outputs of which the patterns alone show that another task makes them too: a restored result
// of one would undo the other's. It sees equal patterns, and what is in a folder that another claims with FOLDER or FOLDER/**.
func (r *tasks) overlaps() {
	const below = "/**"
	by := map[string]string{} // pattern: the task that has it
	for _, c := range r.claims {
		for _, o := range c.task.Outputs {
			o = path.Clean(o)
			if other := by[o]; other != "" && other != c.task.Name {
				r.overlap(c, o, other)
			} else {
				by[o] = c.task.Name
			}
		}
	}
	for _, c := range r.claims {
		for _, o := range c.task.Outputs {
			o = path.Clean(o)
			literal := o
			if i := strings.IndexAny(o, `*?[{\`); i >= 0 {
				literal = o[:i] // the rest of a name is no folder: only what is before its last slash counts
			}
			for dir := path.Dir(literal + "x"); dir != "."; dir = path.Dir(dir) {
				other := cmp.Or(by[dir+below], by[dir])
				if other != "" && other != c.task.Name && o != dir+below {
					r.overlap(c, o, other)
					break
				}
			}
		}
	}
}

func (r *tasks) overlap(c claim, pattern, other string) {
	at := outputsAt{c.in, c.at.Start}
	if r.overlapping[at] {
		return // of many instances the first is told
	}
	r.overlapping[at] = true
	c.in.addf(c.at, fmt.Sprintf("A stored result of one would undo the other's. Give each its own files, or write cache { enabled = false } in %q.", c.task.Base),
		"tasks %q and %q both make %s", pipeline.ShownName(other), c.task.Shown(), pattern)
}
