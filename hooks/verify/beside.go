package verify

import (
	"context"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// Two checks at the same time can disturb each other where they share something outside of their copies: a port, a
// container, the names of sockets. So a check that did not pass beside another runs again alone, and only what that
// run says counts. A check could also pass because of the other one: it asks a server, and the server of the other
// copy answers, with the agent's fixtures instead of the original ones. So both copies must have the same files.

// sideBySide reports whether two parts may run at the same time.
func (q *Request) sideBySide(proposed, original part) bool {
	return len(proposed.tasks) == 1 && // of other tasks it is not known what they need
		q.Homes.Box.Tier == sandbox.View && // both copies stand at one path, each with its own /tmp
		q.Parallel != 1 && q.fits(runtime.GOMAXPROCS(0)) && q.timeForMore() &&
		reflect.DeepEqual(proposed.changes, original.changes)
}

// fits reports whether the processors are enough for the check twice.
func (q *Request) fits(processors int) bool {
	return q.Processors != nil && 2**q.Processors <= float64(processors)
}

// besideLimit returns how long two checks at the same time may take: they may wait for each other for ever. The ten
// seconds are for a machine that is busy with something else.
func (q *Request) besideLimit() time.Duration { return 2*q.Took + 10*time.Second }

// timeForMore reports whether there is time to verify one after the other, should that be necessary afterwards.
func (q *Request) timeForMore() bool {
	return q.Budget == nil || q.Budget.Left() >= q.besideLimit()+sandbox.Grace+q.Needs()
}

// both runs both parts at the same time, where it may. An outcome that is nil does not count: the part has to run
// alone.
func (q *verification) both(ctx context.Context, p, o part) (proposed, original *outcome) {
	if ctx.Err() != nil || !q.sideBySide(p, o) {
		return nil, nil
	}
	// Both copies are made before a check begins and removed when both have ended: the wall clock stands still while
	// a copy is worked on, and must not while a check runs.
	first, err := q.place(ctx, "check", p.changes)
	if err != nil {
		return nil, nil //nolint:nilerr // alone it is made once more, and that error counts
	}
	defer first.close()
	second, err := q.place(ctx, "check-beside", o.changes)
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	defer second.close()
	wall, cancel := q.wall(ctx)
	defer cancel()
	limited, stop := context.WithTimeout(wall, q.besideLimit())
	defer stop()

	q.begins(p, q.Failure.Task)
	q.begins(o, q.Failure.Task)
	told := func(part, *pipeline.Task) {}
	var work sync.WaitGroup
	work.Go(func() { original = q.checks(limited, o, second, told) })
	proposed = q.checks(limited, p, first, told)
	if !proposed.reason.None() {
		stop()
	}
	work.Wait()
	over := wall.Err() != nil
	for _, ended := range []**outcome{&proposed, &original} {
		if r := (*ended).reason; !r.None() && (!over || r.Code != noTime) {
			*ended = nil
		}
	}
	if !over && (proposed == nil || original == nil) {
		q.Progress.Step("task %q did not pass twice at the same time: once more, one after the other",
			q.Failure.Task.Shown())
	}
	return proposed, original
}
