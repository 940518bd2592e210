// Package project finds and reads what a verb works on: the root, its PIPELINE.hcl, its records.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/configured"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// Here is the value of -C where it was not typed.
const Here = "."

// A Project is what a person typed to say where a verb works, and with which variables.
type Project struct {
	Program  string      // as it was typed
	Environ  []string    // KEY=VALUE
	Dir      string      // the working directory, without links
	Into     string      // -C
	Vars     []string    // --var, NAME=VALUE
	VarFiles []string    // --var-file
	Secrets  *redact.Set // gets the secrets of the PIPELINE.hcl that is read
}

// Env returns a variable of the environment, or "".
func (p *Project) Env(name string) string {
	v, _ := p.Lookup(name)
	return v
}

// Lookup returns a variable of the environment and reports whether it is set.
func (p *Project) Lookup(name string) (string, bool) {
	for _, kv := range p.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

// literal are flags whose values are no names of tasks, however they are written.
var literal = []string{"--var", "--var-file", "--files", "--hunk", "--cache-dir"}

// Typed returns a call of this program as the person would type it from where they are. Names of tasks are
// written as they are shown.
func (p *Project) Typed(args ...string) string {
	words := []string{"async-pipeline"}
	if strings.Contains(p.Program, "/") { // it was not found in PATH
		words[0] = view.Quote(p.Program)
	}
	if p.Into != "" && p.Into != Here {
		words = append(words, "-C", view.Quote(p.Into))
	}
	for i, a := range args {
		if i == 0 || !slices.Contains(literal, args[i-1]) {
			a = view.TaskName(a)
		}
		words = append(words, view.Quote(a))
	}
	return strings.Join(words, " ")
}

// NoWorkingDirectory returns the error for a working directory that cannot be read: most likely it was removed.
func NoWorkingDirectory(err error) error {
	return exit.Refuse("the working directory cannot be read (%v); cd to a folder that is there", err)
}

// Start returns the folder that a verb starts from: the working directory or -C. Links are resolved here, once,
// because a copy of the tree is mounted at the recorded path.
func (p *Project) Start() (string, error) {
	dir := p.Dir
	if p.Into == "" {
		return "", exit.Misused("-C has an empty folder: is a variable not set?")
	}
	if p.Into != Here {
		dir = p.Into
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Dir, dir)
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil && p.Into == Here {
		return "", NoWorkingDirectory(err)
	}
	if err != nil {
		return "", exit.Misused("-C %s: there is no such folder", p.Into)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", exit.Misused("-C %s is not a folder", p.Into)
	}
	return real, nil
}

// Path returns a path as typed, relative to Start.
func (p *Project) Path(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := p.Start()
	return filepath.Join(dir, path), err
}

// File returns the path of PIPELINE.hcl.
func (p *Project) File() (string, error) {
	dir, err := p.Start()
	if err != nil {
		return "", err
	}
	file, err := hclfile.Find(dir)
	if errors.Is(err, hclfile.ErrNotFound) {
		return "", exit.Refuse("no PIPELINE.hcl in %s or a folder above\n%s writes one for what is there; -C DIR names another folder", dir, p.Typed("init"))
	}
	return file, err
}

// Root returns the folder of PIPELINE.hcl or, where that is gone, of the records.
func (p *Project) Root() (string, error) {
	dir, err := p.Start()
	if err != nil {
		return "", err
	}
	if file, err := hclfile.Find(dir); err == nil {
		return filepath.Dir(file), nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, ".async", "runs")); err == nil && info.IsDir() {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", exit.Refuse("neither a PIPELINE.hcl nor recorded runs in %s or a folder above: go to the project, or name it with -C DIR", dir)
		}
	}
}

// Read reads a PIPELINE.hcl and adds its secrets to Secrets. The warnings are about secrets that cannot be
// redacted; errors of the file are pipeline.Errors.
func (p *Project) Read(file string) (c *pipeline.Config, warnings []string, err error) {
	return p.ReadAs(file, hclfile.Options{})
}

// ReadAs is Read with Root and Fetch of o.
func (p *Project) ReadAs(file string, o hclfile.Options) (c *pipeline.Config, warnings []string, err error) {
	values := map[string]string{}
	for _, v := range p.Vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, nil, exit.Misused("--var %q is not of the form NAME=VALUE", v)
		}
		values[name] = value
	}
	files := make([]string, len(p.VarFiles))
	for i, path := range p.VarFiles {
		if path == "" {
			return nil, nil, exit.Misused("--var-file has an empty path: is a variable not set?")
		}
		if files[i], err = p.Path(path); err != nil {
			return nil, nil, err
		}
	}
	c, err = hclfile.Load(file, hclfile.Options{Vars: values, VarFiles: files, Env: p.Lookup, Root: o.Root, Fetch: o.Fetch})
	if c == nil {
		return nil, nil, err
	}
	warnings = p.Redact(c)
	if err != nil {
		return nil, warnings, err
	}
	return c, warnings, nil
}

