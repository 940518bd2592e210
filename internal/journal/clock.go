package journal

import (
	"slices"
	"strings"
	"time"
)

// stampFormat is the format of the time, in UTC, at the beginning of the name of a run.
const stampFormat = "20060102T150405Z"

// Ahead reports whether a name that begins with a time is later than now, in whole seconds: then the clock was wrong,
// or is.
func Ahead(name string, now time.Time) bool {
	return later(name, now.UTC().Format(stampFormat))
}

func later(name, now string) bool {
	stamp, _, _ := strings.Cut(name, "-")
	return stamp > now
}

// runForm is the form of the id of a run: 0 stands for a digit, f for a hexadecimal one.
const runForm = "00000000T000000Z-ffff"

// IsRun reports whether a name in the folder of the runs is that of a run. What has another name there is not ours.
func IsRun(name string) bool {
	if len(name) != len(runForm) {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; runForm[i] {
		case '0', 'f':
			if (c < '0' || c > '9') && (runForm[i] == '0' || c < 'a' || c > 'f') {
				return false
			}
		default:
			if c != runForm[i] {
				return false
			}
		}
	}
	return true
}

// InOrder sorts names that begin with a time, oldest first. A name that is ahead of now comes before all others,
// because its time is wrong, and as the newest it would hide what is made until then.
func InOrder(names []string, now time.Time) {
	slices.Sort(names)
	stamp := now.UTC().Format(stampFormat)
	first := slices.IndexFunc(names, func(name string) bool { return later(name, stamp) })
	if first > 0 {
		copy(names, slices.Concat(names[first:], names[:first]))
	}
}

// slack is how far the wall clock may fall behind the monotonic clock without having been set back: only it is slewed.
const slack = time.Second

// Steady returns t for a record that began at from. If the wall clock was set back in between, it is from plus the
// time that has passed, so it is never before from. A clock set forward cannot be told from a machine that slept: then
// it is t. The result has no monotonic reading.
func Steady(from, t time.Time) time.Time { return steady(from.Round(0), t.Sub(from), t.Round(0)) }

// steady is Steady with the readings of the two clocks.
func steady(from time.Time, passed time.Duration, wall time.Time) time.Time {
	at := from.Add(max(0, passed))
	if wall.Before(at.Add(-slack)) || wall.Before(from) {
		return at
	}
	return wall
}
