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
	Smoke bool           // played in CI, where the rest takes too long
	Kinds []failure.Kind // that are right; the empty one is success

	first, then *modeltest.Turn // before the repair, and after it; nil: the usual answer
	once        bool            // first and then are for one request only
	closed      bool            // nobody listens at the provider's address
	command     string          // of the model, besides the repair
	wrap        string          // a shell script in the place of the CLI; $REAL is the CLI
	repaired    bool            // the copy was changed, and the change must be verified
	wall        string          // the budget's wall clock
}

const (
	control = `{"outcome":"fixed","summary":"the greeting was wrong"}`
	success = failure.Kind("")
	// shellTool stands in a call for the CLI's own tool for commands.
	shellTool = "$SHELL_TOOL"
)

var (
	// waiting are the kinds of a CLI that asks again, or waits, until it is ended.
	waiting = []failure.Kind{failure.ColdStartTimeout, failure.IdleTimeout, failure.WallTimeout}
	// broken are the kinds of an answer that has no end.
	broken = append([]failure.Kind{failure.StreamFailure, failure.TransportDisconnect, failure.TokenBudget}, waiting...)
)

// Cells returns all cells, in the order in which they are played.
func Cells() []Cell { return slices.Concat(answers(), refusals(), breaks(), programs()) }

// fault returns a good answer with a fault after its first event.
func fault(kind string) *modeltest.Turn {
	return &modeltest.Turn{Text: control, Fault: modeltest.Fault{Kind: kind, Events: 1}}
}

// kinds returns those that are right besides others.
func kinds(others []failure.Kind, more ...failure.Kind) []failure.Kind {
	return slices.Concat(more, others)
}

// answers are cells whose provider answers, well or oddly.
func answers() []Cell {
	fixed := []failure.Kind{success}
	return []Cell{
		{Name: "good answers", Short: true, Smoke: true, Kinds: fixed, repaired: true},
		{
			Name: "prose then JSON", Smoke: true, Kinds: fixed, repaired: true,
			then: &modeltest.Turn{Text: "I have changed the greeting.\n\n" + control + "\n"},
		},
		{
			Name: "no JSON at the end", Short: true, Smoke: true, Kinds: fixed, repaired: true,
			then: &modeltest.Turn{Text: "I have changed the greeting: {\"outcome\": \"fix"},
		},
		{Name: "an empty answer", Kinds: []failure.Kind{failure.EmptyOutput}, first: &modeltest.Turn{}},
		{
			Name: "an empty answer after the repair", then: &modeltest.Turn{}, repaired: true,
			Kinds: []failure.Kind{failure.EmptyOutput},
		},
		{
			// Some take what was cut for an answer, which lacks its object.
			Name: "output limit after the repair", repaired: true,
			then:  &modeltest.Turn{Text: "I have changed the greeting, and", Stop: "max_tokens"},
			Kinds: []failure.Kind{failure.AgentError, success},
		},
		{
			// Some leave the words of a refusal out, and some show them as an answer.
			Name: "refusal", first: &modeltest.Turn{Text: "I cannot help with this.", Stop: "refused"},
			Kinds: []failure.Kind{failure.ContentPolicy, failure.EmptyOutput, failure.VerdictAmbiguous},
		},
		{
			Name: "a tool that is not there", once: true, Kinds: fixed, repaired: true,
			first: &modeltest.Turn{Calls: []modeltest.Call{{Name: "no_such_tool", Args: []byte(`{"name": "x"}`)}}},
		},
		{
			Name: "arguments that are no JSON", once: true, Kinds: fixed, repaired: true,
			first: &modeltest.Turn{Calls: []modeltest.Call{{Name: shellTool, RawArgs: `{"command": ]`}}},
		},
	}
}

