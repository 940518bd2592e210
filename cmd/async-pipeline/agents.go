package main

import "github.com/spf13/cobra"

// agentsCommand has the verbs for questions about agents.
func agentsCommand(prog *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "agents",
		Short: "List and try the agent CLIs, and compare agents",
		Long: `Tells which agent CLIs are here, what they make of a provider's faults, and how
the agents of PIPELINE.hcl do.`,
		Example: `  async-pipeline agents list
  async-pipeline agents bench`,
	}
	group(prog, c)
	c.AddCommand(agentsListCommand(prog), agentsBenchCommand(prog), agentsProbeCommand(prog))
	return c
}
