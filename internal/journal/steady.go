package journal

import "time"

// slack is how far the wall clock may fall behind without having been set back: it is slewed, the other one is not.
const slack = time.Second

// Steady gives t, for people, on the clock that showed from at from. Where the wall clock was set back in between it goes by
// the time that has passed: t is never before from. A clock set forward cannot be told from a machine that slept: then it is t.
// The result has no monotonic reading.
func Steady(from, t time.Time) time.Time { return steady(from.Round(0), t.Sub(from), t.Round(0)) }

// steady is Steady with what was read of the two clocks apart.
func steady(from time.Time, passed time.Duration, wall time.Time) time.Time {
	at := from.Add(max(0, passed))
	if wall.Before(at.Add(-slack)) || wall.Before(from) {
		return at
	}
	return wall
}
