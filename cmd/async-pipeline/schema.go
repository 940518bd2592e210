package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

func schemaCommand(prog *program) *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the language of PIPELINE.hcl",
		Long: `Prints every block and attribute of PIPELINE.hcl as JSON, for editors: names,
types, defaults and what they are for. With --markdown it prints the reference
page, which has the functions too. Both come from the table that PIPELINE.hcl is
read with, so they are true of this version.`,
		Example: `  async-pipeline schema
  async-pipeline schema --markdown > language.md`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if markdown {
				_, err := prog.Out.Write(hclfile.Reference())
				return err
			}
			return prog.PrintJSON(hclfile.Language())
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "print the reference page instead")
	return c
}
