package main

import (
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/doctor"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/agent/cli"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
)

// An agentCLI is one line of agents list.
type agentCLI struct {
	CLI       string   `json:"cli"`
	Installed bool     `json:"installed"`
	Version   *string  `json:"version"`   // null: not installed, or it does not tell
	Tested    string   `json:"tested"`    // the version that the tests have
	SignedIn  bool     `json:"signed_in"` // its own sign-in is there; whether the provider takes it is not asked
	Attempts  int      `json:"attempts"`  // that are recorded here
	Verified  int      `json:"verified"`  // of these
	Last      *lastTry `json:"last"`      // null: it was not asked yet
}

// A lastTry is the newest recorded attempt of a CLI.
type lastTry struct {
	Run     string  `json:"run"`
	Task    string  `json:"task"`
	Kind    *string `json:"kind"`    // error kind; null: none
	Verdict *string `json:"verdict"` // of its patch; null: there was none
}

func agentsListCommand(prog *program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the agent CLIs: version, sign-in, and how they did",
		Long: `Lists the agent CLIs that can be named by cli = "…": whether each is installed,
its version, whether that is the tested one, whether its own sign-in is there,
and how its recorded attempts here ended. Each installed one is asked for its
version and for nothing else. It works without PIPELINE.hcl too.`,
		Example: `  async-pipeline agents list
  async-pipeline agents list --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error { return listAgents(prog, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as a JSON array")
	return c
}

func listAgents(prog *program, asJSON bool) error {
	root, err := prog.Start()
	if err != nil {
		return err
	}
	var recorded []*fix.Proposal
	if at, err := prog.Root(); err == nil { // else there are neither records nor a PIPELINE.hcl
		root, recorded = at, prog.fixes(at).All()
	}
	all := []agentCLI{}
	for _, name := range knowncli.Names() {
		a := agentCLI{CLI: name}
		k := &cli.Known{ID: name, CLI: name, Given: cli.Given{Home: prog.Env("HOME")}}
		a.SignedIn = k.Ready() == nil // nothing looks for the program
		if a.Installed = prog.FindProgram(root, name) == nil; a.Installed {
			var here string
			if here, a.Tested = doctor.Versions(k, prog.Env("PATH")); here != "" {
				a.Version = &here
			}
		}
		a.count(recorded)
		all = append(all, a)
	}
	if asJSON {
		return prog.PrintJSON(all)
	}
	rows := make([]view.AgentCLI, len(all))
	for i, a := range all {
		rows[i] = view.AgentCLI{
			Name: a.CLI, Installed: a.Installed, Version: a.Version, Tested: a.Tested, SignedIn: a.SignedIn,
			Attempts: a.Attempts, Verified: a.Verified,
		}
		if a.Last != nil {
			rows[i].Last = lastWord(a.Last)
		}
	}
	prog.Results().AgentCLIs(rows)
	return nil
}

// count counts the recorded attempts of the CLI, the oldest first.
func (a *agentCLI) count(recorded []*fix.Proposal) {
	for _, p := range recorded {
		for _, t := range p.Attempts {
			if t.CLI == nil || *t.CLI != a.CLI {
				continue
			}
			a.Attempts++
			if t.Verdict != nil && *t.Verdict == "verified" {
				a.Verified++
			}
			a.Last = &lastTry{Run: p.Run, Task: p.Task, Kind: t.Kind, Verdict: t.Verdict}
		}
	}
}

func lastWord(l *lastTry) string {
	switch {
	case l.Kind != nil:
		return *l.Kind
	case l.Verdict != nil:
		return *l.Verdict
	}
	return "no patch"
}
