package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/person"
	"github.com/async-pipeline/async-pipeline/hooks/runaudit"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func fixImportCommand(prog *program) *cobra.Command {
	return &cobra.Command{
		Use:   "import DIR",
		Short: "Take in fixes that were proposed elsewhere",
		Long: `DIR is a copied folder .async/runs/<id>, or an .async folder: what CI kept of a
run. It is checked as fix audit does, and the commit of each fix must be in git
here. Then the run stands in .async/runs like any other, by the id in its own
run.json, marked as imported: its fixes can be shown, verified again (fix
replay), and applied with all checks. Files that its records do not speak of are
left out, and named.
Decisions that people made elsewhere are not taken in. Importing twice changes
nothing. A digest does not say who made a record: import what you fetched from a
place that you trust.

Exit code: 0 imported or here already, 1 refused, 2 could not be carried out.`,
		Example: `  async-pipeline fix import artifact/.async
  async-pipeline fix import artifact/.async/runs/20261121T024000Z-7f3a`,
		Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error { return importRuns(prog, args[0]) },
	}
}

func importRuns(prog *program, typed string) error {
	if typed == "" {
		return exit.Refuse("fix import has an empty folder: is a variable not set?")
	}
	if err := onlyPerson(prog, "imports a run"); err != nil {
		return err
	}
	root, err := prog.Root()
	if err != nil {
		return err
	}
	if err := prog.recoverApply(root); err != nil {
		return err
	}
	from := typed
	if !filepath.IsAbs(from) {
		at, err := prog.Start()
		if err != nil {
			return err
		}
		from = filepath.Join(at, from)
	}
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return exit.Refuse("there is no folder %s", typed)
	}
	if from, err = filepath.EvalSymlinks(from); err != nil {
		return err
	}
	runs, err := runaudit.Import(context.Background(), record.At(root), from, typed, person.Name(prog.Env))
	var shown []view.Imported
	for _, r := range runs {
		i := view.Imported{Run: r.Run, Fixes: r.Fixes, Already: r.Already, Called: r.Called, LeftOut: r.LeftOut}
		for _, f := range r.Fixes {
			if f.State == fix.Proposed && i.Show == "" {
				i.Show = prog.Typed("fix", "show", r.Run, f.Name)
			}
		}
		shown = append(shown, i)
	}
	prog.Results().Imported(shown)
	switch {
	case errors.Is(err, runaudit.ErrImport):
		return &exit.Error{Code: exit.Failed, Text: err.Error()}
	case errors.Is(err, record.ErrLocked):
		return exit.Refuse("a fix is being made here: import when that has ended")
	}
	return err
}