// refusals are cells whose provider answers with an error.
func refusals() []Cell {
	status := func(code int, kind, message string) *modeltest.Turn {
		return &modeltest.Turn{Status: code, ErrorType: kind, Error: message}
	}
	limited := &modeltest.Turn{Status: 429, RetryAfter: "1", Error: "slow down"}
	return []Cell{
		{
			Name: "400", first: status(400, "", "a field of the request is wrong"),
			Kinds: []failure.Kind{failure.InvalidRequest},
		},
		{
			Name: "401", Short: true, Smoke: true, first: status(401, "", "invalid x-api-key"),
			Kinds: []failure.Kind{failure.AuthInvalid},
		},
		{
			Name: "403", first: status(403, "", "your account may not use this model"),
			Kinds: []failure.Kind{failure.AuthInvalid},
		},
		{Name: "429 once", Short: true, Smoke: true, first: limited, once: true, Kinds: []failure.Kind{success}, repaired: true},
		{Name: "429 without end", first: limited, Kinds: kinds(waiting, failure.RateLimited), wall: "2m"},
		{
			Name: "429, again in an hour", wall: "75s", Kinds: kinds(waiting, failure.RateLimited),
			first: &modeltest.Turn{Status: 429, RetryAfter: "3600", Error: "slow down"},
		},
		{
			Name: "429, quota used up", wall: "2m", Kinds: kinds(waiting, failure.QuotaExhausted),
			first: status(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
		},
		{
			Name: "500", Smoke: true, first: status(500, "", "internal server error"), wall: "3m",
			Kinds: kinds(waiting, failure.ServerOverload),
		},
		{Name: "529", first: status(529, "", "overloaded"), wall: "3m", Kinds: kinds(waiting, failure.ServerOverload)},
	}
}

// breaks are cells whose provider breaks off, falls silent, or is none.
func breaks() []Cell {
	return []Cell{
		{Name: "refused port", closed: true, wall: "3m", Kinds: kinds(waiting, failure.TransportDisconnect)},
		{
			Name: "connection cut after the repair", Short: true, Smoke: true, then: fault(modeltest.Cut), Kinds: broken,
			repaired: true, wall: "3m",
		},
		{Name: "stream without end", first: fault(modeltest.End), Kinds: broken, wall: "3m"},
		{
			// Gemini CLI takes half an answer for a whole one.
			Name: "stream without end after the repair", Smoke: true, then: fault(modeltest.End),
			Kinds: kinds(broken, success), repaired: true, wall: "3m",
		},
		{
			Name: "stall after the repair", Smoke: true, then: fault(modeltest.Stall), repaired: true, wall: "75s",
			Kinds: []failure.Kind{failure.IdleTimeout, failure.WallTimeout},
		},
		{
			// Most leave out what is no event.
			Name: "garbage after the repair", Smoke: true, then: fault(modeltest.Garbage), repaired: true, wall: "3m",
			Kinds: kinds(broken, success),
		},
		{
			Name: "a page of HTML", Smoke: true, first: &modeltest.Turn{Body: "<html>this is no provider</html>"}, wall: "4m",
			Kinds: kinds(broken, failure.ParseError),
		},
	}
}

// programs are cells with good answers, whose programs do not end.
func programs() []Cell {
	return []Cell{
		{
			Name: "a process left behind", Smoke: true, command: "(setsid sleep 3000 >/dev/null 2>&1 &);",
			Kinds: []failure.Kind{success}, repaired: true,
		},
		{
			Name: "stays after its end", Smoke: true, wrap: "\"$REAL\" \"$@\"\nsleep 3000\n",
			Kinds: []failure.Kind{success}, repaired: true,
		},
	}
}

// Short returns the cells of the short selection.
func Short() []Cell {
	return slices.DeleteFunc(Cells(), func(c Cell) bool { return !c.Short })
}

// Smoke returns the cells that CI plays.
func Smoke() []Cell {
	return slices.DeleteFunc(Cells(), func(c Cell) bool { return !c.Smoke })
}

// turn returns t for a CLI, with the name of its tool in the calls. nil stays nil.
func (c CLI) turn(t *modeltest.Turn) *modeltest.Turn {
	if t == nil {
		return nil
	}
	own := *t
	own.Calls = slices.Clone(t.Calls)
	for i := range own.Calls {
		if own.Calls[i].Name == shellTool {
			own.Calls[i].Name = c.tool
		}
	}
	return &own
}
