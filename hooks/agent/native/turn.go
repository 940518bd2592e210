// Package native is our own agent: a conversation with a model, and tools that act on the copy. The calls of the
// model are carried out here, confined to the copy, and never twice. The package also recovers the conversation from
// failures of the network.
package native

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// DefaultTurns is how many answers of the model a turn may take by default.
const DefaultTurns = 40

// An Agent is our own: it leads the conversation, and its tools act on Request.Copy. It keeps nothing between turns;
// several turns may run at once.
type Agent struct {
	ID string
	// Ask sends one request; model.Model.Turn is such a function.
	Ask      func(ctx context.Context, r model.Request, event func(model.Event)) (model.Answer, error)
	Model    string // its name, for the record, the price, the window and the loop guard
	Provider string // one of model.Providers, for the record
	MaxTurns int    // answers of the model; 0: DefaultTurns
	Window   int    // tokens that a conversation may hold; 0: as known for the model, else 128k
	// Cost returns the price of one request; nil if no price is known.
	Cost     func(model string, u model.Usage) (usd float64, known bool)
	Lacks    []string      // variables that its key is made from and that are not set or empty
	Patience time.Duration // the model may think at least so long without output, whatever Request.Idle says
	Breaker  *Breaker      // shared by all agents of one provider; nil: none

	open   func(r agent.Request) (toolset, error) // nil: the tools on the copy of the request
	random func() float64                         // in [0, 1); nil: rand.Float64
	mark   func() string                          // of fences; nil: random
	drain  time.Duration                          // for a running tool, once the stream has failed; 0: mostDrain
}

var _ agent.Agent = (*Agent)(nil)

// Name is the agent's name.
func (a *Agent) Name() string { return a.ID }

// Ready returns why the agent cannot ask its model: it has none, or its key is not set.
func (a *Agent) Ready() error {
	switch {
	case a.Ask == nil:
		return fmt.Errorf("agent %q has no model: set provider and model", a.ID)
	case len(a.Lacks) == 1:
		return fmt.Errorf("agent %q needs %s, which is not set", a.ID, a.Lacks[0])
	case len(a.Lacks) > 1:
		return fmt.Errorf("agent %q needs %s, which are not set", a.ID, strings.Join(a.Lacks, " and "))
	}
	return nil
}

// Here returns true: its tools read and write the files of the copy.
func (a *Agent) Here() bool { return true }

// Keyed returns false: its key is used by this process alone.
func (a *Agent) Keyed() bool { return false }

// Retry adds nothing to what is retried for every agent, because the turn itself recovers what can be recovered.
func (a *Agent) Retry() failure.Policy { return failure.Policy{} }

// Turn leads one conversation. What the model and the network do wrong is the Turn's Kind; an error means that there
// was no conversation.
func (a *Agent) Turn(ctx context.Context, r agent.Request) (agent.Turn, error) {
	if err := a.Ready(); err != nil {
		return agent.Turn{}, err
	}
	r.Note = inTurn(r.Note)
	open := a.open
	if open == nil {
		open = func(r agent.Request) (toolset, error) { return tools.Open(&r) }
	}
	tools, err := open(r)
	if err != nil {
		return agent.Turn{}, fmt.Errorf("agent %q: %w", a.ID, err)
	}
	defer func() { _ = tools.Close() }() // of a folder that was only read through
	l := newLoop(a, r, tools)
	l.begin()
	return l.run(ctx), nil
}

// inTurn returns a note function that several goroutines may call: tools that run side by side note lines too.
func inTurn(note func(agent.Line)) func(agent.Line) {
	if note == nil {
		return nil
	}
	var mu sync.Mutex
	return func(l agent.Line) {
		mu.Lock()
		defer mu.Unlock()
		note(l)
	}
}

// An ending is how a turn ended, and why.
type ending struct {
	kind      failure.Kind
	evidence  string
	after     *time.Duration // what the provider asks to wait; nil: it does not say
	text      string
	control   *agent.Control
	synthetic bool // text is ours, not the model's
}

// run carries out the whole turn.
func (l *loop) run(ctx context.Context) agent.Turn {
	started := time.Now()
	e := l.rounds(ctx)
	turn := agent.Turn{
		Kind: e.kind, Evidence: l.clean(e.evidence), RetryAfter: e.after, Model: l.meter.said,
		Text: agent.Tail(e.text, agent.TailLimit), Control: e.control,
		Turns: new(l.turns), Requests: new(l.meter.requests), Tokens: l.meter.tokens(),
		CostUSD: l.meter.cost(), CostAtLeast: l.meter.costAtLeast(),
		Exit: agent.Exit{
			Cancelled: e.kind == failure.Cancelled, TimedOut: e.kind == failure.WallTimeout,
			Duration: time.Since(started),
		},
	}
	if l.question == "" { // else they are those of the turn before
		turn.Commands = l.tools.Commands()
	}
	if turn.Control == nil {
		var problem error
		if turn.Control, problem = agent.ParseControl(turn.Text); problem != nil {
			turn.Problem = problem.Error()
		}
	}
	if turn.Kind == "" || turn.Kind == failure.EmptyOutput {
		turn.Resume = func(ctx context.Context, r agent.Request) (agent.Turn, error) { return l.resume(ctx, r, e.text), nil }
	}
	data := map[string]any{
		"kind": agent.Null(string(turn.Kind)), "evidence": agent.Null(turn.Evidence),
		"problem": agent.Null(turn.Problem),
		"control": turn.Control, "turns": l.turns, "requests": l.meter.requests, "recoveries": l.recoveries,
		"tokens": turn.Tokens, "cost_usd": turn.CostUSD, "duration_ms": turn.Exit.Duration.Milliseconds(),
	}
	if e.synthetic {
		data["synthetic"] = true
	}
	l.note("end", data)
	return turn
}
