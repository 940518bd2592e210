// How a run or a fix in progress is shown: --progress.
package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// progress is told how a run goes, one call at a time.
type progress interface {
	Started(t *pipeline.Task)
	Output(task string, chunk []byte)
	Retried(t *pipeline.Task, attempt int, before record.Task)
	Finished(t record.Task)
	Shown(task string) bool // the end of its output was just shown
	End(tasks []record.Task)
}

var (
	_ progress = (*view.Lines)(nil)
	_ progress = (*view.Live)(nil)
)

// Ways to show it.
const (
	progressAuto  = "auto"
	progressLive  = "live"
	progressPlain = "plain"
	progressJSON  = "json"
)

// What a verb can besides auto, as its help and its refusal say it.
const (
	runWays  = "live, plain or json"
	healWays = "live or plain"
)

// progressFlag adds --progress to a verb; ways are its values besides auto.
func progressFlag(c *cobra.Command, how *string, ways string) {
	c.Flags().StringVar(how, "progress", progressAuto, "`HOW` to show it: auto, "+ways+"; auto is live in a terminal, and plain elsewhere and in CI mode")
}

// drawsLive reports whether progress is drawn in the terminal, and refuses values that are not in ways.
func drawsLive(prog *program, how, ways string, ci bool) (bool, error) {
	switch how {
	case progressAuto:
		return prog.CanDraw() && !ci, nil
	case progressLive:
		if !prog.CanDraw() {
			return false, exit.Misused("--progress live needs a terminal on stdout, and TERM; leave it out or write --progress plain")
		}
		return true, nil
	case progressPlain, progressJSON:
		return false, nil
	}
	return false, exit.Misused("--progress must be auto, %s, not %q", ways, how)
}
