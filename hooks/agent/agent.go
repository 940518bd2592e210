// Package agent is one turn with an agent: what it is asked, what it says, how it ended. It knows nothing of copies or budgets.
package agent

import (
	"context"
	"io"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A Request is one turn.
type Request struct {
	Attempt int                                                               // from 1
	Prompt  string                                                            // instructions, without the context pack: see Prompt
	Pack    []byte                                                            // the context pack, JSON; the agent hands it over fenced, after the prompt
	Dir     string                                                            // the working directory as the agent sees it
	Env     []string                                                          // KEY=VALUE: the whole environment
	Idle    time.Duration                                                     // ends the turn when nothing was heard for so long; 0: no limit
	Exec    func(ctx context.Context, c Command) (Exit, error)                // runs a command in the agent's box
	Note    func(Line)                                                        // a line for the transcript
	Secrets *redact.Set                                                       // what no line of it may hold, however the agent's output is cut; nil: nothing
	Raw     io.Writer                                                         // the raw stream, redacted by its owner
	Check   func(ctx context.Context, out io.Writer) (passed bool, err error) // runs the failed task in the agent's box; for agents of our own

	// For agents of our own, which act on files and start commands themselves.
	Copy     string       // the working directory where this process sees it
	Top      string       // the folder of Copy that holds the whole copy; Copy or one above it
	Run      []string     // the failed task's own command, which may always be run; nil: it is shell text, or holds a secret or what is not known
	RunDir   string       // where Run is run, as the agent sees it; empty: in Dir
	Allow    [][]string   // patterns of argv that may be run besides
	Tokens   int64        // input and output together that the turn may use; 0: no cap
	CostUSD  float64      // 0: no cap
	Notice   func(string) // words for the person at the terminal; nil: nobody
	ReadOnly bool         // a finalizer: one answer, nothing may change
}

// A Command is a process of the agent's; Env and Dir are the Request's unless set.
type Command struct {
	Argv           []string
	Dir            string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Idle           time.Duration
}

// An Exit is how it ended.
type Exit struct {
	Code          int
	Signal        string
	TimedOut      bool // the wall clock
	IdledOut      bool
	Cancelled     bool
	ProcessesLeft int
	Duration      time.Duration
}

// A Line is one line of the transcript; {seq,at} are added by its writer.
type Line struct {
	Type string         // prompt|text|thinking|tool_call|tool_result|command|request|notice|reminder|recovery|retry|finalizer|end
	Data map[string]any // more fields
}

// A Turn is how a turn ended.
type Turn struct {
	Kind        failure.Kind   // empty: the agent ended by itself
	Evidence    string         // what Kind was concluded from, one line
	RetryAfter  *time.Duration // how long the agent says to wait before it is asked again; nil: it does not say
	Text        string         // the agent's last output, at most the tail of 256 KiB
	Control     *Control       // nil: none found
	Problem     string         // why Control is nil, in words
	Exit        Exit
	Model       string // as the provider names it; empty: unknown
	Turns       *int   // model turns, nil where unknown
	Tokens      Tokens
	CostUSD     *float64
	CostAtLeast *float64 // what is known of it, where a part is unknown
	Requests    *int
	Commands    Commands
	// Resume goes on with the conversation of this turn. nil: the agent keeps none, and the next turn is a new one.
	Resume func(ctx context.Context, r Request) (Turn, error)
}

// Tokens are nil where unknown, never 0.
type Tokens struct {
	Input  *int64 `json:"input"`
	Output *int64 `json:"output"`
	Cached *int64 `json:"cached"`
	// AtLeast is what is known of input and output together, where a part of it is unknown: of a request that was cut, nobody says
	// what it used.
	AtLeast *int64 `json:"at_least,omitempty"`
}

// Commands counts the commands of an agent of ours: those that were started, and those that its policy refused. nil: not counted.
type Commands struct {
	Allowed *int `json:"allowed"`
	Refused *int `json:"refused"`
}

// An Agent takes a turn.
type Agent interface {
	Name() string
	// Ready returns why the agent cannot be started here. It is asked before anything is copied.
	Ready() error
	// Turn returns when no process of the turn is left. An error means it could not be done at all.
	Turn(ctx context.Context, r Request) (Turn, error)
	// Retry says which of the agent's failures deserve one more try.
	Retry() failure.Policy
}
