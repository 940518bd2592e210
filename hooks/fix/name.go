// Names of healings: <task>, <task>@2 …; internal/filename escapes the task, so there is no other "@" in them.

package fix

import (
	"strconv"
	"strings"
)

// numbered is the name of the n-th healing of a task in one run, counted from 1.
func numbered(base string, n int) string {
	if n < 2 {
		return base
	}
	return base + "@" + strconv.Itoa(n)
}

// number is the n of a numbered name.
func number(name string) int {
	_, after, ok := strings.Cut(name, "@")
	if !ok {
		return 1
	}
	n, err := strconv.Atoi(after)
	if err != nil || n < 2 {
		return 1
	}
	return n
}
