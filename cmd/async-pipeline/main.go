// Async-pipeline runs the tasks of a PIPELINE.hcl and answers a failed one with a proposed fix. Package main has one file a verb: it
// parses flags, calls the packages that do the work, and prints. It is the only one that sees the process it runs in.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

func main() {
	sandbox.Main() // a supervisor is this program started again: nothing may come before
	delayGC()
	os.Exit(Main())
}

// Main is the whole program. It returns the exit code.
func Main() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "async-pipeline: the working directory cannot be read: %v\n", err)
		return exit.Refused
	}
	return process{
		program: os.Args[0], args: os.Args[1:], environ: os.Environ(), dir: dir,
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
	}.main()
}

// delayGC delays the first garbage collection until the heap has 24 MiB instead of the Go runtime's 4. Most commands end before;
// later collections are as usual.
func delayGC() {
	const percent = 600 // of the runtime's smallest heap, 4 MiB
	usual := debug.SetGCPercent(percent)
	if usual != 100 {
		debug.SetGCPercent(usual) // somebody has set GOGC
		return
	}
	first := new([16]byte)
	runtime.SetFinalizer(first, func(*[16]byte) { debug.SetGCPercent(usual) })
}
