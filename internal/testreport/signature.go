package testreport

// Signatures: when two failures are one.

import (
	"fmt"
	"slices"
	"strings"
)

// A Signature is what must come back for a failure to be the same: exit code or signal, and the failing tests' names where the output has them.
type Signature struct {
	ExitCode int      `json:"exit_code"`
	Signal   string   `json:"signal,omitempty"`
	TimedOut bool     `json:"timed_out,omitempty"`
	Tests    []string `json:"tests,omitempty"` // sorted
}

// Same says whether two are one failure. Where one names tests and the other none, they are two.
func (s Signature) Same(o Signature) bool {
	if s.TimedOut != o.TimedOut || s.Signal != o.Signal {
		return false
	}
	if s.Signal == "" && s.ExitCode != o.ExitCode {
		return false
	}
	return slices.Equal(set(s.Tests), set(o.Tests))
}

// String is one line for a person.
func (s Signature) String() string {
	var b strings.Builder
	switch {
	case s.TimedOut:
		b.WriteString("timed out")
	case s.Signal != "":
		b.WriteString("ended by " + s.Signal)
	default:
		fmt.Fprintf(&b, "exit %d", s.ExitCode)
	}
	const shown = 5
	tests := set(s.Tests)
	for i, test := range tests {
		switch i {
		case 0:
			b.WriteString(", failing: " + test)
		case shown:
			fmt.Fprintf(&b, " and %d more", len(tests)-shown)
			return b.String()
		default:
			b.WriteString(", " + test)
		}
	}
	return b.String()
}

// With is String with a message behind it, where no test says more.
func (s Signature) With(message string) string {
	if message == "" || len(s.Tests) > 0 {
		return s.String()
	}
	return s.String() + ": " + message
}

// set is list sorted and without doubles, in a slice of its own.
func set(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
