package journal

import (
	"slices"
	"strings"
	"time"
)

// stampFormat is what the name of a run begins with, in UTC.
const stampFormat = "20060102T150405Z"

// Ahead reports whether a name that begins with the time of its making says a time after now, whole seconds
// compared: it was made by a clock that was wrong, or this one is.
func Ahead(name string, now time.Time) bool {
	return later(name, now.UTC().Format(stampFormat))
}

func later(name, now string) bool {
	stamp, _, _ := strings.Cut(name, "-")
	return stamp > now
}

// InOrder sorts names that begin with the time of their making, oldest first. One that is ahead of now stands
// before all that are not: when it was made nobody knows, and as the newest it would hide what is made from now on
// until its time has come.
func InOrder(names []string, now time.Time) {
	slices.Sort(names)
	stamp := now.UTC().Format(stampFormat)
	first := slices.IndexFunc(names, func(name string) bool { return later(name, stamp) })
	if first > 0 {
		copy(names, slices.Concat(names[first:], names[:first]))
	}
}

// slack is how far the wall clock may fall behind without having been set back: it is slewed, the other one is not.
const slack = time.Second

// Steady returns t, for people, on the clock that showed from at from. Where the wall clock was set back in between
// it goes by the time that has passed: t is never before from. A clock set forward cannot be told from a machine
// that slept: then it is t. The result has no monotonic reading.
func Steady(from, t time.Time) time.Time { return steady(from.Round(0), t.Sub(from), t.Round(0)) }

// steady is Steady with what was read of the two clocks apart.
func steady(from time.Time, passed time.Duration, wall time.Time) time.Time {
	at := from.Add(max(0, passed))
	if wall.Before(at.Add(-slack)) || wall.Before(from) {
		return at
	}
	return wall
}
