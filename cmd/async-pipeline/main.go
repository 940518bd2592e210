// Async-pipeline runs the tasks of a PIPELINE.hcl and answers a failed one with a proposed fix. This is the hall: it
// wires the rooms together, one file a verb, and is the only place that sees the process it runs in.
package main

import (
	"fmt"
	"os"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

func main() {
	sandbox.Main() // a supervisor is this program started again: nothing may come before
	leaveGarbage()
	os.Exit(Main())
}

// Main is the whole program and gives its exit code.
func Main() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "async-pipeline: the working directory cannot be read: %v\n", err)
		return exitRefused
	}
	h := &hall{
		program: os.Args[0],
		args:    os.Args[1:],
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		environ: os.Environ(),
		dir:     dir,
	}
	return h.main()
}
