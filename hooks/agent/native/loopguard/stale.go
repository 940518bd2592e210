package loopguard

// Many rounds in a row that bring nothing new: guesses that all fail, and calls that give the same again.

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

// fruitless counts rounds in which, with different arguments each time, everything fails or nothing is found. No two
// rounds are the same, so D1 to D3 see no repetition. An honest search fails a few times, and a command that ran and
// failed tells something, so the limits are wide. Whatever is found, written or run successfully starts the count
// again.
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

// succeeded reports whether a call did not fail: it may have found nothing.
func succeeded(c Call) bool { return !c.Code.Failed() }

// gained reports whether a call did something, or found something.
func gained(c Call) bool { return c.Code == "" }

// ranAndFailed reports whether c is a command that was carried out and failed: its output may tell the model
// something new.
func ranAndFailed(c Call) bool { return c.Effect == tools.Runs && c.Code == tools.Failed }

const (
	staleRemind  = 30 // rounds in a row without anything new: longer than any wait that was seen to end well
	staleEnd     = 35
	repeatRemind = 3 // equal reads with nothing done between; from then on the result says so
)

// stale is what calls gave the last time, and for how many rounds nothing was new. Reading again while waiting for
// something is legitimate, so reads are exempt from the few rounds of D3. But in a copy nothing changes by itself: the
// result of a repeated read says so early, and a turn that sees nothing new for very many rounds is ended too.
type stale struct {
	results map[string]string // tool and arguments, or a text → the result
	rounds  int
}

// round is the late end of D3: all calls of a round, or its text, were there before and gave the same.
func (n *stale) round(r Round) finding {
	if n.results == nil {
		n.results = map[string]string{}
	}
	old := true
	see := func(key, result string) {
		was, ok := n.results[key]
		old = old && ok && was == result
		n.results[key] = result
	}
	if len(r.Calls) == 0 {
		see("text "+textPrint(r.Text), "")
	}
	for _, c := range r.Calls {
		was := old
		see(inputKey(c), fmt.Sprint(c.Code.Failed(), sum(timeless(c.Result))))
		if !gained(c) && !ranAndFailed(c) {
			old = was // a failure or an empty answer is nothing new, whatever was asked for
		}
	}
	if !old {
		n.rounds = 0
		return finding{}
	}
	n.rounds++
	switch {
	case n.rounds >= staleEnd:
		n.rounds = 0
		return finding{ID: "D3", Ends: true, Says: fmt.Sprintf("The same calls gave the same results again and again, for "+
			"%d rounds.", staleEnd)}
	case n.rounds == staleRemind:
		return finding{ID: "D3", Says: fmt.Sprintf("For %d rounds you have made only calls that you had made before, and "+
			"each gave exactly what it had given. In this copy nothing changes by itself.", staleRemind)}
	}
	return finding{}
}

// A repeat is a call that only reads, since the last call that may have changed something.
type repeat struct {
	gave  string
	times int
	round int // in which it was last counted: the same twice in one round is one
}

// Repeated returns a remark for the result of a read that succeeded, or an empty string. key is the Key of the call.
func (w *Guard) Repeated(key, result string) string {
	l, print := w.repeats[key], sum(result)
	switch {
	case l.gave != print:
		l = repeat{gave: print, times: 1, round: w.rounds}
	case l.round != w.rounds:
		l.times, l.round = l.times+1, w.rounds
	}
	w.repeats[key] = l
	if l.times < repeatRemind {
		return ""
	}
	return fmt.Sprintf("This is what the same call has given %d times in a row. Nothing was written or run in between, "+
		"and in this copy nothing changes by itself: looking again will show the same.", l.times)
}

// Changed must be called before anything is done that may change what reads give.
func (w *Guard) Changed() { clear(w.repeats) }
