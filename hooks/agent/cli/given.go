package cli

// What a program gets of the person's because PIPELINE.hcl says so: variables and files, such as those by which it is
// signed in.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// Given is what a program gets besides what every agent gets.
type Given struct {
	Env   []string // KEY=VALUE; the last of a name counts
	Files []string // "~/…" with slashes: copied to the same place in the program's HOME
	Home  string   // the person's
	Lacks []string // names of secrets that Env needs and that are not set
}

// mostGiven is the size of the largest file that is given, in bytes.
const mostGiven = 1 << 20

// ready returns what the agent is to be given and what is not there.
func (g *Given) ready(agent string) error {
	if len(g.Lacks) > 0 {
		return fmt.Errorf("agent %q needs %s, which is not set: set it, or take it out of the agent's env", agent,
			english.List(g.Lacks, len(g.Lacks)))
	}
	for _, name := range g.Files {
		if _, err := g.read(name); err != nil {
			return fmt.Errorf("agent %q is given %w: make it, or take it out of the agent's files", agent, err)
		}
	}
	return nil
}

// read returns the contents of a file of the person's. The error begins with its name.
func (g *Given) read(name string) ([]byte, error) {
	file := filepath.Join(g.Home, filepath.FromSlash(strings.TrimPrefix(name, "~/")))
	info, err := os.Stat(file)
	switch {
	case g.Home == "":
		return nil, fmt.Errorf("%s, and HOME is not set", name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s, which does not exist", name)
	case err != nil:
		return nil, fmt.Errorf("%s, which cannot be read (%w)", name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s, which is no file", name)
	case info.Size() > mostGiven:
		return nil, fmt.Errorf("%s, which is larger than 1 MiB", name)
	}
	f, err := os.Open(file)
	if err == nil {
		defer f.Close() //nolint:errcheck // only read
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(f, mostGiven)); err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("%s, which cannot be read (%w)", name, err)
}

// place copies the files into the HOME of env, where the program can only read them. The values in them become
// secrets, and so do the passwords of URLs in the variables.
func (g *Given) place(env []string, secrets *redact.Set) error {
	for _, kv := range g.Env {
		name, text, _ := strings.Cut(kv, "=")
		for _, v := range redact.InURLs(text) {
			secrets.Add(name, v)
		}
	}
	if len(g.Files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(value(env, "HOME"))
	if err != nil {
		return fmt.Errorf("its HOME: %w", err)
	}
	defer func() { _ = root.Close() }() // only opened to write in it
	for _, name := range g.Files {
		text, err := g.read(name)
		if err != nil {
			return fmt.Errorf("it is given %w", err)
		}
		addSecrets(secrets, name, text)
		below := strings.TrimPrefix(name, "~/")
		if err := errors.Join(write(root, below, text), root.Chmod(below, 0o400)); err != nil {
			return fmt.Errorf("%s for its HOME: %w", name, err)
		}
	}
	return nil
}

// names returns what is given; nil: nothing.
func (g *Given) names() *agent.Given {
	if len(g.Env)+len(g.Files) == 0 {
		return nil
	}
	n := &agent.Given{Variables: []string{}, Files: append([]string{}, g.Files...)}
	for _, kv := range g.Env {
		name, _, _ := strings.Cut(kv, "=")
		n.Variables = append(n.Variables, name)
	}
	slices.Sort(n.Variables)
	n.Variables = slices.Compact(n.Variables)
	return n
}
