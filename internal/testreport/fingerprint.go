package testreport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

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
