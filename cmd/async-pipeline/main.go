// Async-pipeline runs the tasks of a PIPELINE.hcl and answers a failed one with a proposed fix. Package main has
// one file a verb: it parses flags, calls the packages that do the work, and prints. It is the only one that sees
// the process it runs in.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	_ "github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/early"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/scratch"
)

func main() {
	delayGC()
	os.Exit(Main())
}

// Main is the whole program. It returns the exit code.
func Main() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "async-pipeline: %v\n", project.NoWorkingDirectory(err))
		return exit.Refused
	}
	return process{
		program: os.Args[0], args: os.Args[1:], environ: os.Environ(), dir: dir,
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
	}.main()
}

// delayGC delays the first garbage collection until the heap has 17 MiB instead of the Go runtime's 4. Most
// commands end before; later collections are as usual.
func delayGC() {
	const percent = 425 // of the runtime's smallest heap, 4 MiB
	usual := debug.SetGCPercent(percent)
	if usual != 100 {
		debug.SetGCPercent(usual) // somebody has set GOGC
		return
	}
	first := new([16]byte)
	runtime.SetFinalizer(first, func(*[16]byte) { debug.SetGCPercent(usual) })
}

// What a verb knows of the process that it runs in, and how its end becomes an exit code.

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
	bin      scratch.Bin
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
	defer console.Release(pipe)

	g := p.open()
	defer g.emptyBin()
	err := command(g).Execute()
	code := g.code(cmp.Or(err, g.noTopic))
	g.Out.Flush()
	switch err := g.Out.Problem(); {
	case errors.Is(err, syscall.EPIPE) && g.recorded:
		// The verdict is 141 where the tasks were cut short. A run whose output was not read to the end, or whose
		// hooks were cut short, exits with its verdict.
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

// emptyBin removes the copies that were thrown away, unless the person cannot wait: then the next command does.
func (g *program) emptyBin() {
	if g.Hurried() {
		return
	}
	if err := g.bin.Empty(); err != nil {
		g.Messages().Warning(err.Error())
	}
}

// code prints an error and returns its exit code.
func (g *program) code(err error) int {
	if err == nil {
		return 0
	}
	e := ending(err)
	switch {
	case e.Text == "":
	case e.Wrap:
		g.Messages().Refused(e.Text)
	default:
		g.Messages().Problem(e.Text)
	}
	return e.Code
}

// ending returns how an error ends a verb.
func ending(err error) *exit.Error {
	e := &exit.Error{Code: exit.Refused, Text: err.Error()}
	if do := advice.Owner(err); do != "" {
		e.Text += "\n" + do
	}
	errors.As(err, &e)
	return e
}

// ciMode reports whether CI is set to anything but empty, 0 or false.
func (g *program) ciMode() bool {
	switch strings.ToLower(g.Env("CI")) {
	case "", "0", "false":
		return false
	}
	return true
}
