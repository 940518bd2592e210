package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/verb"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
)

func helpCommand(prog *program) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB...]",
		Short: "Show the help of a verb",
		Long:  `Shows the help of a verb, as VERB --help does.`,
		Example: `  async-pipeline help run
  async-pipeline help fix apply`,
		RunE: func(c *cobra.Command, words []string) error {
			about, rest, err := c.Root().Find(words)
			switch {
			case err != nil:
				return prog.unknownVerb(c.Root(), words...)
			case len(rest) > 0 && about.HasSubCommands():
				return prog.unknownVerb(about, rest...)
			case len(rest) > 0:
				return exit.Misused("%s has no verb %q\nwrite async-pipeline help %s", verb.Name(about), rest[0], verb.Name(about))
			}
			return about.Help()
		},
	}
}

// setHelp makes --help use our words and at most 80 columns. A word that is not a verb is an error (noTopic), as it
// is without --help.
func setHelp(prog *program, root *cobra.Command) {
	plain, show := root.UsageTemplate(), root.HelpFunc()
	root.SetUsageTemplate(usageTemplate(plain, view.Width))
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
			prog.noTopic = prog.unknownVerb(c, words...)
			return
		}
		if columns := prog.Results().Columns; columns > 0 && columns < view.Width {
			root.SetUsageTemplate(usageTemplate(plain, max(columns, 40)))
			c.Long = rewrapped(c.Long, max(columns, 20))
			for _, verb := range c.Commands() {
				at := 3 + verb.NamePadding()
				verb.Short = strings.Join(view.Wrap(verb.Short, max(columns-at, 20)), "\n"+strings.Repeat(" ", at))
			}
		}
		show(c, args)
	})
}

// rewrapped wraps the paragraphs of a text anew; indented lines stay as they are.
func rewrapped(text string, columns int) string {
	var lines, words []string
	for line := range strings.SplitSeq(text+"\n", "\n") {
		if line != "" && line[0] != ' ' {
			words = append(words, line)
			continue
		}
		if len(words) > 0 {
			lines = append(lines, view.Wrap(strings.Join(words, " "), columns)...)
			words = nil
		}
		lines = append(lines, line)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// usageTemplate adapts cobra's template for the part below the text of a verb.
func usageTemplate(template string, columns int) string {
	return strings.NewReplacer(
		".LocalFlags.FlagUsages", fmt.Sprintf(".LocalFlags.FlagUsagesWrapped %d", columns),
		".InheritedFlags.FlagUsages", fmt.Sprintf(".InheritedFlags.FlagUsagesWrapped %d", columns),
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, "{{.CommandPath}} VERB --help tells more of a verb.",
		"[command]", "VERB",
		"Available Commands:", "Verbs:",
	).Replace(template)
}
