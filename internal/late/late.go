// Package late puts off what a package would otherwise do at every start of the program.
package late

import (
	"regexp"
	"sync"
)

// Regexp compiles expr when it is first asked for: a program that only prints its version does not pay for patterns. expr
// must be valid, as with regexp.MustCompile.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
