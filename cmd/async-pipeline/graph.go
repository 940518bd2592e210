package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/diagram"
)

func graphCommand(prog *program) *cobra.Command {
	var format string
	var affected affectedFlag
	c := &cobra.Command{
		Use:   "graph [JOB|TASK...]",
		Short: "Draw what waits for what; nothing is run",
		Long: `Draws the tasks that run would take, and what each waits for: those that are
named with what they depend on, else the job "default", else all.

  text     a tree: below each task what it waits for; (above) and (below) say
           where a task that is needed twice is drawn
  json     {"tasks": [{"name", "description", "depends_on", "service",
           "agent"}]}
  dot      for Graphviz: async-pipeline graph --format dot | dot -Tpng
  mermaid  for Markdown pages that draw it, as GitHub's and GitLab's do
  svg      a picture for browsers, light and dark; it needs nothing else

(service) marks a task that keeps running, (agent NAME) one that an agent does.`,
		Example: `  async-pipeline graph
  async-pipeline graph test
  async-pipeline graph --format svg > graph.svg
  async-pipeline graph --format dot test lint
  async-pipeline graph --affected`,
		RunE: func(_ *cobra.Command, names []string) error {
			if !slices.Contains(diagram.Formats, format) {
				return exit.Misused("--format must be one of %s, not %q", strings.Join(diagram.Formats, ", "), format)
			}
			return drawGraph(prog, format, names, &affected)
		},
	}
	c.Flags().StringVar(&format, "format", diagram.Formats[0], "draw it as `"+strings.Join(diagram.Formats, "|")+"`")
	affected.flag(c)
	prog.varFlag(c)
	return c
}

func drawGraph(prog *program, format string, names []string, affected *affectedFlag) error {
	c, err := prog.load()
	if err != nil {
		return err
	}
	g := &pipeline.Graph{}
	if len(c.Tasks) > 0 || len(names) > 0 {
		if g, err = selectTasks(prog, c, names, false); err != nil {
			return err
		}
	}
	if affected.asked {
		k := &cacheFlags{}
		k.know(prog, c)
		chosen, since, why, err := affected.choose(prog, c, g, k, false)
		if err != nil {
			return err
		}
		prog.Messages().Affected(since, why, true)
		if g = chosen; g == nil {
			g = &pipeline.Graph{}
		}
	}
	columns, _ := prog.Size()
	picture, err := diagram.Draw(g, format, columns)
	if err != nil {
		return err
	}
	if format == "json" {
		prog.WriteJSON(picture)
		return nil
	}
	_, err = prog.Out.Write(picture)
	return err
}
