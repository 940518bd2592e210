package hclfile

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// embed rewrites what an included file declares for the file that includes it: names get the name of the include in
// front, and paths become relative to the folder of the including file. Nothing else does so. folder is that of the
// included file, relative to the folder of the including one; it has no characters of a pattern.
func embed(c *pipeline.Config, name, folder string) {
	named := func(s string) string { return name + ":" + s }
	at := func(s string) string { return path.Join(folder, s) }
	glob := func(s string) string {
		if rest, ok := strings.CutPrefix(s, "!"); ok {
			return "!" + folder + "/" + rest
		}
		return folder + "/" + s
	}
	for _, t := range c.Tasks {
		t.Name, t.Base, t.DependsOn = named(t.Name), named(t.Base), each(t.DependsOn, named)
		t.Dir, t.Dotenv, t.Reads = at(t.Dir), each(t.Dotenv, at), each(t.Reads, at)
		t.Filesets, t.Asked = each(t.Filesets, at), each(t.Asked, at)
		slices.Sort(t.Reads)
		slices.Sort(t.Filesets)
		slices.Sort(t.Asked)
		t.Inputs, t.Outputs = each(t.Inputs, glob), each(t.Outputs, glob)
		t.Scratch.Include, t.Scratch.Exclude = each(t.Scratch.Include, glob), each(t.Scratch.Exclude, glob)
		t.PassEnv = union(c.PassEnv, t.PassEnv)
		if a := t.Agent; a != nil {
			a.Use = named(a.Use)
			if a.StdoutTo != "" {
				a.StdoutTo = at(a.StdoutTo)
			}
		}
		for _, h := range t.OnFail {
			if a := h.Agent; a != nil {
				a.Protect, a.Verify = each(a.Protect, glob), each(a.Verify, named)
				a.Use, a.Fallback = named(a.Use), each(a.Fallback, named)
				if a.Reviewer != "" {
					a.Reviewer = named(a.Reviewer)
				}
			}
		}
	}
	for _, a := range c.Agents {
		a.Name = named(a.Name)
		if len(a.Command) > 0 { // a program of the project; a name is looked up in PATH
			if p := a.Command[0].Value; strings.Contains(p, "/") && !path.IsAbs(p) {
				a.Command[0].Value = "./" + at(p)
			}
		}
	}
	for _, j := range c.Jobs {
		j.Name, j.Tasks = named(j.Name), each(j.Tasks, named)
	}
	c.Empty = each(c.Empty, named)
	c.Filesets, c.Asked, c.Found = each(c.Filesets, at), each(c.Asked, at), each(c.Found, at)
	c.Included = each(append([]string{filepath.Base(c.File)}, c.Included...), at)
}

// each returns a new list with f of each element; nil stays nil. Instances of a task share lists.
func each(list []string, f func(string) string) []string {
	if list == nil {
		return nil
	}
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = f(s)
	}
	return all
}

// union returns what is in a or b, each element once.
func union(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