// Redact adds the secrets of a configuration, and the passwords of URLs in them, to Secrets and returns a warning for
// each that cannot be redacted. A value that is part of the name of a task or job is not redacted, because such a name
// could neither be typed nor found in the record.
func (p *Project) Redact(c *pipeline.Config) (warnings []string) {
	for _, s := range c.Secrets {
		if name := namedAfter(c, s.Value); name != "" {
			warnings = append(warnings, fmt.Sprintf("the value of the secret %s is part of the name of %s, which everybody may read: it is not kept out of logs and records", s.Name, name))
		} else if !p.Secrets.Add(s.Name, s.Value) && s.Value != "" {
			why := fmt.Sprintf("is shorter than %d bytes", redact.MinLen)
			if len(s.Value) >= redact.MinLen {
				why = "is a short word that nearly any text has"
			}
			warnings = append(warnings, fmt.Sprintf("the secret %s %s: it cannot be kept out of logs and records", s.Name, why))
		}
		for _, part := range redact.InURLs(s.Value) {
			if namedAfter(c, part) == "" {
				p.Secrets.Add(s.Name, part)
			}
		}
	}
	return warnings
}

// namedAfter returns the task or job whose name contains a value that is to be redacted, or "".
func namedAfter(c *pipeline.Config, value string) string {
	var one redact.Set
	one.Add("", value)
	in := func(name string) bool {
		if value == "" || !strings.Contains(name, value) {
			return false
		}
		_, found := one.Find([]byte(name)) // a short value only counts as a word by itself
		return found
	}
	for _, t := range c.Tasks {
		if in(t.Name) {
			return fmt.Sprintf("task %q", view.TaskName(t.Name))
		}
	}
	for _, j := range c.Jobs {
		if in(j.Name) {
			return fmt.Sprintf("job %q", j.Name)
		}
	}
	return ""
}

// FindProgram returns why a program cannot be started, or nil. A path is relative to the root; a name is looked up
// in PATH.
func (p *Project) FindProgram(root, name string) error {
	return findProgram(root, name, p.Env("PATH"))
}

// findProgram is FindProgram with a PATH.
func findProgram(root, name, path string) error {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(root, name)
		}
		return executable(name)
	}
	for _, dir := range filepath.SplitList(path) {
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

// Agents returns the agents of a configuration by name.
func (p *Project) Agents(c *pipeline.Config) map[string]agent.Agent {
	return configured.Agents(c, p.Environ, func(program, path string) error { return findProgram(c.Root, program, path) })
}

// AgentWarnings returns a warning, at its place in the file, for each agent of a task that lacks its program or its
// key here, or that is not given a variable with its key.
func (p *Project) AgentWarnings(c *pipeline.Config) (all pipeline.Errors) {
	used, does := map[string]bool{}, map[string]bool{}
	without := func(a *pipeline.Agent) string {
		if does[a.Name] {
			return "the tasks that this agent does fail"
		}
		return "a failure that this agent should answer gets no fix"
	}
	for _, t := range c.Tasks {
		for _, h := range t.OnFail {
			if h.Agent != nil {
				used[h.Agent.Use] = true
			}
		}
		if t.Agent != nil {
			used[t.Agent.Use], does[t.Agent.Use] = true, true
		}
	}
	for _, a := range c.Agents {
		w := pipeline.Error{Pos: a.Pos, Warning: true}
		if !used[a.Name] {
			continue
		}
		if names := configured.Withheld(a, p.Environ); len(names) > 0 {
			w.Summary = fmt.Sprintf("agent %q is not given %s, in which its api_key is", a.Name,
				english.List(names, len(names)))
			w.Detail = "The relay adds the key to its requests, so that no command of the agent can read it. " +
				"Take the variable out of pass_env and env, or api_key out of the agent."
			all = append(all, w)
		}
		if keys := configured.MissingKey(a); len(keys) > 0 {
			w.Summary = fmt.Sprintf("agent %q needs %s, which is not set", a.Name, strings.Join(keys, ", "))
			w.Detail = "Until it is set, " + without(a) + "."
			all = append(all, w)
		} else if a.CLI != nil {
			if err := p.Agents(c)[a.Name].Ready(); err != nil {
				w.Summary, w.Detail = err.Error(), "Until then, "+without(a)+"."
				all = append(all, w)
			}
		} else if len(a.Command) > 0 && a.Command[0].Value != "" {
			if err := findProgram(c.Root, a.Command[0].Value, configured.PathOf(a, p.Environ)); err != nil {
				w.Summary = fmt.Sprintf("agent %q needs the program %s: %v", a.Name, a.Command[0].Value, err)
				w.Detail = "Until it is installed, " + without(a) + "."
				all = append(all, w)
			}
		}
	}
	return all
}
