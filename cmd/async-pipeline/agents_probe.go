package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/agentprobe"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/console"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
	"github.com/async-pipeline/async-pipeline/internal/rmtree"
)

func agentsProbeCommand(prog *program) *cobra.Command {
	var all bool
	var report string
	c := &cobra.Command{
		Use:   "probe [CLI...]",
		Short: "Try how the installed agent CLIs take the faults of a provider",
		Long: `Lets each CLI, or each that is installed, repair a small project in a temporary
folder, while a scripted provider on this machine answers it: well, with
refusals and limits, with a stream that breaks off. Tells for each scene how it
ended, and whether that is right: the kind of the failure, the repair that is
kept, requests that are counted, a key that is found nowhere, no process that is
left.

No account is used, nothing is asked of a real provider, and it costs nothing.
Your own settings and sign-in are not read. It takes about a minute for each
CLI; with --all, which plays the slow scenes too, about a quarter of an hour.

Exit code: 0 every scene is right, 1 one is not, 2 could not be carried out.`,
		Example: `  async-pipeline agents probe
  async-pipeline agents probe claude --all
  async-pipeline agents probe --all --report probe.md`,
		RunE: func(c *cobra.Command, names []string) error {
			if c.Flags().Changed("report") && report == "" {
				return exit.Misused("--report has an empty path: is a variable not set?")
			}
			return probeAgents(prog, names, all, report)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "play all scenes")
	c.Flags().StringVar(&report, "report", "", "also write a table of them, as Markdown, to `FILE`")
	return c
}

func probeAgents(prog *program, names []string, all bool, report string) error {
	if err := notInHook(prog, "a hook starts no agent"); err != nil {
		return err
	}
	file, err := prog.Path(report)
	if err != nil {
		return err
	}
	path := prog.Env("PATH")
	clis, err := probed(names, path)
	if err != nil {
		return err
	}
	cells := agentprobe.Short()
	if all {
		cells = agentprobe.Cells()
	}
	stop := prog.Listen(func(syscall.Signal) {
		prog.Messages().Notice("the probe is being ended; once more to leave at once")
	})
	defer stop.Stop()
	screen := prog.Results()
	screen.ProbeStarted(len(cells), clis)
	results, err := console.Await(stop, func() ([]agentprobe.Result, error) {
		return probeAll(stop.Ctx, clis, cells, path, func(r agentprobe.Result) { screen.ProbeRow(probeRow(r)) })
	})
	if err != nil {
		return err
	}
	if report != "" {
		if err := os.WriteFile(file, agentprobe.Markdown(results), 0o600); err != nil {
			return exit.Refuse("the report cannot be written: %v", err)
		}
	}
	wrong := 0
	for _, r := range results {
		if len(r.Faults) > 0 {
			wrong++
		}
	}
	screen.ProbeEnded(len(results), wrong)
	if wrong > 0 {
		return exit.With(exit.Failed)
	}
	return nil
}

// probed returns the CLIs that are named; without names those that are installed.
func probed(names []string, path string) (clis []string, err error) {
	for _, name := range names {
		switch {
		case !slices.Contains(knowncli.Names(), name):
			return nil, exit.Refuse("there is no agent CLI %q that is known here: write one of %s", name,
				english.List(knowncli.Names(), len(knowncli.Names())))
		case agentprobe.Find(name, path) == "":
			return nil, exit.Refuse("%s is not in PATH", name)
		case !slices.Contains(clis, name):
			clis = append(clis, name)
		}
	}
	if len(names) > 0 {
		return clis, nil
	}
	for _, name := range knowncli.Names() {
		if agentprobe.Find(name, path) != "" {
			clis = append(clis, name)
		}
	}
	if clis == nil {
		return nil, exit.Refuse("none of %s is in PATH", english.List(knowncli.Names(), len(knowncli.Names())))
	}
	return clis, nil
}

// probeAll plays each cell with each CLI, each in a folder that is removed after it.
func probeAll(
	ctx context.Context, clis []string, cells []agentprobe.Cell, path string, told func(agentprobe.Result),
) (results []agentprobe.Result, err error) {
	for _, c := range agentprobe.CLIs() {
		if !slices.Contains(clis, c.Name) {
			continue
		}
		for _, cell := range cells {
			dir, err := agentprobe.TempDir()
			if err != nil {
				return nil, err
			}
			r, err := agentprobe.Stage{Dir: dir, Path: path, Run: playRun}.Play(c, cell)
			_ = rmtree.All(dir) // in the folder for temporary files
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case err != nil:
				return nil, exit.Refuse("%s, %s: %v", c.Name, cell.Name, err)
			}
			told(r)
			results = append(results, r)
		}
	}
	return results, nil
}

// playRun carries out `run` in a folder, in this process, and returns its exit code.
func playRun(dir string, environ []string, out io.Writer) int {
	return process{
		program: "async-pipeline", args: []string{"run"}, stdin: strings.NewReader(""), stdout: out, stderr: out, dir: dir,
		environ: environ,
	}.main()
}

func probeRow(r agentprobe.Result) view.ProbeRow {
	return view.ProbeRow{
		CLI: r.CLI, Version: r.Version, Scene: r.Cell.Name, Seen: agentprobe.Words(r.Kind),
		Requests: r.Requests, DurationMS: r.DurationMS, Faults: r.Faults,
	}
}
