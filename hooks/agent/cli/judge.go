package cli

// How a turn of a CLI ended: one pure function that asks the same questions in the same order for every CLI.

import (
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// A closing is all that is known of the end of a turn of a CLI.
type closing struct {
	exit  agent.Exit
	said  bool     // something but space stood on stdout
	lines []string // the last lines of stderr
	given string   // prompt and context pack, which may be echoed on stderr
	prog  *program
}

// judge returns the kind of a turn's end and the evidence for it, one line. The terminal event of the stream decides;
// a clock of ours, a signal and the exit code only break ties. The first match counts.
func judge(r *report, c closing) fault {
	x := c.exit
	empty := strings.TrimSpace(r.final) == ""
	told := fault{}
	if r.end != succeeded {
		told = r.fault.or(r.trouble)
		// Beside output and exit code 0, errors on stderr are those that did not stop it.
		if r.end == failed || !c.said || x.Code != 0 || x.TimedOut || x.IdledOut {
			told = told.or(complaint(c.lines, c.given))
		}
		told = told.or(refusal(c.lines, c.given))
		if r.limit != nil && told.vague() && x.Code != 0 {
			told = *r.limit
		}
	}
	after := func(f fault) fault {
		if told.text != "" {
			f.text += "; before that: " + told.text
		}
		return f
	}
	switch {
	case x.Cancelled && !x.TimedOut:
		return fault{kind: failure.Cancelled, text: "cancelled"}
	case r.hopeless:
		return r.fault
	case r.end == succeeded && empty && !x.TimedOut && !x.IdledOut: // else it had gone on
		return fault{kind: failure.EmptyOutput, text: "it ended with success, and its last words are empty"}
	case r.end == succeeded && !empty:
		return fault{}
	case r.end == failed:
		if kind := c.code(x.Code); told.vague() && kind != "" {
			told.kind = kind
		}
		return told
	case x.TimedOut:
		return after(fault{kind: failure.WallTimeout, text: "still running after " +
			x.Duration.Round(100*time.Millisecond).String() + ", all of the wall clock but what verification needs"})
	case x.IdledOut && !told.vague():
		told.text = "said nothing for the idle limit after: " + told.text
		return told
	case x.IdledOut && !r.worked:
		return after(fault{kind: failure.ColdStartTimeout, text: "the model said nothing for the idle limit"})
	case x.IdledOut:
		return after(fault{kind: failure.IdleTimeout, text: "said nothing for the idle limit"})
	case c.code(x.Code) == failure.Cancelled && x.Signal == "" && !x.OutOfMemory:
		return fault{kind: failure.Cancelled, text: fmt.Sprintf("exit %d: it says that it was cancelled", x.Code)}
	case killed(x) != "":
		return fault{kind: failure.KilledExternally, text: killed(x)}
	case x.Code == 127:
		return fault{kind: failure.CLINotInPath, text: because("exit 127", last(c.lines))}
	case x.Code == 126:
		return fault{kind: failure.SpawnFailed, text: because("exit 126", last(c.lines))}
	}
	exit := because(fmt.Sprintf("exit %d without a last event", x.Code), last(c.lines))
	switch {
	case !told.vague():
		told.text = fmt.Sprintf("exit %d; %s", x.Code, told.text)
		return told
	case c.code(x.Code) != "":
		return fault{kind: c.code(x.Code), text: exit}
	case x.Code != 0:
		return fault{kind: failure.CLIError, text: exit}
	case c.prog.endless && !empty && !r.aborted && told.kind == "":
		return fault{}
	case r.events > 0:
		return fault{kind: failure.StreamFailure, text: exit}
	case c.said:
		return fault{kind: failure.ParseError, text: "exit 0, and nothing on stdout is an event that we know"}
	}
	return fault{kind: failure.NoOutput, text: because("exit 0, nothing on stdout", last(c.lines))}
}

// code returns the kind that an exit code stands for; empty: none.
func (c closing) code(code int) failure.Kind {
	if c.prog.exit == nil {
		return ""
	}
	return c.prog.exit(code)
}

func last(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
