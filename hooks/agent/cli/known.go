package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// A Known is an agent that is one of the CLIs that we know. It is started without anybody to answer it, with a private
// HOME and an isolated configuration: nothing of the checkout and nothing of the person's that runs commands is read.
// It gets prompt and context pack on stdin, as a Command does. The last event of its stream tells how it ended.
type Known struct {
	ID    string
	CLI   string // a name of package knowncli
	Model string // empty: the CLI's own choice
	Args  []string
	// Look returns why a program cannot be started; nil: not asked.
	Look func(program string) error
	// Given is what it gets of the person's. Without Relay the CLI's own sign-in is copied from the HOME of it.
	Given Given
	// Relay opens a way to the provider; nil: there is no key, and the CLI's own sign-in is used, which nobody meters.
	Relay  func(ctx context.Context, r agent.Request) (*Relay, error)
	Policy failure.Policy

	linger time.Duration // 0: as the constant has it; for tests

	mu      sync.Mutex
	version string // once it is known
}

// A Relay is where a CLI finds its provider.
type Relay struct {
	Wire string // the protocol, as internal/model calls it
	URL  string // without the path of a version, but for OpenAI's protocols
	Key  string // is of no use anywhere else
	// SoFar returns what was used until now; nil: that is not known before its end.
	SoFar func() Used
	// Close ends it and returns what was used. It may be called once.
	Close func() (Used, error)
}

// Used is what a relay counted.
type Used struct {
	Tokens      agent.Tokens
	CostUSD     *float64
	CostAtLeast *float64 // what is known of it, where a part is unknown
	Requests    int
	Stopped     failure.Kind // the budget that ended it; empty: none
	Why         string       // in words
	Lost        failure.Kind // why the last request got no answer from the provider; empty: it got one
	LostWhy     string
}

var _ agent.Agent = (*Known)(nil)

// linger is how long a CLI may stay after it has said that it is done.
const linger = 15 * time.Second

// Name returns the agent's name.
func (k *Known) Name() string { return k.ID }

// Here returns false: the CLI and all that it starts are in the box.
func (k *Known) Here() bool { return false }

// Keyed reports whether the CLI is given anything of the person's, which its own sign-in is.
func (k *Known) Keyed() bool { return k.Relay == nil || k.Given.names() != nil }

// Retry returns the agent's policy.
func (k *Known) Retry() failure.Policy { return k.Policy }

// Ready returns why the CLI cannot be asked: it is not installed, or has neither a key nor a sign-in.
func (k *Known) Ready() error {
	p := find(k.CLI)
	switch {
	case p == nil:
		return fmt.Errorf("agent %q: there is no CLI %q", k.ID, k.CLI)
	case len(k.Given.Lacks) > 0:
		return fmt.Errorf("agent %q needs %s, which is not set", k.ID, strings.Join(k.Given.Lacks, ", "))
	}
	if err := k.Given.ready(k.ID); err != nil {
		return err
	}
	if install, err := k.Program(); err != nil {
		return fmt.Errorf("agent %q cannot start %s (%w): install it with %s", k.ID, p.name, err, install)
	}
	// What is given may be another way to be signed in.
	if file, found := k.SignIn(); k.Relay == nil && k.Given.names() == nil && !found {
		return fmt.Errorf("agent %q: %s is not signed in (there is no %s): start %s and sign in, or set api_key",
			k.ID, p.name, file, p.name)
	}
	return nil
}

// errLingers and errHopeless are the causes for which we end a CLI ourselves.
var (
	errLingers  = errors.New("it is done and does not end")
	errHopeless = errors.New("waiting for it is of no use")
)

// Turn runs the CLI once, in a session of its own.
func (k *Known) Turn(ctx context.Context, r agent.Request) (agent.Turn, error) {
	return k.turn(ctx, r, "", "")
}

