// Package lazyregexp compiles regular expressions when they are first used: a program that only prints its version
// does not pay for them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr at its first call. expr must be valid, as for regexp.MustCompile. The
// function is safe for concurrent use.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
