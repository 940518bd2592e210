package cli

// What is known of the agent CLIs. Each has a file: how it is started so that nobody has to answer it, how it is
// pointed at a provider, and how its stream is read.

import (
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// A program is one agent CLI.
type program struct {
	name    string   // as in knowncli, and of the file that is looked up in PATH
	pack    string   // of npm
	version []string // arguments that print its version
	seen    string   // the version whose behavior the tests have
	// sessions is the folder below HOME that a later turn needs to go on with a session; empty: none can.
	sessions string
	// wordsOnly means that a session with calls of tools cannot be gone on with.
	wordsOnly bool
	// signIn are the files below HOME that hold the person's sign-in.
	signIn []signIn
	// endpoint returns where it finds its provider with the sign-in below a HOME. nil: that is not known.
	endpoint func(home string) string
	launch   func(setup) launch
	// read returns a function that reads one event, a line of JSON on stdout, into r. Lines come in order, from one
	// goroutine at a time.
	read func(r *report) func(line []byte)
	// noise reports whether a line only repeats what other events say. It is not decoded, and not kept in the raw
	// stream. nil: no line does.
	noise func(line []byte) bool
	// early are the kinds of errors on stderr after which waiting is of no use.
	early []failure.Kind
	// endless means that it may have no last event: words of the model and exit code 0 are a success.
	endless bool
	// exit returns the kind that an exit code stands for; empty: none. nil: no code does.
	exit func(code int) failure.Kind
}

// A signIn is a file with a person's sign-in.
type signIn struct {
	path string   // below HOME
	keys []string // the fields of its JSON object that are copied; nil: the whole file, which runs nothing
}

// A setup is what a turn wants of a CLI.
type setup struct {
	home   string // the private HOME
	dir    string // the working directory
	model  string // empty: the CLI's own choice
	args   []string
	prompt string
	resume string // the id of a session to go on with; empty: a new one

	wire, url, key string // the relay; without url the CLI's own sign-in is used
}

// A launch is how a CLI is started for one turn.
type launch struct {
	args  []string          // after the program
	env   []string          // KEY=VALUE, besides what every agent gets
	files map[string]string // below HOME: the isolated configuration
	stdin string            // empty: closed at once
}

var programs = []*program{claude, codex, gemini, opencode, copilot, pi}

// find returns a program by name; nil: there is none.
func find(name string) *program {
	i := slices.IndexFunc(programs, func(p *program) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return programs[i]
}