// turn runs the CLI once. resume is a session to go on with, whose files are in the HOME from.
func (k *Known) turn(ctx context.Context, r agent.Request, resume, from string) (agent.Turn, error) {
	p := find(k.CLI)
	if p == nil {
		return agent.Turn{}, k.Ready()
	}
	s := setup{
		home: value(r.Env, "HOME"), dir: r.Dir, model: k.Model, args: k.Args, resume: resume,
		prompt: agent.Input(r.Prompt, r.Pack, nil),
	}
	if resume != "" {
		s.prompt = r.Prompt
	}
	relay, err := k.open(ctx, r, &s)
	if err != nil {
		return agent.Turn{}, fmt.Errorf("agent %q: %w", k.ID, err)
	}
	start := p.launch(s)
	if err := p.prepare(s.home, from, k.signInHome(), start.files, r.Secrets); err != nil {
		return agent.Turn{}, errors.Join(fmt.Errorf("agent %q: its configuration: %w", k.ID, err), closed(relay))
	}
	if err := k.Given.place(r.Env, r.Secrets); err != nil {
		return agent.Turn{}, errors.Join(fmt.Errorf("agent %q: %w", k.ID, err), closed(relay))
	}
	env := slices.Concat(r.Env, k.Given.Env, start.env)
	version := k.versionOf(ctx, p, r, env)

	work, end := context.WithCancelCause(ctx)
	defer end(nil)
	rep := &report{over: func() bool { return work.Err() != nil }}
	rd := newReading(p, r, rep)
	rd.note("prompt", map[string]any{"text": r.Prompt, "pack_bytes": len(r.Pack)})
	rd.after = k.watch(r, rep, relay, end)
	var in io.Reader
	if start.stdin != "" {
		in = strings.NewReader(start.stdin)
	}
	exit, err := r.Exec(work, agent.Command{
		Argv: append([]string{p.name}, start.args...), Dir: r.Dir, Env: env, Idle: r.Idle, Stdin: in,
		Stdout: rd.stdout(), Stderr: rd.stderr(),
	})
	rd.close()
	used, closeErr := spent(relay)
	switch cause := context.Cause(work); {
	case ctx.Err() == nil && (errors.Is(cause, errLingers) || errors.Is(cause, errHopeless)):
		exit.Cancelled = false
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe):
		// it need not read its input
	case err != nil && ctx.Err() != nil:
		exit.Cancelled = !exit.TimedOut
	case err != nil:
		rd.note("end", map[string]any{"error": err.Error()})
		return agent.Turn{}, errors.Join(fmt.Errorf("agent %q: %w", k.ID, err), closeErr)
	case ctx.Err() != nil && exit.Code != 0 && !exit.TimedOut && !exit.IdledOut:
		exit.Cancelled = true
	}
	if exit.Cancelled && !exit.TimedOut && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		exit.Cancelled, exit.TimedOut = false, true
	}
	f := judge(rep, closing{
		exit: exit, said: rd.said, lines: rd.lines, given: rd.given, prog: p,
	})
	turn := k.turnOf(rep, f, exit, used)
	turn.CLI, turn.CLIVersion, turn.Given = p.name, version, k.Given.names()
	if rep.version != "" {
		turn.CLIVersion = rep.version
	}
	if k.resumes(p, rep, r) {
		home, session := s.home, rep.session
		turn.Resume = func(ctx context.Context, r agent.Request) (agent.Turn, error) {
			return k.turn(ctx, r, session, home)
		}
	}
	rd.note("end", map[string]any{
		"exit_code": exit.Code, "signal": agent.Null(exit.Signal), "kind": agent.Null(string(turn.Kind)),
		"evidence": agent.Null(turn.Evidence), "problem": agent.Null(turn.Problem), "control": turn.Control,
		"stdout_bytes": rd.outBytes, "stderr_bytes": rd.errBytes, "left_out_bytes": rd.leftOut,
		"processes_left": exit.ProcessesLeft, "duration_ms": exit.Duration.Milliseconds(),
		"cli": p.name, "cli_version": agent.Null(turn.CLIVersion), "session": agent.Null(rep.session),
		"metered": relay != nil, "events": rep.events,
	})
	return turn, closeErr
}

// resumes reports whether the session of a turn can be gone on with: in a box that shows the copy at the path of the
// tree, where every copy stands, because CLIs look for their sessions by the path. There must be a session: a CLI may store
// none.
func (k *Known) resumes(p *program, rep *report, r agent.Request) bool {
	if p.wordsOnly && rep.called {
		return false
	}
	return rep.session != "" && rep.end == succeeded && p.sessions != "" && r.Dir != r.Copy && p.hasSessions(value(r.Env, "HOME"))
}

