package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/doctor"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
)

func doctorCommand(prog *program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong here; nothing is changed",
		Long: `Looks at the project, its records and the machine, and changes nothing: runs
that were killed and what they left, damaged records, patches and logs that are
not as they were written (as fix audit does, newest runs first, 10 seconds long
at most), locks and who holds them, git, the sandbox, disk space, the clock.
Each line says what to do about it.

Exit code: 0 nothing needs you, 1 something does (✗); ! is only to know.`,
		Example: `  async-pipeline doctor
  async-pipeline doctor --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			found, err := doctor.Examine(&prog.Project, version(), prog.Messages().Path)
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
	c.Flags().BoolVar(&asJSON, "json", false, "print the findings as a JSON list")
	prog.varFlag(c)
	return c
}
