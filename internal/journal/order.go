package journal

import (
	"slices"
	"strings"
	"time"
)

// stampFormat is what the name of a run begins with, in UTC.
const stampFormat = "20060102T150405Z"

// Ahead says whether a name that begins with the time of its making says a time after now, whole seconds compared: it was
// made by a clock that was wrong, or this one is.
func Ahead(name string, now time.Time) bool {
	return later(name, now.UTC().Format(stampFormat))
}

func later(name, now string) bool {
	stamp, _, _ := strings.Cut(name, "-")
	return stamp > now
}

// InOrder sorts names that begin with the time of their making, oldest first. One that is ahead of now stands before all that
// are not: when it was made nobody knows, and as the newest it would hide what is made from now on until its time has come.
func InOrder(names []string, now time.Time) {
	slices.Sort(names)
	stamp := now.UTC().Format(stampFormat)
	first := slices.IndexFunc(names, func(name string) bool { return later(name, stamp) })
	if first > 0 {
		copy(names, slices.Concat(names[first:], names[:first]))
	}
}
