// Package exit has the exit codes of the command, and the errors that carry one.
package exit

import "fmt"

// Exit codes; that of a signal is Signal and its number.
const (
	Failed  = 1   // a task failed, an apply was refused or in conflict, or something that was looked for was found
	Refused = 2   // it could not be carried out
	Signal  = 128 // 130 is SIGINT, 143 SIGTERM
	Pipe    = 141 // nobody reads stdout any more
)

// An Error ends a verb with an exit code. With an empty Text everything has been said. Any other error ends it with
// Refused.
type Error struct {
	Code int
	Text string
	Wrap bool // break lines at the width of the screen; a command to type has a line of its own
}

// Error returns Text.
func (e *Error) Error() string { return e.Text }

// With returns an error that ends the verb with a code and prints nothing.
func With(code int) error { return &Error{Code: code} }

// Refuse returns an error that ends the verb with Refused: it could not be carried out.
func Refuse(format string, args ...any) error {
	return &Error{Code: Refused, Text: fmt.Sprintf(format, args...)}
}

// Fail returns an error that ends the verb with Failed.
func Fail(format string, args ...any) error {
	return &Error{Code: Failed, Text: fmt.Sprintf(format, args...)}
}

// Misused returns an error in what was typed. It ends the verb with Refused, and is wrapped.
func Misused(format string, args ...any) error {
	return &Error{Code: Refused, Text: fmt.Sprintf(format, args...), Wrap: true}
}
