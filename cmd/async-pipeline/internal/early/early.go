// Package early starts the supervisor of tasks while the program is still being initialised, which takes about as
// long as that start. To import it is enough: packages are initialised in the order of their paths, as far as their
// imports permit, so this one comes before most.
package early

import (
	"os"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

func init() {
	if runs(os.Args) {
		sandbox.Prepare()
	}
}

// runs reports whether a command line is surely one of the verb run that starts tasks, if PIPELINE.hcl can be read. A
// supervisor that is not needed exits with this process.
func runs(args []string) bool {
	return len(args) > 1 && args[1] == "run" &&
		!slices.ContainsFunc(args, func(a string) bool { return a == "--dry-run" || a == "--help" || a == "-h" })
}
