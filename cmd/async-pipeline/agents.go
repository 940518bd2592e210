package main

import "github.com/spf13/cobra"

// agentsCommand has the verbs for questions about agents.
func agentsCommand(prog *program) *cobra.Command {
	c := &cobra.Command{
		Use:     "agents",
		Short:   "Compare agents",
		Long:    `Says how the agents of PIPELINE.hcl do.`,
		Example: `  async-pipeline agents bench`,
	}
	group(prog, c)
	c.AddCommand(agentsBenchCommand(prog))
	return c
}
