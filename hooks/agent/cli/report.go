package cli

import (
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/reset"
)

// A report is what the stream of a CLI has said so far. The reader of the CLI fills it; judge concludes from it. It
// belongs to the goroutine that reads stdout, until the CLI has ended.
type report struct {
	note func(kind string, data map[string]any) // writes a line of the transcript; nil: there is none
	// over reports whether we have told the CLI to end: a success that it reports after that is none.
	over func() bool

	events   int  // that were read
	worked   bool // the model said or did something
	called   bool // it called a tool
	aborted  bool // it says that it stopped before it was done
	end      end
	fault    fault  // why it ended, or will: of its errors the first that tells something
	trouble  fault  // the last error that it says it tries to get over
	final    string // what was said after the last tool call
	open     bool   // final is still growing, by deltas
	session  string
	model    string
	version  string
	tokens   agent.Tokens
	cost     *float64
	turns    *int
	hopeless bool   // waiting for it is of no use; fault says why
	doing    string // what it does now, for the person; empty: nothing new
	limit    *fault // the provider said that a limit is reached; counts if the end is no success
}

// An end is what the terminal event of a stream said.
type end int

const (
	running end = iota // there was none
	succeeded
	failed
)

// A fault is a kind of failure and its evidence, one line.
type fault struct {
	kind  failure.Kind
	text  string
	reset reset.Reset // of a limit
}

// newFault returns the fault that the CLI reports in a message.
func newFault(kind failure.Kind, message string) fault {
	f := fault{kind: kind, text: short(message)}
	if kind.Class() == failure.Wait {
		f.reset = reset.Announced(message, time.Now())
	}
	return f
}

// vague reports whether the kind tells nothing that an exit code would not.
func (f fault) vague() bool {
	switch f.kind {
	case "", failure.Unknown, failure.CLIError, failure.AgentError:
		return true
	}
	return false
}

// or returns the fault that tells more; f if both do. Of one limit the reset is that of the fault that knows it.
func (f fault) or(other fault) fault {
	switch {
	case f.vague() && other.kind != "" && (!other.vague() || f.kind == ""):
		return other
	case f.kind == other.kind && f.reset == reset.Reset{}:
		f.reset = other.reset
	}
	return f
}

func (r *report) line(kind string, data map[string]any) {
	if r.note != nil {
		r.note(kind, data)
	}
}

// text is a whole text of the model.
func (r *report) text(s string) {
	r.flush()
	r.progress()
	if s != "" {
		r.line("text", map[string]any{"text": s})
		r.final = s
	}
}

// delta is a part of a text of the model.
func (r *report) delta(s string) {
	if !r.open {
		r.final, r.open = "", true
	}
	r.progress()
	if len(r.final) < maxLine {
		r.final += s
	}
}

// flush ends a text that came in parts.
func (r *report) flush() {
	if r.open && r.final != "" {
		r.line("text", map[string]any{"text": r.final})
	}
	r.open = false
}

// call is a tool call; input is its arguments.
func (r *report) call(id, tool string, input map[string]any) {
	r.flush()
	r.progress()
	r.final, r.called = "", true
	data := map[string]any{"id": id, "name": tool}
	if at := target(input); at != "" {
		data["target"] = at
	}
	r.line("tool_call", data)
	r.doing = strings.TrimSpace(tool + " " + target(input))
}

// result is what a tool returned.
func (r *report) result(id, tool, text string, failed bool) {
	r.progress()
	r.line("tool_result", map[string]any{"id": id, "name": tool, "text": agent.Tail(text, mostResult), "failed": failed})
}

// mostResult is how much of what a tool returned stands in the transcript, in bytes.
const mostResult = 16 << 10

// progress notes that the CLI works: what it was in trouble with is over, and so is an end that was none.
func (r *report) progress() {
	r.worked = true
	if !r.hopeless {
		r.fault, r.trouble = fault{}, fault{}
	}
	if r.end == failed {
		r.end = running
	}
}

// retries is an error that the CLI says it tries to get over.
func (r *report) retries(kind failure.Kind, text string) {
	r.trouble = newFault(kind, text)
	r.line("notice", map[string]any{"text": short(text), "kind": string(kind)})
}

// err is an error that may end the work. What follows is often only about its consequences.
func (r *report) err(kind failure.Kind, text string) {
	r.fault = r.fault.or(newFault(kind, text))
	r.line("notice", map[string]any{"text": short(text), "kind": string(kind)})
}

// again means that the CLI goes on after an end: what it failed with is what it tries to get over.
func (r *report) again() {
	r.end = running
	if !r.hopeless && r.fault.kind != "" {
		r.fault, r.trouble = fault{}, r.fault
	}
}

// succeed is a terminal event that says that the work is done.
func (r *report) succeed() {
	r.flush()
	if r.over != nil && r.over() {
		return
	}
	r.end = succeeded
}

// fail is a terminal event that says that the work failed. An error that told more, or as much, before it counts.
func (r *report) fail(kind failure.Kind, text string) {
	r.flush()
	if r.end == succeeded {
		return // what comes after a success does not undo it
	}
	r.end = failed
	r.fault = r.fault.or(newFault(kind, text))
}

// add adds to a count that may be unknown.
func add[T int | int64 | float64](to **T, n T) {
	if *to == nil {
		*to = new(T)
	}
	**to += n
}

// target returns what a tool works on, in one line: a file, a command, a pattern.
func target(input map[string]any) string {
	for _, key := range []string{
		"file_path", "filePath", "path", "command", "cmd", "pattern", "query", "url", "dir_path", "description",
	} {
		switch v := input[key].(type) {
		case string:
			if v != "" {
				return short(v)
			}
		case []any:
			var words []string
			for _, w := range v {
				if s, ok := w.(string); ok {
					words = append(words, s)
				}
			}
			return short(strings.Join(words, " "))
		}
	}
	return ""
}

// short returns a text for a message: one line, at most lastChars bytes of its beginning.
func short(text string) string {
	text = strings.Join(strings.Fields(agent.Clean(text[:min(len(text), 4*lastChars)])), " ")
	if len(text) > lastChars {
		text = strings.ToValidUTF8(text[:lastChars], "") + "…"
	}
	return text
}
