package main

import "github.com/spf13/cobra"

// agentsCommand has the verbs for questions about agents.
func agentsCommand(prog *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "agents",
		Short: "List the agent CLIs, and compare agents",
		Long:  `Says which agent CLIs are here, and how the agents of PIPELINE.hcl do.`,
		Example: `  async-pipeline agents list
  async-pipeline agents bench`,
	}
	group(prog, c)
	c.AddCommand(agentsListCommand(prog), agentsBenchCommand(prog))
	return c
}
