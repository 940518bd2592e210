package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// CheckOutputs returns an error when a task of g depends on one that is not in g and whose outputs do not exist (run --only).
func CheckOutputs(c *pipeline.Config, g *pipeline.Graph) error {
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
					return fmt.Errorf("outputs of task %q: %q is not a pattern: %w", name, glob, err)
				}
				if len(found) == 0 {
					return fmt.Errorf("task %q needs what %q makes, and there is no %s: run it too (leave out --only)", t.Name, name, glob)
				}
			}
		}
	}
	return nil
}
