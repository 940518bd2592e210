// Package loopguard detects what a conversation does again and again without getting anywhere. Its detectors, D1 to
// D7, see whole rounds and share one budget of reminders. When the budget is spent, the next finding ends the turn.
package loopguard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
)

const (
	loopThreshold = 3
	weakThreshold = 2 // of small models, which repeat themselves sooner
	maxReminders  = 3
	rewriteLimit  = 4 // successful writes of one file with no command, and no read of another file, between them
)

// A Round is one round of a conversation: its calls with their results, in order, or a text without calls.
type Round struct {
	Calls []Call
	Text  string
}

// A Call is a call and its result.
type Call struct {
	Name   string
	Args   string // canonical JSON
	Target string // what it was about; empty: unknown
	Path   string // the file, from the tool's own account
	Effect tools.Effect
	Code   tools.Code
	Result string
}

// A finding is the result of a round. The zero finding means that nothing was found.
type finding struct {
	ID   string // D1 … D7
	Says string // to the model, when it is reminded
	Ends bool   // the turn is to end
}

func (f finding) Found() bool { return f.ID != "" }

// A Guard is the state of all detectors of a turn. It is not safe for concurrent use.
type Guard struct {
	threshold int
	reminders int // left

	failed    []string // D1, D2: signatures of rounds that failed as a whole, since the last that did not
	succeeded []string // D3: signature and output of rounds that succeeded; a boundary has a value of its own
	stuck     bool     // D3: the last round was part of a repetition that was found
	rewrites  map[string]int
	invalid   int       // D5: rounds in a row
	texts     []string  // D6
	text      string    // of the last round, if that had no calls
	targets   targets   // D7
	stale     stale     // D3, of whatever calls
	fruitless fruitless // D1, D3, of whatever arguments
	repeats   map[string]repeat
	rounds    int
}

// New returns the detectors for the model of that name.
func New(model string) *Guard {
	n := loopThreshold
	if weak(model) {
		n = weakThreshold
	}
	return &Guard{
		threshold: n, reminders: maxReminders, rewrites: map[string]int{}, targets: newTargets(),
		repeats: map[string]repeat{},
	}
}

