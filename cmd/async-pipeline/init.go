package main

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/agent/cli"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
	"github.com/async-pipeline/async-pipeline/internal/policy"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/detect"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

func initCommand(prog *program) *cobra.Command {
	var show bool
	var agent string
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a PIPELINE.hcl for the project that is here",
		Long: `Looks at the files of the working directory and of folders up to two levels
below (go.mod, package.json, pyproject.toml, Cargo.toml, CMakeLists.txt,
Makefile, justfile, Taskfile.yml) and writes a PIPELINE.hcl that checks, tests
and builds what is there. Nothing of the project is run, and no other file is
written. A task whose program is not in PATH is written as a comment.

With --agent a failing test is answered by that agent CLI with a proposed fix;
where no task is known to run tests, the hook is a comment in the first task.
Without it that hook is a comment, of the first CLI that is installed and signed
in.

A PIPELINE.hcl that is there already is never changed.
Exit code: 0 written or shown, 2 not.`,
		Example: `  async-pipeline init
  async-pipeline init --print
  async-pipeline init --agent claude
  async-pipeline -C services/api init`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error { return initProject(prog, agent, show) },
	}
	c.Flags().StringVar(&agent, "agent", "", "the agent CLI that answers failures: "+english.List(knowncli.Names(), 9))
	c.Flags().BoolVar(&show, "print", false, "show it and write nothing")
	return c
}

func initProject(prog *program, agent string, show bool) error {
	if _, ok := knowncli.Find(agent); !ok && agent != "" {
		return exit.Refuse("there is no agent CLI %q that is known here: write one of %s, or edit the file for another program", agent,
			english.List(knowncli.Names(), 9))
	}
	dir, err := prog.Start()
	if err != nil {
		return err
	}
	if !show {
		if err := notInHook(prog, "only a person, or a task, drafts a PIPELINE.hcl"); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, hclfile.Name)
	above := ""
	if !show {
		if above, err = noneIn(dir); err != nil {
			return err
		}
	}
	with, lacks := hookAgent(prog, dir, agent)
	draft, err := detect.Propose(dir, func(name string) bool {
		return policy.Lookup(name, dir, prog.Env("PATH"), func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
		}) != ""
	}, with)
	if err != nil {
		return exit.Refuse("%v", err)
	}
	if show {
		if _, err := prog.Out.Write(draft.File); err != nil {
			return err
		}
		for _, n := range draft.Notes {
			prog.Messages().Note(n)
		}
		return nil
	}
	c, err := writeDraft(prog, file, draft.File)
	if err != nil {
		return err
	}
	if above != "" {
		prog.Messages().Note(above + " is no longer the pipeline of this folder and those below: the nearest PIPELINE.hcl counts")
	}
	task := ""
	if agent != "" && !draft.Active {
		task = draft.Tasks[0]
	}
	prog.Results().Drafted(view.Drafted{
		File: file, Found: draft.Found, Notes: draft.Notes, Config: c, Next: prog.Typed("run"),
		HookLine: draft.HookLine, AgentLine: draft.AgentLine, Agent: with.CLI, Active: draft.Active, HookTask: task, Lacks: lacks,
	})
	return nil
}

// keyVariables are the variables in which people keep the keys of CLIs that choose a model themselves.
var keyVariables = map[string]string{
	"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY",
}

// hookAgent returns the agent of the drafted hook: the CLI that was asked for, or, as a comment, the first one that
// can be used here. lacks tells why the one that was asked for cannot.
func hookAgent(prog *program, dir, asked string) (a detect.Agent, lacks string) {
	for _, name := range knowncli.Names() {
		if asked != "" && name != asked {
			continue
		}
		k := &cli.Known{
			ID: name, CLI: name, Given: cli.Given{Home: prog.Env("HOME")}, Look: func(program string) error { return prog.FindProgram(dir, program) },
		}
		a = detect.Agent{CLI: name, Active: asked != ""}
		err := k.Ready()
		if key := keyVariables[name]; err != nil && key != "" && prog.Env(key) != "" && k.Look(name) == nil {
			a.Key, err = key, nil
		}
		switch {
		case err == nil:
			return a, ""
		case asked != "":
			return a, err.Error()
		}
	}
	return detect.Agent{}, ""
}

// noneIn refuses a folder that has a PIPELINE.hcl of any kind, and returns the one of a folder above, or "".
func noneIn(dir string) (above string, err error) {
	for _, name := range []string{hclfile.Name, hclfile.Name + ".json"} {
		file := filepath.Join(dir, name)
		if _, err := os.Lstat(file); err == nil {
			return "", exit.Refuse("%s is there already, and is not changed: edit it, or see what would be written with init --print", file)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", exit.Refuse("%s cannot be read: %v", file, err)
		}
	}
	above, err = hclfile.Find(filepath.Dir(dir))
	if err != nil {
		return "", nil //nolint:nilerr // none above, or none that concerns this folder
	}
	return above, nil
}

// writeDraft writes the file completely or not at all, and never over another. It is read once before it gets its
// name, so what init writes passes validate.
func writeDraft(prog *program, file string, text []byte) (*pipeline.Config, error) {
	draft := filepath.Join(filepath.Dir(file), "."+hclfile.Name+"."+rand.Text())
	if err := writeNew(draft, text); err != nil {
		return nil, exit.Refuse("%s cannot be written: %v", file, err)
	}
	defer func() { _ = os.Remove(draft) }() // it has its other name by then, or is of no use
	c, err := hclfile.Load(draft, hclfile.Options{})
	if err != nil {
		return nil, exit.Refuse("no file was written: what was drafted has a fault, which is a fault of this program; please report it with the output of init --print\n%v", err)
	}
	// A link, not a rename: it fails where somebody was quicker.
	err = os.Link(draft, file)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		err = writeNew(file, text)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, exit.Refuse("%s is there already, and is not changed", file)
	case err != nil:
		return nil, exit.Refuse("%s cannot be written: %v", file, err)
	}
	c.File = file
	return c, nil
}

// writeNew writes a file that must not exist.
func writeNew(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}
