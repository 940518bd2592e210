// What a verb knows of the process that it runs in, and how its end becomes an exit code.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A process is what the operating system gives a call of the program.
type process struct {
	program        string   // as it was typed
	args           []string // without the program's name
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string // KEY=VALUE
	dir            string   // the working directory
}

// A program is one call of async-pipeline: what its verbs know of the process and of the project.
type program struct {
	*console.Console
	project.Project
	args     []string
	noTopic  error // help was asked for an unknown verb
	recorded bool  // a verdict is sealed, and the exit code is its own
}

// open returns the program for a process.
func (p process) open() *program {
	if dir, err := filepath.EvalSymlinks(p.dir); err == nil {
		p.dir = dir
	}
	g := &program{args: p.args, Project: project.Project{Program: p.program, Environ: p.environ, Dir: p.dir, Into: project.Here, Secrets: &redact.Set{}}}
	g.Console = console.New(p.stdin, p.stdout, p.stderr, g.Env, p.dir, g.Secrets)
	return g
}

// main carries out the verb and returns the exit code.
func (p process) main() int {
	// Caught, so that a write to a closed pipe is an error and not the end: the record is sealed first.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	g := p.open()
	err := command(g).Execute()
	code := g.code(cmp.Or(err, g.noTopic))
	g.Out.Flush()
	switch err := g.Out.Problem(); {
	case errors.Is(err, syscall.EPIPE) && g.recorded:
		// The verdict is 141 where the tasks were cut short. A run whose output was not read to the end, or whose hooks were cut
		// short, exits with its verdict.
		return code
	case errors.Is(err, syscall.EPIPE):
		return exit.Pipe
	case err != nil:
		g.Messages().Problem(fmt.Sprintf("not everything could be written to the output: %v", err))
		if code == 0 {
			return exit.Refused
		}
	}
	return code
}

// code prints an error and returns its exit code.
func (g *program) code(err error) int {
	if err == nil {
		return 0
	}
	e := &exit.Error{Code: exit.Refused, Text: err.Error()}
	errors.As(err, &e)
	switch {
	case e.Text == "":
	case e.Wrap:
		g.Messages().Refused(e.Text)
	default:
		g.Messages().Problem(e.Text)
	}
	return e.Code
}

// ciMode reports whether CI is set to anything but empty, 0 or false.
func (g *program) ciMode() bool {
	switch strings.ToLower(g.Env("CI")) {
	case "", "0", "false":
		return false
	}
	return true
}
