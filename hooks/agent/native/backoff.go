package native

// How long to wait before the model is asked again.

import (
	"context"
	"time"
)

const (
	// maxRecoveries is the one budget of a turn, for requests sent again and for answers continued.
	maxRecoveries = 5

	firstDelay = 2 * time.Second
	mostDelay  = 30 * time.Second
)

// delay returns how long to wait before recovery n, from 1. What the provider asks for (after; negative if nothing)
// is taken exactly. Else the delay doubles, and random, which returns [0, 1), takes away up to a half of it, so that
// many turns do not come back at once.
func delay(n int, after time.Duration, random func() float64) time.Duration {
	if after >= 0 {
		return after
	}
	d := mostDelay
	if n < 5 { // 2 s << 4 is more than the most
		d = min(firstDelay<<(max(n, 1)-1), mostDelay)
	}
	return d/2 + time.Duration(random()*float64(d/2))
}

// fits reports whether d from now is before the end of ctx.
func fits(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	until, ok := ctx.Deadline()
	return !ok || time.Until(until) > d
}

// pause waits for d or until ctx ends, and returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
