package hclfile

// How a file refers to the tasks of the files that it includes.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// adopt declares an included file and its tasks, under its name.
func (r *references) adopt(name string, of *references) {
	first := len(r.names)
	for _, task := range of.names {
		r.enlist(name + ":" + task)
	}
	r.included[name] = &declared{name: name, first: first, count: len(of.names), file: true}
	for _, all := range []map[string]*declared{of.tasks, of.included} {
		for inner, d := range all {
			moved := *d
			moved.name, moved.first = name+":"+inner, first+d.first
			moved.keys = maps.Clone(d.keys)
			for key := range moved.keys {
				moved.keys[key] += first
			}
			r.included[moved.name] = &moved
		}
	}
}

// includedRef finds what include.api, include.api.test or include.api.db.test refers to, or adds a fault and returns nil.
func (r *references) includedRef(t hcl.Traversal, key hcl.Expression, at hcl.Range, mustRefer string) *declared {
	const write = `Write include.NAME.TASK, or include.NAME for all tasks of the file.`
	var d *declared
	for _, step := range t[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok || d != nil && !d.file {
			r.add(at, mustRefer, write)
			return nil
		}
		above, name := "", attr.Name
		if d != nil {
			above, name = d.name, d.name+":"+attr.Name
		}
		known := r.below(above)
		switch d = r.included[name]; {
		case d == nil && above == "":
			r.wrongWord(at, fmt.Sprintf("there is no include %q", attr.Name), attr.Name, known,
				fmt.Sprintf("Declare it: include \"PATH\" { name = %q }", attr.Name))
		case d == nil:
			r.wrongWord(at, fmt.Sprintf("include %q has no task %q", above, attr.Name), attr.Name, known,
				"It has "+english.List(known, 8)+".")
		}
		if d == nil || d.unread {
			return nil
		}
	}
	switch {
	case d == nil:
		r.add(at, mustRefer, write)
		return nil
	case key != nil && d.keys == nil:
		written := "include." + strings.ReplaceAll(d.name, ":", ".")
		r.addf(at, fmt.Sprintf("Write %s.", written), "%s has no instances", written)
		return nil
	}
	return d
}

// below lists what may stand behind the name of an included file; behind nothing, the names of the files.
func (r *references) below(file string) []string {
	var all []string
	for name := range r.included {
		in, last := "", name
		if i := strings.LastIndexByte(name, ':'); i >= 0 {
			in, last = name[:i], name[i+1:]
		}
		if in == file {
			all = append(all, last)
		}
	}
	slices.Sort(all)
	return all
}
