package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/man"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

func manCommand(prog *program) *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "man [VERB...]",
		Short: "Print the manual page of a verb, or write all of them",
		Long: `Prints a manual page as man and groff take it: of the program, or of a verb. To
read it: async-pipeline man run | man -l -

--dir writes all pages to a folder. The date in them is SOURCE_DATE_EPOCH where
that is set, else that of the commit the program was built from.`,
		Example: `  async-pipeline man run
  async-pipeline man fix apply
  async-pipeline man --dir ~/.local/share/man/man1`,
		RunE: func(c *cobra.Command, verb []string) error {
			switch {
			case !c.Flags().Changed("dir"):
				return manPage(prog, c.Root(), verb)
			case len(verb) > 0:
				return exit.Misused("--dir writes the pages of all verbs: leave %s out", strings.Join(verb, " "))
			case dir == "":
				return exit.Misused("--dir has an empty folder: is a variable not set?")
			}
			return manPages(prog, c.Root(), dir)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "write the pages of all verbs to `DIR`")
	return c
}

// manPage prints the page of one verb.
func manPage(prog *program, root *cobra.Command, verb []string) error {
	c, rest, err := root.Find(verb)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return prog.unknownVerb(c, rest...)
	}
	date, err := man.Date(prog.Env("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	_, err = prog.Out.Write(man.Page(c, versionWord(), date))
	return err
}

// manPages writes all pages to a folder.
func manPages(prog *program, root *cobra.Command, dir string) error {
	date, err := man.Date(prog.Env("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	if dir, err = prog.Path(dir); err != nil {
		return err
	}
	n, err := man.Write(root, dir, versionWord(), date)
	if err != nil {
		return err
	}
	prog.Results().Line("%s: %s", prog.Results().Path(dir), english.Count(n, "manual page"))
	return nil
}
