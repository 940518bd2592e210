package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func fixShowCommand(prog *program) *cobra.Command {
	var transcript, unfold bool
	c := &cobra.Command{
		Use:   "show [RUN] [TASK]",
		Short: "Show a fix: cause, doubts, patch, verification, cost",
		Long: `Shows what a person needs to decide about a fix: its root cause, doubts, patch,
verification and cost.

--transcript shows instead what the agents said and did, in the same form for
every agent: a call of a tool is one line with what it came to. --unfold adds
prompts, arguments, and what tools returned. What does not fit on a terminal is
shown by the command in PAGER, else by less.`,
		Example: `  async-pipeline fix show
  async-pipeline fix show test
  async-pipeline fix show 20261121T024000Z-7f3a test
  async-pipeline fix show --transcript test`,
		Args: atMost(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if unfold && !transcript {
				return exit.Misused("--unfold is for --transcript")
			}
			s, p, err := findFix(prog, args)
			if err != nil {
				return err
			}
			switch came, err := prog.tree(s.Root).Foreign(context.Background()); {
			case err != nil:
				prog.Messages().Warning("whether these records came with the repository is not known: " + err.Error())
			case came:
				prog.Messages().Warning(apply.ErrForeign.Error())
			}
			if transcript {
				return showTranscript(prog, p, unfold)
			}
			ends := failedtask.Ends(record.At(s.Root)).Tasks // a run that cannot be read links to nothing
			s.Follow(p, ends)
			c := commandsFor(prog, s, p)
			c.Imported = p.Imported()
			prog.Results().ShowFix(p, c)
			return nil
		},
	}
	c.Flags().BoolVar(&transcript, "transcript", false, "show what the agents said and did")
	c.Flags().BoolVar(&unfold, "unfold", false, "with --transcript: also prompts, arguments, results, requests")
	return c
}

// showTranscript shows what the agents of a fix said and did.
func showTranscript(prog *program, p *fix.Proposal, unfold bool) error {
	lines, err := p.Transcript()
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(lines) == 0:
		return exit.Refuse("no agent was asked for the fix for %s of run %s: there is no transcript", view.TaskName(p.Task), p.Run)
	case err != nil:
		return err
	}
	return paged(prog, func(s *view.Screen) { s.ShowTranscript(p, lines, unfold) })
}

// commandsFor returns the commands for a fix that would not be refused with the tree as it is now.
func commandsFor(prog *program, s *fix.Store, p *fix.Proposal) view.Commands {
	c := typedCommands(prog, p.Dir, &p.Fix)
	switch p.Disposition {
	case fix.Open:
	case fix.Superseded:
		p.ByNumber = true // as the command says it
	default:
		return c
	}
	c.Unfit, c.Changed = false, nil // of when it was made
	c.Partly, _ = p.Partly()        // Ready says what is wrong with the decisions
	r := apply.Tree{Fixes: s}.Ready(context.Background(), p)
	command := accepting([]string{"fix", "apply", p.Run, p.Exact()}, &p.Fix)
	switch {
	case r.Conflict != nil:
		c.Unfit, c.Changed, c.Apply = true, r.Changed, ""
		if r.ThreeWay {
			command = append(command, "--3way")
		}
	case r.Refused != nil:
		c.Refused = r.Refused.Error()
	}
	c.Dirty, c.Nothing = r.Dirty, r.Nothing
	if len(r.Dirty) > 0 {
		command = append(command, "--allow-dirty")
	}
	if r.Conflict == nil || r.ThreeWay {
		c.Apply = prog.Typed(command...)
	}
	return c
}

// mostLog is how much of the end of a check's log is read for the names of tests, in bytes.
const mostLog = 1 << 20

// failing returns the tests that failed with the patch, where the log of the check names them, and the end of that
// log.
func failing(runDir string, f *fix.Fix) (tests []string, end []byte) {
	if f.Verification == nil {
		return nil, nil
	}
	i := slices.IndexFunc(f.Verification.Proposed,
		func(c fix.Check) bool { return !c.Passed && !c.CorePassed && c.Log != nil && filepath.IsLocal(*c.Log) })
	if i < 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(runDir)
	if err != nil {
		return nil, nil
	}
	defer func() { _ = root.Close() }() // opened for reading
	log, err := root.Open(filepath.FromSlash(*f.Verification.Proposed[i].Log))
	if err != nil {
		return nil, nil
	}
	defer func() { _ = log.Close() }() // opened for reading
	if info, err := log.Stat(); err == nil && info.Size() > mostLog {
		_, _ = log.Seek(-mostLog, io.SeekEnd) // else its beginning is read
	}
	end, _ = io.ReadAll(io.LimitReader(log, mostLog))
	return testreport.Tests(end), end
}
