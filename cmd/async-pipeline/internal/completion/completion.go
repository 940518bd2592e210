// Package completion is what a shell needs to complete verbs, flags, tasks, jobs, runs and proposals. It reads PIPELINE.hcl and the
// records; it settles, starts, writes and prints nothing, and leaves out what takes long.
package completion

import (
	"bytes"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
)

// shells are the shells that there is a script for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// Script returns what makes a shell complete the words of root.
func Script(root *cobra.Command, shell string) ([]byte, error) {
	var script bytes.Buffer
	var err error
	switch shell {
	case "bash":
		if err = root.GenBashCompletionV2(&script, true); err == nil {
			script.WriteString(strings.ReplaceAll(bashWords+bashQuotes, "PROGRAM", root.Name()))
		}
	case "zsh":
		err = root.GenZshCompletion(&script)
	case "fish":
		err = root.GenFishCompletion(&script, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&script)
	default:
		err = exit.Misused("%q is not a shell with completion\nwrite %s", shell, strings.Join(shells, ", "))
	}
	return script.Bytes(), err
}

// Asked reports whether the arguments of the program are a shell's question for words.
func Asked(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}
