package loopguard

// Fruitless rounds: with different arguments each time, everything fails or nothing is found. No two rounds are the
// same, so D1 to D3 see no repetition. An honest search fails a few times, and a command that ran and failed tells
// something, so the limits are wide; whatever is found, written or run successfully starts the count again.

import (
	"fmt"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
)

const (
	failRemind      = 12 // rounds in a row in which every call failed, and no command ran
	fruitlessRemind = 24 // rounds in a row in which every call failed or found nothing
	remindEvery     = 3  // rounds from one reminder to the next
)

// fruitless counts such rounds.
type fruitless struct{ failed, nothing int }

// round is D1 and D3 for different arguments.
func (v *fruitless) round(r Round) finding {
	if len(r.Calls) == 0 || slices.ContainsFunc(r.Calls, gained) {
		*v = fruitless{}
		return finding{}
	}
	v.nothing++
	if v.failed++; slices.ContainsFunc(r.Calls, func(c Call) bool { return !c.Code.Failed() || ranAndFailed(c) }) {
		v.failed = 0
	}
	switch {
	case due(v.failed, failRemind):
		return finding{ID: "D1", Says: fmt.Sprintf("Every call of your last %d rounds failed, each time with other "+
			"arguments. More guesses of the same kind will not help: look at what is there, or say what is missing.", v.failed)}
	case due(v.nothing, fruitlessRemind):
		return finding{ID: "D3", Says: fmt.Sprintf("Every call of your last %d rounds failed or found nothing. More of "+
			"the same kind will not help: look at what is there, or say what is missing.", v.nothing)}
	}
	return finding{}
}

func due(n, first int) bool { return n >= first && (n-first)%remindEvery == 0 }

// gained reports whether a call did something, or found something.
func gained(c Call) bool { return c.Code == "" }

// ranAndFailed reports whether c is a command that was carried out and failed: its output may tell the model
// something new.
func ranAndFailed(c Call) bool { return c.Effect == tools.Runs && c.Code == tools.Failed }
