package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// outputsThere refuses a run without dependencies when something they would have made is not there.
func outputsThere(c *pipeline.Config, g *pipeline.Graph) error {
	in := map[string]bool{}
	for _, t := range g.Tasks() {
		in[t.Name] = true
	}
	for _, t := range g.Tasks() {
		for _, name := range t.DependsOn {
			d := c.Task(name)
			if in[name] || d == nil {
				continue
			}
			for _, glob := range d.Outputs {
				if strings.HasPrefix(glob, "!") {
					continue
				}
				found, err := doublestar.Glob(os.DirFS(c.Root), filepath.ToSlash(filepath.Clean(glob)))
				if err != nil {
					return refuse("outputs of task %q: %q is not a pattern: %v", name, glob, err)
				}
				if len(found) == 0 {
					return refuse("task %q needs what %q makes, and there is no %s: run it too (leave out --only)", t.Name, name, glob)
				}
			}
		}
	}
	return nil
}

// parallel is how many tasks run at a time.
func parallel(c *pipeline.Config, asked int) int {
	switch {
	case asked > 0:
		return asked
	case c.Concurrency > 0:
		return c.Concurrency
	}
	return runtime.NumCPU()
}
