package cli

// How a program's turn ended: one pure function that asks the same questions in the same order for every program.

import (
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// An ending is all that is known of the end of a turn.
type ending struct {
	exit      agent.Exit
	said      bool           // something but space stood on stdout
	truncated bool           // more was said than is kept
	control   bool           // a control object was found
	failure   *agent.Failure // what it said of its own end
	stderr    string         // the last line of stderr
}

// conclude returns the kind of a turn's end and the evidence for it, one line. The first match decides: was it
// cancelled; did a watchdog of ours end it; did another program; did it report a failure; does its exit code tell one,
// or that something that it started was ended by another program; did it print anything. A program has no terminal event, and its control object is a claim: it excuses no exit
// code, it only settles whether it matters that output was cut.
func conclude(e ending) (failure.Kind, string) {
	x := e.exit
	switch {
	case x.Cancelled:
		return failure.Cancelled, "cancelled"
	case x.TimedOut:
		return failure.WallTimeout, "still running after " + x.Duration.Round(100*time.Millisecond).String() +
			", all of the wall clock but what verification needs"
	case x.IdledOut:
		return failure.IdleTimeout, "said nothing for the idle limit"
	case e.failure != nil && x.Signal == "" && !x.OutOfMemory:
		return e.failure.Kind, account(e.failure)
	case killed(x) != "":
		return failure.KilledExternally, killed(x)
	case x.Code == 127:
		return failure.CLINotInPath, because("exit 127", e.stderr)
	case x.Code == 126:
		return failure.SpawnFailed, because("exit 126", e.stderr)
	case x.Code != 0:
		return failure.CLIError, because(fmt.Sprintf("exit %d", x.Code), e.stderr)
	case !e.said:
		return failure.NoOutput, because("exit 0, nothing on stdout", e.stderr)
	case e.truncated && !e.control:
		return failure.OutputTruncated, fmt.Sprintf("exit 0, more than %d MiB on stdout and no control object at its end",
			maxTotal>>20)
	}
	return "", ""
}

// killed returns the evidence that the signal of somebody else ended a program that no clock of ours and no person
// ended, empty if none did. A shell that waited for a program that a signal ended exits with 128 and its number.
func killed(x agent.Exit) string {
	switch {
	case x.OutOfMemory:
		return "exit 137: the kernel killed it, because there was not enough memory"
	case x.Signal != "":
		return "ended by " + x.Signal + ", which was not ours"
	case x.Code == 128+15 || x.Code == 128+9 || x.Code == 128+2 || x.Code == 128+1:
		return fmt.Sprintf("exit %d: a signal that was not ours ended it", x.Code)
	}
	return ""
}

func because(what, stderr string) string {
	if stderr = strings.TrimSpace(stderr); stderr != "" {
		return what + "; stderr: " + stderr
	}
	return what
}

// account returns the evidence of a failure that the agent reported.
func account(f *agent.Failure) string {
	words := "the agent says so"
	if f.Message != "" {
		words += ": " + f.Message
	}
	for _, left := range f.Left {
		words += "; " + left
	}
	return words
}
