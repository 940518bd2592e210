// Names of healings: <task>, <task>@2 …; internal/filename escapes the task, so there is no other "@" in them.

package fix

import (
	"strconv"
	"strings"
)

// numbered is the name of the n-th healing of a task in one run, counted from 1.
func Numbered(base string, n int) string {
	if n < 2 {
		return base
	}
	return base + "@" + strconv.Itoa(n)
}

// calledBy is what a verb takes for one healing of a task, whether or not it counts: TASK@N, also TASK@1.
func CalledBy(task, name string) string { return task + "@" + strconv.Itoa(number(name)) }

// address is the task and the n of TASK@N; n is 0 where no number is named.
func address(typed string) (task string, n int) {
	at := strings.LastIndexByte(typed, '@')
	if at < 1 {
		return typed, 0
	}
	n, err := strconv.Atoi(typed[at+1:])
	if err != nil || n < 1 || strconv.Itoa(n) != typed[at+1:] {
		return typed, 0
	}
	return typed[:at], n
}

// means says whether a person who types a task, or TASK@N, means a healing of it too.
func Means(typed, task, name string) bool {
	return typed == task || typed == CalledBy(task, name)
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
