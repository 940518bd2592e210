// Package lazily initialises package variables when they are first used, so that a program that only prints its version
// does not pay for them. What it returns may be called by several goroutines at once.
package lazily

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp returns a function that compiles expr at its first call. expr must be valid, as for regexp.MustCompile.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Words returns a function that splits text, as strings.Fields does, at its first call. The list is shared: it must not
// be changed.
func Words(text string) func() []string {
	return sync.OnceValue(func() []string { return strings.Fields(text) })
}
