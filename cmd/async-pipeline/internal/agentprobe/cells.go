// Package agentprobe plays scenes with an installed agent CLI: it repairs a small project through the whole program,
// and a scripted provider on this machine answers it, well or with a fault. It tells whether each scene came to what is
// right. Nothing is asked of a real provider, so that it takes no account and costs nothing.
package agentprobe

import (
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// A CLI is an agent CLI, and how a model asks it for a command.
type CLI struct{ Name, model, tool, argument string }

// CLIs returns those that can be probed.
func CLIs() []CLI {
	return []CLI{
		{"claude", "claude-sonnet-4-5", "Bash", "command"},
		{"codex", "gpt-5", "exec_command", "cmd"},
		{"gemini", "gemini-2.5-pro", "run_shell_command", "command"},
		{"opencode", "scripted", "bash", "command"},
		{"copilot", "scripted", "bash", "command"},
		{"pi", "scripted", "bash", "command"},
	}
}

// A Cell is a scene: what the provider does, and what may come of it. One cell can be played at a time.
type Cell struct {
	Name  string
	Short bool           // in the short selection
	Kinds []failure.Kind // that are right; the empty one is success

	first, then *modeltest.Turn // before the repair, and after it; nil: the usual answer
	once        bool            // first and then are for one request only
	command     string          // of the model, besides the repair
	wrap        string          // a shell script in the place of the CLI; $REAL is the CLI
	repaired    bool            // the copy was changed, and the change must be verified
	wall        string          // the budget's wall clock
}

const control = `{"outcome":"fixed","summary":"the greeting was wrong"}`

// Cells returns all cells, in the order in which they are played.
func Cells() []Cell {
	const success = failure.Kind("")
	broken := []failure.Kind{
		failure.TransportDisconnect, failure.StreamFailure, failure.IdleTimeout, failure.WallTimeout, failure.TokenBudget,
	}
	fault := func(kind string) *modeltest.Turn {
		return &modeltest.Turn{Text: control, Fault: modeltest.Fault{Kind: kind, Events: 1}}
	}
	return []Cell{
		{Name: "good answers", Short: true, Kinds: []failure.Kind{success}, repaired: true},
		{
			Name: "prose then JSON", then: &modeltest.Turn{Text: "I have changed the greeting.\n\n" + control + "\n"},
			Kinds: []failure.Kind{success}, repaired: true,
		},
		{
			Name: "no JSON at the end", Short: true, then: &modeltest.Turn{Text: "I have changed the greeting: {\"outcome\": \"fix"},
			Kinds: []failure.Kind{success}, repaired: true,
		},
		{
			Name: "401", Short: true, first: &modeltest.Turn{Status: 401, Error: "invalid x-api-key"},
			Kinds: []failure.Kind{failure.AuthInvalid},
		},
		{
			Name: "429 once", Short: true, first: &modeltest.Turn{Status: 429, RetryAfter: "1", Error: "slow down"}, once: true,
			Kinds: []failure.Kind{success}, repaired: true,
		},
		{
			Name: "500", first: &modeltest.Turn{Status: 500, Error: "internal server error"},
			Kinds: []failure.Kind{failure.ServerOverload, failure.IdleTimeout, failure.WallTimeout}, wall: "3m",
		},
		{
			Name: "connection cut after the repair", Short: true, then: fault(modeltest.Cut), Kinds: broken, repaired: true, wall: "3m",
		},
		{
			// Gemini CLI takes half an answer for a whole one.
			Name: "stream without end after the repair", then: fault(modeltest.End), Kinds: append(broken, success),
			repaired: true, wall: "3m",
		},
		{
			Name: "stall after the repair", then: fault(modeltest.Stall), repaired: true, wall: "75s",
			Kinds: []failure.Kind{failure.IdleTimeout, failure.WallTimeout},
		},
		{
			Name: "a page of HTML", first: &modeltest.Turn{Body: "<html>this is no provider</html>"}, wall: "4m",
			Kinds: []failure.Kind{
				failure.StreamFailure, failure.TransportDisconnect, failure.ParseError, failure.TokenBudget, failure.IdleTimeout,
				failure.ColdStartTimeout,
			},
		},
		{
			Name: "a process left behind", command: "(setsid sleep 3000 >/dev/null 2>&1 &);",
			Kinds: []failure.Kind{success}, repaired: true,
		},
		{
			Name: "stays after its end", wrap: "\"$REAL\" \"$@\"\nsleep 3000\n", Kinds: []failure.Kind{success}, repaired: true,
		},
	}
}

// Short returns the cells of the short selection.
func Short() []Cell {
	return slices.DeleteFunc(Cells(), func(c Cell) bool { return !c.Short })
}
