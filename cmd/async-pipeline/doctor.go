package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/doctor"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
)

func doctorCommand(prog *program) *cobra.Command {
	var asJSON, agents bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong here; nothing is changed",
		Long: `Looks at the project, its records and the machine, and changes nothing: runs
that were killed and what they left, damaged records, patches and logs that are
not as they were written (as fix audit does, newest runs first, 10 seconds long
at most), locks and who holds them, git, the sandbox, disk space, whether
results can be stored in the cache, the clock.
Each line says what to do about it.

--agents looks at the agents of PIPELINE.hcl instead, or without one at the
agent CLIs that are installed: program, version, key or sign-in, and whether
the endpoint of the provider answers within 3 seconds. It is asked for nothing,
and no key is sent. CLIs are asked for their version only.

Exit code: 0 nothing needs you, 1 something does (✗); ! is only to know.`,
		Example: `  async-pipeline doctor
  async-pipeline doctor --agents
  async-pipeline doctor --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			var found []view.Finding
			var err error
			if agents {
				found, err = doctor.Agents(&prog.Project, prog.Messages().Path)
			} else {
				found, err = doctor.Examine(&prog.Project, version(), prog.Messages().Path, func(root string) (string, error) {
					var f cacheFlags
					return f.place(prog, root), f.fits(prog, root)
				})
			}
			if err != nil {
				return err
			}
			if asJSON {
				if err := prog.PrintJSON(found); err != nil {
					return err
				}
			} else {
				prog.Results().Doctor(found)
			}
			for _, f := range found {
				if f.State == view.Trouble {
					return exit.With(exit.Failed)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&agents, "agents", false, "look at the agents, and whether their endpoints answer")
	c.Flags().BoolVar(&asJSON, "json", false, "print the findings as a JSON list")
	prog.varFlag(c)
	return c
}
