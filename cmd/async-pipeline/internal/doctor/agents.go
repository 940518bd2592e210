package doctor

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/cli"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// versionLimit is how long a CLI may take to print its version.
const versionLimit = 30 * time.Second

// agents checks the agents that tasks use: whether each can be asked here, and whether the tests know the version of
// the CLI that it is.
func (d *checkup) agents(c *pipeline.Config) {
	for _, w := range d.AgentWarnings(c) {
		d.noted("agents", "", "%s:%d: %s", d.path(w.Pos.File), w.Pos.Line, w.Summary)
	}
	var seen []string
	all := d.Agents(c)
	for _, a := range c.Agents {
		k, ok := all[a.Name].(*cli.Known)
		if !ok || slices.Contains(seen, k.CLI) || k.Ready() != nil {
			continue
		}
		seen = append(seen, k.CLI)
		d.version(k, "")
	}
}

// version asks a CLI for its version, and reports it after lead.
func (d *checkup) version(k *cli.Known, lead string) {
	switch here, tested := Versions(k, d.Env("PATH")); here {
	case "":
		d.noted("agents", "try "+k.CLI+" --version by hand", "%s%s does not print its version within %s", lead, k.CLI,
			versionLimit)
	case tested:
		d.fine("agents", "%s%s %s is there, the version that is tested", lead, k.CLI, here)
	default:
		d.noted("agents", "", "%s%s %s is there, and %s is tested: what it prints may not be understood", lead, k.CLI, here,
			tested)
	}
}

// Versions asks a CLI for its version, in a HOME of its own, because it may write there. here is empty where it does not
// tell, tested where it is that of the tests.
func Versions(k *cli.Known, path string) (here, tested string) {
	home, err := os.MkdirTemp("", "async-pipeline-doctor-")
	if err != nil {
		return "", ""
	}
	defer func() { _ = os.RemoveAll(home) }() // in the folder for temporary files
	ctx, cancel := context.WithTimeout(context.Background(), versionLimit)
	defer cancel()
	box := sandbox.Box{Tier: sandbox.None, Home: home, Tmp: home}
	return k.Versions(ctx, func(ctx context.Context, c agent.Command) (agent.Exit, error) {
		r, err := box.Run(ctx, sandbox.Command{Argv: c.Argv, Dir: c.Dir, Env: c.Env, Stdout: c.Stdout, Stderr: c.Stderr})
		return agent.Exit{Code: r.ExitCode}, err
	}, home, path)
}
