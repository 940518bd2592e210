package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent/configured"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// FindProgram returns why a program cannot be started, or nil. A path is relative to the root; a name is looked up in PATH.
func (p *Project) FindProgram(root, name string) error {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(root, name)
		}
		return executable(name)
	}
	for _, dir := range filepath.SplitList(p.Env("PATH")) {
		if filepath.IsAbs(dir) && executable(filepath.Join(dir, name)) == nil {
			return nil
		}
	}
	return errors.New("it is not in PATH")
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return errors.New("it is not an executable file")
	}
	return nil
}

// AgentWarnings returns a warning, at its place in the file, for each agent of a task that lacks its program or its key here.
func (p *Project) AgentWarnings(c *pipeline.Config) (all pipeline.Errors) {
	used := map[string]bool{}
	for _, t := range c.Tasks {
		for _, h := range t.OnFail {
			if h.Agent != nil {
				used[h.Agent.Use] = true
			}
		}
	}
	for _, a := range c.Agents {
		w := pipeline.Error{Pos: a.Pos, Warning: true}
		if !used[a.Name] {
			continue
		}
		if keys := configured.MissingKey(a); len(keys) > 0 {
			w.Summary = fmt.Sprintf("agent %q needs %s, which is not set", a.Name, strings.Join(keys, ", "))
			w.Detail = "Until it is set, a failure that this agent should answer gets no fix."
			all = append(all, w)
		} else if len(a.Command) > 0 && a.Command[0].Value != "" {
			if err := p.FindProgram(c.Root, a.Command[0].Value); err != nil {
				w.Summary = fmt.Sprintf("agent %q needs the program %s: %v", a.Name, a.Command[0].Value, err)
				w.Detail = "Until it is installed, a failure that this agent should answer gets no fix."
				all = append(all, w)
			}
		}
	}
	return all
}
