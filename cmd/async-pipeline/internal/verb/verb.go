// Package verb asks cobra about the verbs of the command line.
package verb

import (
	"strings"

	"github.com/spf13/cobra"
)

// Listed reports whether a command is listed in help, manual pages and completion. Cobra leaves out help itself.
func Listed(c *cobra.Command) bool { return c.IsAvailableCommand() || c.Name() == "help" }

// Name returns a verb without the program's name: "fix apply".
func Name(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ") }
