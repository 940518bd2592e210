// The hall: what a verb knows of the process it runs in, and how its end becomes an exit code.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// Exit codes; a signal is 128 + its number.
const (
	exitFailed  = 1   // a task failed, an apply was refused or in conflict
	exitRefused = 2   // could not be carried out
	exitSignal  = 128 // and the signal's number: 130 SIGINT, 143 SIGTERM
	exitPipe    = 141 // nobody reads stdout any more
)

// A hall is one call of the program. main fills the second half.
type hall struct {
	program        string   // as it was typed
	args           []string // without the program's name
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string // KEY=VALUE
	dir            string   // the working directory

	out, err *outlet
	secrets  *redact.Set
	into     string                   // -C
	varFiles []string                 // --var-file
	noTopic  error                    // help was asked for on a verb that there is not
	judged   bool                     // a verdict is recorded, and the exit code says what it says
	terminal atomic.Pointer[terminal] // what is drawn in now; nil: nothing is
}

// A fault ends a verb with an exit code. An empty text means that everything has been said.
type fault struct {
	code int
	text string
	wrap bool  // a person decides by it: no line is wider than the screen
	of   error // what it was made of; nil: nothing
}

func (f *fault) Error() string { return f.text }

func (f *fault) Unwrap() error { return f.of }

// refuse is a fault that says: it could not be carried out.
func refuse(format string, args ...any) error {
	return &fault{code: exitRefused, text: fmt.Sprintf(format, args...)}
}

// A misuse says what is wrong with the words that were typed, without the program's name before the verb. It ends with
// exitRefused; a command to type stands on a line of its own, since lines are wrapped.
type misuse struct{ text string }

func (m *misuse) Error() string { return m.text }

func misused(format string, args ...any) error { return &misuse{fmt.Sprintf(format, args...)} }

// main carries out the verb and gives the exit code.
func (h *hall) main() int {
	// Caught, so that a write to a closed pipe is an error and not the end: the record is sealed first.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	h.secrets = &redact.Set{}
	h.out = &outlet{w: h.stdout, secrets: h.secrets}
	h.err = &outlet{w: h.stderr, secrets: h.secrets, before: h.out}
	if dir, err := filepath.EvalSymlinks(h.dir); err == nil {
		h.dir = dir
	}

	command := h.command()
	err := command.Execute()
	code := h.exit(cmp.Or(err, h.noTopic))
	h.out.flush()
	switch err := h.out.problem(); {
	case errors.Is(err, syscall.EPIPE) && h.judged:
		// 141 stands in the record where it was the tasks that were cut short. A run that was only not read to its end,
		// or whose healing was cut short, exits with its verdict.
		return code
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	case err != nil:
		h.said().Problem(fmt.Sprintf("not everything could be written to the output: %v", err))
		if code == 0 {
			return exitRefused
		}
	}
	return code
}

// exit says what is left to say of an error and gives its code.
func (h *hall) exit(err error) int {
	if err == nil {
		return 0
	}
	if m := (*misuse)(nil); errors.As(err, &m) {
		h.said().Misused(m.text)
		return exitRefused
	}
	f := &fault{code: exitRefused, text: err.Error()}
	errors.As(err, &f)
	switch {
	case f.text == "":
	case f.wrap:
		h.said().Refused(f.text)
	default:
		h.said().Problem(f.text)
	}
	return f.code
}

// env is one variable of the environment, empty when it is not set.
func (h *hall) env(name string) string {
	v, _ := h.lookup(name)
	return v
}

func (h *hall) lookup(name string) (string, bool) {
	for _, kv := range h.environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

// shown is where results go, said is where messages go.
func (h *hall) shown() *view.Screen { return h.screen(h.out) }
func (h *hall) said() *view.Screen  { return h.screen(h.err) }

func (h *hall) screen(o *outlet) *view.Screen {
	s := &view.Screen{W: o, Base: h.dir}
	if fd, ok := terminalOf(o.w); ok {
		s.Colour = h.env("NO_COLOR") == "" && h.env("TERM") != "" && h.env("TERM") != "dumb"
		if columns, _, err := term.GetSize(fd); err == nil {
			s.Columns = columns
		}
	}
	return s
}

// typed is a call of this program as the person would type it from where they are.
func (h *hall) typed(args ...string) string {
	words := []string{"async-pipeline"}
	if strings.Contains(h.program, "/") { // not by way of PATH: the bare name would not be found
		words[0] = view.Quote(h.program)
	}
	if h.into != "" && h.into != here {
		words = append(words, "-C", view.Quote(h.into))
	}
	for _, a := range args {
		words = append(words, view.Quote(a))
	}
	return strings.Join(words, " ")
}

// ciMode says whether CI is set to anything but empty, 0 or false.
func (h *hall) ciMode() bool {
	switch strings.ToLower(h.env("CI")) {
	case "", "0", "false":
		return false
	}
	return true
}
