// Package cli runs agents that are programs on the command line.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/reset"
)

// A Command is an agent that is any program. It works in its current directory and reads from its standard input,
// which is then closed:
//
//	<the prompt>
//
//	<one line that describes what follows>
//	----- begin context pack <mark> -----
//	<the context pack, one JSON object>
//	----- end context pack <mark> -----
//
// where <mark> is 32 random hex digits that appear nowhere else in it. It may print anything; the last JSON object in
// the last 256 KiB of its standard output that is a control object is its report; one that comes when it has ended, from a
// process that it left behind, counts only where it printed none itself. Its exit code is only noted: what
// counts is the change that it leaves in the copy.
type Command struct {
	ID   string
	Argv []string
	Look func(argv0 string) error // returns why a program cannot be started; nil: not asked

	Given Given // to the program, of the person's

	// Policy names those of its failures that deserve another attempt.
	Policy failure.Policy

	mark func() string // nil: random
}

var _ agent.Agent = (*Command)(nil)

// Name returns the agent's name.
func (c *Command) Name() string { return c.ID }

// Ready returns why there is no program to start.
func (c *Command) Ready() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return fmt.Errorf("agent %q has no command", c.ID)
	}
	if err := c.Given.ready(c.ID); err != nil || c.Look == nil {
		return err
	}
	if err := c.Look(c.Argv[0]); err != nil {
		return fmt.Errorf("agent %q cannot start %s (%w): install it, make it executable, or correct the agent's command",
			c.ID, c.Argv[0], err)
	}
	return nil
}

// Here returns false: the program and all that it starts are in the box.
func (c *Command) Here() bool { return false }

// Keyed reports whether the program is given anything of the person's.
func (c *Command) Keyed() bool { return c.Given.names() != nil }

// Retry returns the agent's policy.
func (c *Command) Retry() failure.Policy { return c.Policy }

// hasReport reports whether a text has a control object, or a failure in words that we know.
func hasReport(text string) bool {
	control, _ := agent.ParseControl(text)
	failure, _ := agent.ParseFailure(text)
	return control != nil || failure != nil
}

// Turn runs the command once.
func (c *Command) Turn(ctx context.Context, r agent.Request) (agent.Turn, error) {
	if len(c.Argv) == 0 {
		return agent.Turn{}, c.Ready()
	}
	rec := newRecorder(r.Note, r.Raw, r.Secrets)
	rec.over, rec.idle = func() bool { return ctx.Err() != nil }, r.Idle
	rec.note("prompt", map[string]any{"text": r.Prompt, "pack_bytes": len(r.Pack)})
	if err := c.Given.place(r.Env, r.Secrets); err != nil {
		return agent.Turn{}, fmt.Errorf("agent %q: %w", c.ID, err)
	}
	exit, err := r.Exec(ctx, agent.Command{
		Argv: c.Argv, Dir: r.Dir, Env: slices.Concat(r.Env, c.Given.Env), Idle: r.Idle,
		Stdin:  strings.NewReader(agent.Input(r.Prompt, r.Pack, c.mark)),
		Stdout: &rec.out, Stderr: &rec.err, Exited: rec.exits,
	})
	rec.close()
	switch {
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe):
		// an agent need not read its input
	case err != nil && ctx.Err() != nil:
		exit.Cancelled = !exit.TimedOut // what was to be ended has ended, or will not; err says which, below
	case err != nil:
		rec.note("end", map[string]any{"error": err.Error()})
		return agent.Turn{}, fmt.Errorf("agent %q: %w", c.ID, err)
	case ctx.Err() != nil && exit.Code != 0 && !exit.TimedOut && !exit.IdledOut:
		exit.Cancelled = true // it heard of the end first, from the terminal for example, and ended by itself
	}
	if exit.Cancelled && !exit.TimedOut && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		exit.Cancelled, exit.TimedOut = false, true
	}

	turn := agent.Turn{Text: rec.text(), Exit: exit, Given: c.Given.names()}
	report := turn.Text
	if exit.TimedOut || exit.IdledOut || exit.Cancelled {
		report = rec.inTime() // what it prints when it is told to end is no report
	} else if own := rec.own(); hasReport(own) {
		turn.Text, report = own, own
	}
	var problem error
	if turn.Control, problem = agent.ParseControl(report); problem != nil {
		turn.Problem = problem.Error()
	}
	failure, wrong := agent.ParseFailure(report)
	if wrong != nil && turn.Control == nil {
		turn.Problem = wrong.Error()
	}
	turn.Kind, turn.Evidence = conclude(ending{
		exit: exit, said: rec.said, truncated: rec.out.total > maxTotal, control: turn.Control != nil,
		failure: failure,
		stderr:  rec.lastWords(),
	})
	switch {
	case failure != nil && turn.Kind == failure.Kind:
		turn.RetryAfter = failure.RetryAfter
		if turn.RetryAfter == nil {
			turn.RetryAfter = reset.Announced(failure.Message, time.Now()).Believed(time.Now())
		}
		if k := failure.Kind; !k.Known() && !slices.Contains(c.Policy.ExtraKinds, string(k)) {
			turn.Evidence += fmt.Sprintf("; %q is not known, and so not tried again: %s; extra_kinds of the agent's retry "+
				"block adds one", k, agent.KnownKinds())
		}
	case wrong != nil && turn.Kind != "":
		turn.Evidence += "; " + wrong.Error()
	}
	if err != nil && ctx.Err() != nil {
		turn.Evidence += "; " + err.Error()
	}
	rec.note("end", map[string]any{
		"exit_code": exit.Code, "signal": agent.Null(exit.Signal), "kind": agent.Null(string(turn.Kind)),
		"evidence": agent.Null(turn.Evidence), "problem": agent.Null(turn.Problem), "control": turn.Control,
		"stdout_bytes": rec.out.total, "stderr_bytes": rec.err.total, "left_out_bytes": rec.leftOut(),
		"processes_left": exit.ProcessesLeft, "duration_ms": exit.Duration.Milliseconds(),
	})
	return turn, nil
}
