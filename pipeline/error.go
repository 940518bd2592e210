package pipeline

import (
	"regexp"
	"strings"
)

// An Error is a fault in what a person wrote: where, what, in the user's words, and what to do next.
type Error struct {
	Pos        Pos
	Warning    bool   // a warning stops nothing
	Summary    string // what is wrong, one line, no full stop
	Detail     string // why, and what to write instead
	Suggestion string // the word that was probably meant, or empty
	Source     string // the line of the file at Pos, without its line end
	Width      int    // columns the fault takes on Source; 0 means unknown
}

func (e Error) Error() string {
	s := e.Summary
	if p := e.Pos.String(); p != "" {
		s = p + ": " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Errors are all the faults of one reading, in file order.
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first fault as an Error.
func (e Errors) Unwrap() []error {
	each := make([]error, len(e))
	for i := range e {
		each[i] = e[i]
	}
	return each
}

// Serious returns how many of the errors are not warnings.
func (e Errors) Serious() int {
	n := 0
	for i := range e {
		if !e[i].Warning {
			n++
		}
	}
	return n
}

// The names that a pipeline may give to variables of the environment.

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// EnvNameRule is the rule of IsEnvName in words.
const EnvNameRule = "A name consists of a-z, A-Z, 0-9, _ and ., and begins with a letter or _."

// IsEnvName reports whether env or a dotenv file may set a variable of this name. A shell can read only letters,
// digits and _; dots are allowed because programs such as Elasticsearch are configured by names with them. pass_env
// is not restricted by it.
func IsEnvName(name string) bool { return envName.MatchString(name) }