// turnOf returns what is known of a turn that has ended. What the relay counted goes before what the CLI says.
func (k *Known) turnOf(rep *report, f fault, exit agent.Exit, used *Used) agent.Turn {
	t := agent.Turn{
		Kind: f.kind, Evidence: f.text, Text: strings.ToValidUTF8(agent.Tail(rep.final, agent.TailLimit), "\uFFFD"),
		Exit: exit, Model: rep.model, Turns: rep.turns, Tokens: rep.tokens, CostUSD: rep.cost, Metered: new(used != nil),
	}
	if t.Model == "" {
		t.Model = k.Model
	}
	t.RetryAfter = f.reset.Believed(time.Now())
	var problem error
	if t.Control, problem = agent.ParseControl(t.Text); problem != nil {
		t.Problem = problem.Error()
	}
	if used == nil {
		return t
	}
	t.Tokens, t.CostUSD, t.CostAtLeast, t.Requests = used.Tokens, used.CostUSD, used.CostAtLeast, &used.Requests
	// A CLI knows a provider that cannot be reached only as an answer of the relay.
	switch class := t.Kind.Class(); {
	case t.Kind == "" || class == failure.Lifecycle:
	case used.Stopped != "":
		t.Kind, t.Evidence = used.Stopped, used.Why
	case used.Lost != "" && used.Lost != failure.Unknown && class != failure.Fatal:
		t.Kind, t.Evidence = used.Lost, "the provider cannot be reached: "+used.LostWhy
	}
	return t
}

// watch returns what is done after each event: the person is shown what the CLI does, and it is ended when it stays
// after its end, or when waiting for it is of no use. What the relay counted goes before what the CLI says.
func (k *Known) watch(r agent.Request, rep *report, relay *Relay, stop context.CancelCauseFunc) func() {
	stay := linger
	if k.linger > 0 {
		stay = k.linger
	}
	if r.Idle > 0 {
		stay = min(stay, r.Idle/2) // so that a success after the idle limit is one that came after our signal
	}
	var timer *time.Timer
	var done atomic.Bool
	return func() {
		switch {
		case rep.hopeless && !done.Swap(true):
			stop(errHopeless)
		case rep.end == succeeded && timer == nil:
			timer = time.AfterFunc(stay, func() { stop(errLingers) })
		case rep.end == running && timer != nil:
			timer.Stop()
			timer = nil
		}
		if rep.doing != "" && r.Notice != nil {
			so, usd := rep.tokens, rep.cost
			if relay != nil && relay.SoFar != nil {
				used := relay.SoFar()
				so, usd = used.Tokens, cmp.Or(used.CostUSD, used.CostAtLeast)
			}
			r.Notice(r.Secrets.String(rep.doing) + so.SoFar(usd))
		}
		rep.doing = ""
	}
}

// signInHome returns the HOME from which the CLI's sign-in is copied; empty: from none.
func (k *Known) signInHome() string {
	if k.Relay != nil {
		return ""
	}
	return k.Given.Home
}

// open opens the relay of a turn, if there is one, and puts it into s.
func (k *Known) open(ctx context.Context, r agent.Request, s *setup) (*Relay, error) {
	if k.Relay == nil {
		return nil, nil
	}
	relay, err := k.Relay(ctx, r)
	if err != nil {
		return nil, err
	}
	s.wire, s.url, s.key = relay.Wire, relay.URL, relay.Key
	return relay, nil
}

// spent closes a relay and returns what it counted; nil: there is none.
func spent(relay *Relay) (*Used, error) {
	if relay == nil {
		return nil, nil
	}
	used, err := relay.Close()
	return &used, err
}

func closed(relay *Relay) error {
	_, err := spent(relay)
	return err
}

// versionMost is how long a CLI may take to print its version.
const versionMost = time.Minute

var versionNumber = lazily.Regexp(`\d+(?:\.\d+)+(?:[+-][\w.+-]*\w)?`)

// versionOf returns the version that the CLI prints of itself, empty if it prints none. It is asked once.
func (k *Known) versionOf(ctx context.Context, p *program, r agent.Request, env []string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version != "" {
		return k.version
	}
	ctx, cancel := context.WithTimeout(ctx, versionMost)
	defer cancel()
	var out strings.Builder
	if _, err := r.Exec(ctx, agent.Command{
		Argv: append([]string{p.name}, p.version...), Dir: r.Dir, Env: env, Idle: versionMost, Stdout: &out, Stderr: &out,
	}); err == nil {
		k.version = versionNumber().FindString(out.String()[:min(out.Len(), 1000)])
	}
	return k.version
}

// value returns a variable of an environment of KEY=VALUE; empty: it is not set.
func value(env []string, name string) (v string) {
	for _, kv := range env {
		if rest, ok := strings.CutPrefix(kv, name+"="); ok {
			v = rest
		}
	}
	return v
}