// weak reports by the segments of its name whether a model is a small one.
func weak(model string) bool {
	parts := strings.FieldsFunc(strings.ToLower(model),
		func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(parts, func(p string) bool {
		return slices.Contains([]string{"mini", "haiku", "small", "lite", "flash", "nano"}, p)
	})
}

// Round adds a round, and returns at most one finding.
func (w *Guard) Round(r Round) finding {
	w.rounds++
	old := w.stale.round(r)
	fruitlessly := w.fruitless.round(r)
	if len(r.Calls) == 0 {
		w.failed, w.succeeded, w.stuck, w.invalid = nil, nil, false, 0
		return w.spend(cmp.Or(w.said(r.Text), old))
	}
	w.texts, w.text = nil, ""
	if slices.ContainsFunc(r.Calls, succeeded) && w.fruitless.nothing < fruitlessRemind { // else it spends them itself
		w.reminders = maxReminders
	}
	target := w.targets.round(r)
	rewritten := w.rewrote(r)
	found := cmp.Or(w.repeated(r), w.empty(r))
	if !found.Found() {
		found = w.idle(r)
	}
	if found.Found() {
		w.fruitless = fruitless{} // one finding for one run of rounds
	} else if found = old; !found.Ends && fruitlessly.Found() {
		found = fruitlessly
	}
	switch {
	case target.Ends:
		return target
	case !found.Found() && !target.Found() && w.reminders == 0: // rewriting never ends a turn
		return finding{}
	}
	return w.spend(cmp.Or(found, target, rewritten))
}

// Refuse returns why a call must not run, or an empty string: its target has failed too often.
func (w *Guard) Refuse(c Call) string { return w.targets.refuse(c) }

// Left returns how many reminders are left.
func (w *Guard) Left() int { return w.reminders }

// spend uses up a reminder for a finding. If none is left, the finding ends the turn.
func (w *Guard) spend(f finding) finding {
	switch {
	case !f.Found() || f.Ends:
	case w.reminders == 0:
		f.Ends = true
	default:
		w.reminders--
	}
	return f
}

// Compacted forgets what a summary would make look like a repetition: what was seen has to be read again.
func (w *Guard) Compacted() {
	w.texts, w.stale = nil, stale{}
	clear(w.repeats)
}

// repeated is D1 and D2: rounds in which everything failed, the same one again or a few in turn.
func (w *Guard) repeated(r Round) finding {
	if slices.ContainsFunc(r.Calls, succeeded) {
		w.failed = nil
		return finding{}
	}
	n := max(w.threshold, 1)
	w.failed = lastOf(append(w.failed, signature(r)), 2*n)
	switch {
	case consecutive(w.failed, n):
		w.failed = nil
		return finding{ID: "D1", Says: fmt.Sprintf("You have made the same call %d times in a row, and it failed every "+
			"time.", n)}
	case periodic(w.failed, n, 2*n):
		w.failed = nil
		return finding{ID: "D2", Says: fmt.Sprintf("Your last %d rounds repeat the same few calls, and all of them "+
			"failed.", 2*n)}
	}
	return finding{}
}

// idle is D3: rounds that succeed with the same result again. Rounds that only read are exempt (see again.go), but
// they end a repetition.
func (w *Guard) idle(r Round) finding {
	if !slices.ContainsFunc(r.Calls, succeeded) {
		w.succeeded, w.stuck = nil, false
		return finding{}
	}
	mark := signature(r) + "=" + outputs(r)
	if !slices.ContainsFunc(r.Calls, func(c Call) bool { return c.Effect != tools.Reads }) {
		mark = fmt.Sprintf("boundary %d", w.rounds)
	}
	n := loopThreshold
	w.succeeded = lastOf(append(w.succeeded, mark), 4*n)
	again, forLong := consecutive(w.succeeded, n), consecutive(w.succeeded, 2*n)
	if !again {
		again = periodic(w.succeeded, n, 2*n)
		forLong = again && periodic(w.succeeded, n, 4*n)
	}
	before := w.stuck
	w.stuck = again
	switch {
	case forLong:
		w.succeeded, w.stuck = nil, false
		return finding{ID: "D3", Ends: true, Says: "The same calls gave the same results again and again."}
	case again && !before:
		return finding{ID: "D3", Says: "Your last calls succeeded and gave exactly what they had given before. Repeating " +
			"them brings nothing new."}
	}
	return finding{}
}

// rewrote is D4: one file written again and again, and nothing read or run in between.
func (w *Guard) rewrote(r Round) finding {
	var f finding
	for _, c := range r.Calls {
		switch {
		case c.Effect == tools.Runs:
			clear(w.rewrites)
		case c.Code.Failed():
		case c.Effect == tools.Reads: // reading one's own work does not test it
			maps.DeleteFunc(w.rewrites, func(path string, _ int) bool { return path != c.Path })
		case c.Effect == tools.Writes && c.Path != "":
			w.rewrites[c.Path]++
			if w.rewrites[c.Path] >= rewriteLimit {
				delete(w.rewrites, c.Path)
				f = finding{ID: "D4", Says: fmt.Sprintf("You have written %s %d times without running a check or looking at "+
					"anything else.", tools.PlainName(c.Path), rewriteLimit)}
			}
		}
	}
	return f
}

// empty is D5: calls without usable arguments.
func (w *Guard) empty(r Round) finding {
	if slices.ContainsFunc(r.Calls, func(c Call) bool { return c.Code != tools.Invalid }) {
		w.invalid = 0
		return finding{}
	}
	if w.invalid++; w.invalid < loopThreshold {
		return finding{}
	}
	w.invalid = 0
	return finding{ID: "D5", Says: fmt.Sprintf("Your last %d rounds held calls with empty or invalid arguments. Each "+
		"call needs all the arguments that its schema requires.", loopThreshold)}
}

// said is D6: the same text again, without a call.
func (w *Guard) said(text string) finding {
	said := textPrint(text)
	if said != w.text { // a round without calls restores the reminders, but not one that D6 counts
		w.text, w.reminders = said, maxReminders
	}
	w.texts = lastOf(append(w.texts, said), loopThreshold)
	if !consecutive(w.texts, loopThreshold) {
		return finding{}
	}
	w.texts = nil
	return finding{ID: "D6", Says: fmt.Sprintf("You have said the same %d times.", loopThreshold)}
}
