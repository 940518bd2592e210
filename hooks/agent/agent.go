// Package agent describes one turn with an agent: what the agent is asked, what it answers, and how the turn ended.
// It knows nothing of copies or budgets.
package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/reset"
)

// A Request is one turn.
type Request struct {
	Attempt int           // from 1
	Prompt  string        // the instructions without the context pack, see Prompt
	Pack    []byte        // the context pack, JSON; the agent passes it on fenced, after the prompt
	Dir     string        // the working directory as the agent sees it
	Env     []string      // KEY=VALUE: the whole environment
	Idle    time.Duration // ends the turn when the agent was silent for so long; 0: no limit
	// Exec runs a command in the agent's box.
	Exec    func(ctx context.Context, c Command) (Exit, error)
	Note    func(Line)  // writes a line of the transcript
	Secrets *redact.Set // removed from every line of it, however the agent's output is cut; nil: none
	Raw     io.Writer   // the raw stream, redacted by its owner
	// Task means that the turn is a task of a pipeline, and not the repair of one that failed: there is no check, no
	// command of its own, and no report. What the agent says last is its answer.
	Task bool
	// Check runs the failed task in the agent's box, for agents of our own.
	Check func(ctx context.Context, out io.Writer) (passed bool, err error)

	// For agents of our own, which act on files and start commands themselves.
	Copy string // the working directory where this process sees it
	Top  string // the top of the whole copy; Copy or a folder above it
	// Open opens the top if Copy and Top are names only: this process does not see all of its files there. Nothing that
	// it opened may be open while Exec or Check works. nil: the files are below Top.
	Open     func() (*os.Root, error)
	Run      []string     // the failed task's own command; nil: it is shell text, or not known without a secret
	RunDir   string       // where Run is run, as the agent sees it; empty: in Dir
	Allow    [][]string   // patterns of argv that may be run besides
	Tokens   int64        // input and output together that the turn may use; 0: no cap
	CostUSD  float64      // 0: no cap
	Notice   func(string) // shows a line to the person at the terminal; nil: nobody
	ReadOnly bool         // a finalizer or a second opinion: one answer, nothing may change
	Schema   string       // JSON schema of that answer; empty: ControlSchema
}

// A Command is a process of the agent. Env and Dir are those of the Request if they are not set.
type Command struct {
	Argv           []string
	Dir            string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Idle           time.Duration
	// Exited, where it is not nil, may be called when the process itself has ended and processes of it are left. It must not
	// wait.
	Exited func()
}

// An Exit is how a Command ended.
type Exit struct {
	Code          int
	Signal        string
	TimedOut      bool // the wall clock
	IdledOut      bool
	Cancelled     bool
	OutOfMemory   bool // the kernel killed it, or what it had started, for want of memory
	ProcessesLeft int
	Duration      time.Duration
}

// A Line is one line of the transcript; its writer adds seq and at.
type Line struct {
	// Type is prompt, text, thinking, tool_call, tool_result, command, request, notice, reminder, recovery, retry,
	// finalizer or end.
	Type string
	Data map[string]any // more fields
}

// Null returns nil for an empty string: a line of the transcript has null for what is unknown.
func Null(s string) any {
	if s == "" {
		return nil
	}
	return s
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

	// Of a program that we know: its name and version, and whether what it used was counted by us. nil: nobody knows.
	CLI, CLIVersion string
	Metered         *bool

	Given *Given // nil: nothing
	// Resume continues the conversation of this turn. nil means that the agent keeps none, and that the next turn is a
	// new one.
	Resume func(ctx context.Context, r Request) (Turn, error)
}

// Tokens counts tokens; nil means unknown, never 0.
type Tokens struct {
	Input  *int64 `json:"input"`
	Output *int64 `json:"output"`
	Cached *int64 `json:"cached"`
	// AtLeast is the known part of input and output together if a part of them is unknown: what a cut request used is
	// reported by nobody.
	AtLeast *int64 `json:"at_least,omitempty"`
}

// SoFar returns in words what was used, for the person who watches; empty: nothing is known.
func (t Tokens) SoFar(usd *float64) string {
	var parts []string
	switch {
	case t.Input != nil && t.Output != nil && *t.Input+*t.Output > 0:
		parts = append(parts, fmt.Sprintf("%d tokens", *t.Input+*t.Output))
	case t.AtLeast != nil:
		parts = append(parts, fmt.Sprintf("at least %d tokens", *t.AtLeast))
	}
	if usd != nil && *usd > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", *usd))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + " so far)"
}

// Commands counts the commands of our own agent: those that were started, and those that its policy refused. nil
// means not counted.
type Commands struct {
	Allowed *int `json:"allowed"`
	Refused *int `json:"refused"`
}

// Given names what an agent's program got of the person's, besides what every agent gets.
type Given struct {
	Variables []string // sorted
	Files     []string // "~/…"
}

// An Agent is a program or a model that can be asked for a turn.
type Agent interface {
	Name() string
	// Ready returns why the agent cannot be started here. It is asked before anything is copied.
	Ready() error
	// Turn returns when no process of the turn is left. An error means that the turn could not be carried out at all.
	Turn(ctx context.Context, r Request) (Turn, error)
	// Here reports whether the agent works on the files of its copy from this process, through Request.Open, and not
	// only in its box.
	Here() bool
	// Keyed reports whether what the agent is given may hold secrets that are known only while it works.
	Keyed() bool
	// Retry returns which of the agent's failures deserve another attempt.
	Retry() failure.Policy
}

// LongestWait is the longest wait that is believed, of a provider as of an agent. A longer one comes from a wrong
// clock or another unit, and is not waited for.
const LongestWait = reset.Longest
