package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/gc"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func gcCommand(prog *program) *cobra.Command {
	var o gc.Options
	var at cacheFlags
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove old runs, unused copies and caches, what killed runs left",
		Long: `Ends processes and removes scratch copies that killed runs of this root left,
after keeping what agents had changed in them, and those of roots that are gone;
removes kept base copies and build caches of roots that are gone or that nobody
used for 30 days; removes results of tasks in the cache that nobody used for 30
days, or beyond 5 GiB; and removes old runs: all but the newest N of --keep N or
keep_runs of PIPELINE.hcl, never one with an open proposal, a damaged one, or
one that is ahead of the clock. Where neither says how many to keep, no run is
removed.`,
		Example: `  async-pipeline gc --dry-run
  async-pipeline gc
  async-pipeline gc --keep 20`,
		Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("keep") && o.Keep < 1 {
				return exit.Misused("--keep %d: at least one run is kept", o.Keep)
			}
			return collectGarbage(prog, &at, o)
		},
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "say what would be removed, and remove nothing")
	c.Flags().IntVar(&o.Keep, "keep", 0, "keep the newest `N` runs (default: keep_runs of PIPELINE.hcl, else all)")
	at.dirFlag(c, "remove old results in")
	prog.varFlag(c)
	return c
}

func collectGarbage(prog *program, at *cacheFlags, o gc.Options) error {
	if err := notInHook(prog, "what runs here belongs to who started it"); err != nil {
		return err
	}
	root, err := prog.Root()
	if err != nil {
		return err
	}
	if o.Cache, err = at.folder(prog, root); err != nil {
		if at.dirTyped() {
			return err
		}
		prog.Messages().Warning(err.Error() + "\nresults of tasks are left where they are")
		o.Cache = ""
	}
	if !o.DryRun {
		if err := prog.recoverApply(root); err != nil {
			return err
		}
	}
	store := record.At(root)
	if _, err := store.IDs(); err != nil {
		return err
	}
	if o.Keep == 0 {
		o.Keep, o.WhyAll = keepRuns(prog, root)
	}
	o.Note, o.Shown = prog.Messages().Note, prog.Messages().Path
	done, left, err := gc.Collect(&prog.Project, store, o)
	prog.Results().Removed(done, left, o.DryRun)
	return err
}

// keepRuns returns keep_runs of PIPELINE.hcl, or why it is not known.
func keepRuns(prog *program, root string) (n int, why string) {
	file, err := hclfile.Find(root)
	if err != nil {
		return 0, "there is no PIPELINE.hcl that says how many to keep, and no --keep"
	}
	c, err := prog.read(file)
	switch {
	case err != nil:
		return 0, "PIPELINE.hcl has errors (" + prog.Typed("validate") + " shows them), so keep_runs is not known; --keep N says it too"
	case c.KeepRuns == 0:
		return 0, "neither keep_runs in PIPELINE.hcl nor --keep says how many to keep"
	}
	return c.KeepRuns, ""
}
