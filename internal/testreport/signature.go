package testreport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// A Signature is what two failures of one task have in common when they are the same: the exit code or signal, and
// the names of the failing tests where the output has them.
type Signature struct {
	ExitCode int      `json:"exit_code"`
	Signal   string   `json:"signal,omitempty"`
	TimedOut bool     `json:"timed_out,omitempty"`
	Tests    []string `json:"tests,omitempty"` // sorted
}

// Same reports whether two are the same failure. One with names of tests and one without are not.
func (s Signature) Same(o Signature) bool {
	return s.TimedOut == o.TimedOut && s.Signal == o.Signal && (s.Signal != "" || s.ExitCode == o.ExitCode) &&
		slices.Equal(set(s.Tests), set(o.Tests))
}

// String returns one line for a person.
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
	if tests := set(s.Tests); len(tests) > 0 {
		b.WriteString(", failing: " + english.List(tests, 3))
	}
	return b.String()
}

// Difference describes how o, the failure in a copy, differs from s, the failure in the run. It names only tests that
// failed in one of them, the first three of each.
func (s Signature) Difference(o Signature) string {
	var parts []string
	in, copied := s, o
	in.Tests, copied.Tests = nil, nil
	if !in.Same(copied) {
		parts = append(parts, in.String()+" in the run, "+copied.String()+" in the copy")
	}
	for _, side := range []struct {
		where string
		has   []string
		other []string
	}{{"run", s.Tests, o.Tests}, {"copy", o.Tests, s.Tests}} {
		only := slices.DeleteFunc(set(side.has), func(test string) bool { return slices.Contains(side.other, test) })
		if len(only) > 0 {
			parts = append(parts, "failed only in the "+side.where+": "+english.List(only, 3))
		}
	}
	return strings.Join(parts, "; ")
}

// With returns String with a message after it, where there are no names of tests.
func (s Signature) With(message string) string {
	if message == "" || len(s.Tests) > 0 {
		return s.String()
	}
	return s.String() + ": " + message
}

// set returns the elements of list sorted and each once, in a slice of its own.
func set(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// Fingerprint returns "fp:" and 16 hex digits: the same for the same failure of a task in another run, at another
// time, in another folder, with other line numbers. It is a hash of, in this order: the task's name; how the task
// ended (timed out, the signal, or the exit code); the names of the failing tests where there are some; else, unless
// it timed out, every line of log that tells of an error, normalised and sorted. A task that timed out stopped
// anywhere, so its log does not count.
func Fingerprint(task string, s Signature, log []byte) string {
	sum := sha256.New() // a hash never refuses
	fmt.Fprintf(sum, "1\n%q\n", task)
	switch {
	case s.TimedOut:
		fmt.Fprint(sum, "timed out\n")
	case s.Signal != "":
		fmt.Fprintf(sum, "signal %q\n", s.Signal)
	default:
		fmt.Fprintf(sum, "exit %d\n", s.ExitCode)
	}
	switch tests := set(s.Tests); {
	case len(tests) > 0:
		for _, test := range tests {
			fmt.Fprintf(sum, "test %q\n", test)
		}
	case !s.TimedOut:
		lines := telling(log)
		slices.Sort(lines) // what runs at once prints in any order
		for _, line := range lines {
			fmt.Fprintf(sum, "line %q\n", line)
		}
	}
	return "fp:" + hex.EncodeToString(sum.Sum(nil)[:8])
}
