package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/completion"
)

func completionCommand(prog *program) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print what makes a shell complete verbs, tasks and runs",
		Long: `Prints a script for bash, zsh, fish or powershell. With it the shell completes
verbs, flags and their values, tasks, jobs, runs and proposals. Completing reads
PIPELINE.hcl and the records; it starts nothing and writes nothing.

  bash        in ~/.bashrc: source <(async-pipeline completion bash)
  zsh         async-pipeline completion zsh > "${fpath[1]}/_async-pipeline"
              (and in ~/.zshrc: autoload -U compinit; compinit)
  fish        async-pipeline completion fish > \
              ~/.config/fish/completions/async-pipeline.fish
  powershell  in $PROFILE: async-pipeline completion powershell |
              Out-String | Invoke-Expression

It takes effect in the next shell.`,
		Example: `  async-pipeline completion bash
  async-pipeline completion zsh > _async-pipeline
  source <(async-pipeline completion bash)`,
		Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			script, err := completion.Script(c.Root(), args[0])
			if err != nil {
				return err
			}
			_, err = prog.Out.Write(script)
			return err
		},
	}
}
