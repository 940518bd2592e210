package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline/flake"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// someRuns is how many runs are listed by default.
const someRuns = 20

func runsCommand(prog *program) *cobra.Command {
	var asJSON, flaky bool
	limit := someRuns
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the recorded runs, newest first",
		Long: `Lists the recorded runs, newest first: also those that were ended before their
verdict (interrupted), and one that goes on (running).

With --flaky it lists proven flakes instead: tasks that failed in one run and
passed in another with the same inputs, command, programs and environment. Such
a task is not reliable, or it reads something that is not among its inputs.`,
		Example: `  async-pipeline runs
  async-pipeline runs -n 5
  async-pipeline runs --flaky
  async-pipeline runs --json --limit 0`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if limit < 0 {
				return exit.Misused("--limit %d: write how many runs to show, or 0 for all", limit)
			}
			if flaky {
				return listFlakes(prog, limit, asJSON)
			}
			return listRuns(prog, limit, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON list: what run.json holds, without the tasks; the flakes with --flaky")
	c.Flags().BoolVar(&flaky, "flaky", false, "list tasks that failed and passed with the same inputs")
	c.Flags().IntVarP(&limit, "limit", "n", limit, "show the newest `N`; 0 shows all")
	return c
}

func listRuns(prog *program, limit int, asJSON bool) error {
	store, err := recordStore(prog)
	if err != nil {
		return err
	}
	ids, err := store.IDs()
	if err != nil {
		return err
	}
	shown := ids
	if limit > 0 {
		shown = ids[:min(limit, len(ids))]
	}
	now := time.Now()
	lines, list := []view.RunLine{}, []any{}
	for _, id := range shown {
		e := store.Entry(id)
		switch {
		case e.Err != nil:
			prog.Messages().Warning(e.Err.Error())
			lines = append(lines, view.RunLine{ID: id, Status: view.Damaged, At: record.Began(id), Took: -1})
		case e.Sealed != nil:
			list = append(list, untasked{Run: e.Sealed.Run})
			lines = append(lines, sealedLine(&e.Sealed.Run))
		default:
			begun, err := store.Beginning(id)
			if err != nil {
				prog.Messages().Warning(err.Error())
			}
			list = append(list, unsealedRun(e, begun, store.Root))
			lines = append(lines, unsealedLine(e, begun, now))
		}
	}
	if asJSON {
		return prog.PrintJSON(list)
	}
	if len(ids) == 0 {
		prog.Results().Line("No run is recorded here yet.")
		return nil
	}
	prog.Results().Runs(lines, len(ids)-len(shown), now)
	return nil
}

// listFlakes lists what failed and passed with the same inputs.
func listFlakes(prog *program, limit int, asJSON bool) error {
	store, err := recordStore(prog)
	if err != nil {
		return err
	}
	flakes, errs := flake.List(store)
	for _, err := range errs {
		prog.Messages().Warning(err.Error())
	}
	shown := flakes
	if limit > 0 {
		shown = flakes[:min(limit, len(flakes))]
	}
	switch {
	case asJSON:
		return prog.PrintJSON(shown)
	case len(flakes) == 0:
		prog.Results().Line("No task with inputs both failed and passed with the same inputs, as far as the recorded runs tell.")
	default:
		prog.Results().Flakes(shown, len(flakes)-len(shown))
	}
	return nil
}

// recordStore returns the records of the root, after settling an interrupted apply.
func recordStore(prog *program) (*record.Store, error) {
	root, err := prog.Root()
	if err != nil {
		return nil, err
	}
	if err := prog.recoverApply(root); err != nil {
		return nil, err
	}
	return record.At(root), nil
}

// lookRun finds a run with or without a verdict. Its error says what to type.
func (prog *program) lookRun(s *record.Store, id string) (record.Entry, error) {
	if id == "latest" {
		sealed, err := prog.findRun(s, id)
		if err != nil {
			if ids, _ := s.IDs(); len(ids) > 0 && errors.As(err, new(*exit.Error)) {
				return record.Entry{}, exit.Refuse("no run here has a verdict that can be read: %s lists them all; name one", prog.Typed("runs"))
			}
			return record.Entry{}, err
		}
		return record.Entry{ID: sealed.ID, Dir: sealed.Dir, Sealed: sealed}, nil
	}
	e, err := s.Look(id)
	switch {
	case errors.Is(err, record.ErrNoRun):
		return e, exit.Refuse("there is no run %q here: %s lists them", id, prog.Typed("runs"))
	case errors.Is(err, record.ErrAmbiguous):
		return e, ambiguous(s, id)
	}
	return e, err
}

// An untasked is run.json without its tasks.
type untasked struct {
	record.Run
	Tasks *struct{} `json:"tasks,omitempty"` // hides Run's
}

// An unsealed is a run without a verdict, in the fields of run.json as far as they are known.
type unsealed struct {
	SchemaVersion int            `json:"schema_version"`
	ID            string         `json:"id"`
	Root          string         `json:"root"`
	Job           *string        `json:"job"`
	Status        string         `json:"status"` // interrupted | running
	ExitCode      *int           `json:"exit_code"`
	CI            bool           `json:"ci"`
	StartedAt     record.Time    `json:"started_at"`
	FinishedAt    *record.Time   `json:"finished_at"`
	DurationMS    *int64         `json:"duration_ms"`
	Git           *record.Git    `json:"git"`
	Healing       record.Healing `json:"healing"`
	Journal       *record.Anchor `json:"journal"`
}

func unsealedRun(e record.Entry, begun *record.Story, root string) unsealed {
	return unsealed{
		SchemaVersion: record.SchemaVersion, ID: e.ID, Root: root, Job: begun.Job, Status: unsealedStatus(e),
		CI:        begun.CI,
		StartedAt: record.Time{Time: record.Began(e.ID)}, Healing: begun.Healing,
	}
}

func unsealedStatus(e record.Entry) string {
	if e.Live {
		return view.Running
	}
	return record.Interrupted
}

func sealedLine(r *record.Run) view.RunLine {
	l := view.RunLine{ID: r.ID, Status: r.Status, At: r.StartedAt.Time, Took: time.Duration(r.DurationMS) * time.Millisecond}
	if r.Job != nil {
		l.Job = *r.Job
	}
	l.Tasks = namesOf(r.Tasks)
	for _, t := range r.Tasks {
		if failed(t) {
			l.Failed = append(l.Failed, t.Name)
		}
	}
	return l
}

func unsealedLine(e record.Entry, begun *record.Story, now time.Time) view.RunLine {
	l := view.RunLine{ID: e.ID, Status: unsealedStatus(e), At: record.Began(e.ID), Took: -1, Tasks: begun.Names}
	if e.Live {
		l.Took = max(now.Sub(l.At), 0)
	}
	if begun.Job != nil {
		l.Job = *begun.Job
	}
	return l
}
