package main

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/runaudit"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func fixAuditCommand(prog *program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "audit [RUN] [TASK]",
		Short: "Check that the evidence of fixes is as it was",
		Long: `Holds everything that was recorded of a run and its fixes against the digests
that were taken then: verdict, journals, graph, logs, context packs, patches,
transcripts, bases, decisions. One flipped byte and one missing line or file is
found, and named: also a decision whose file was removed, because the journal of
the hooks tells of it too. Without arguments it looks at every run that failed;
TASK alone means its fixes in all of them.

What nobody could find: records that somebody wrote anew as a whole, all digests
included. Of maker.json (who was at work) nothing is claimed. Files that no
record speaks of are named as notes; they are no fault.

Exit code: 0 all as it was, 1 something is not, 2 could not be carried out.`,
		Example: `  async-pipeline fix audit
  async-pipeline fix audit 20261121T024000Z-7f3a test
  async-pipeline fix audit --json`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error { return auditFixes(prog, asJSON, args) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print what was found as a JSON list")
	return c
}

func auditFixes(prog *program, asJSON bool, args []string) error {
	if err := noneEmpty(args, "it looks at every run that failed"); err != nil {
		return err
	}
	store, err := recordStore(prog)
	if err != nil {
		return err
	}
	runs, task, err := prog.audited(store, tasksOf(store, args))
	if err != nil {
		return err
	}
	all := []runaudit.Audited{}
	shown := []view.Audited{}
	looked, faults := 0, 0
	for _, id := range runs {
		a, err := runaudit.Audit(store, id, task)
		if err != nil {
			return exit.Refuse("run %s cannot be read: %v", id, err)
		}
		if task != "" && len(a.Fixes) == 0 && len(a.Faults) == 0 && len(runs) > 1 {
			continue
		}
		looked += len(a.Fixes)
		faults += len(a.Faults)
		all = append(all, a)
		shown = append(shown, view.Audited{Run: a.Run, Fixes: a.Fixes, Files: a.Files, Faults: a.Faults, Notes: a.Notes})
	}
	if task != "" && looked == 0 && faults == 0 {
		name := view.TaskName(task)
		return exit.Misused("there is no fix for task %q here, and no run %q: %s shows what there is", name, name, prog.Typed("fix", "list"))
	}
	if asJSON {
		if err := prog.PrintJSON(all); err != nil {
			return err
		}
	} else {
		prog.Results().Audit(shown)
	}
	if faults > 0 {
		return exit.With(exit.Failed)
	}
	return nil
}

// audited returns the runs that [RUN] [TASK] select, oldest first, and the task.
func (prog *program) audited(store *record.Store, args []string) (runs []string, task string, err error) {
	if len(args) > 0 {
		e, err := store.Look(args[0])
		switch {
		case e.ID != "": // also one whose verdict cannot be read
			if len(args) > 1 {
				task = args[1]
			}
			return []string{e.ID}, task, nil
		case errors.Is(err, record.ErrNoRun) && len(args) == 1 && args[0] != "latest":
			task = args[0]
		default:
			_, err := prog.findRun(store, args[0])
			return nil, "", err
		}
	}
	ids, err := store.IDs()
	if err != nil {
		return nil, "", err
	}
	for _, id := range slices.Backward(ids) {
		if fix.Begun(filepath.Join(store.Dir, "runs", id)) {
			runs = append(runs, id)
		}
	}
	return runs, task, nil
}
