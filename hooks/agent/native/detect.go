package native

// Loop detectors: what a turn does again and again without getting anywhere. They look at whole rounds, and have one shared
// budget of reminders; when it is spent, the next finding ends the turn.

import (
	"fmt"
	"slices"
	"strings"
)

const (
	loopThreshold = 3
	weakThreshold = 2 // of small models, which repeat themselves sooner
	maxReminders  = 3
	rewriteLimit  = 4 // successful writes of one file without a test, or a look at another file, between them
)

// A round is what a detector sees of one: the calls with what came of them, in order, or a text without calls.
type round struct {
	calls []observed
	text  string
}

// An observed call.
type observed struct {
	name   string
	args   string // canonical JSON
	target string // what it was about; empty: nothing that can be told
	path   string // the file, from the tool's own account
	effect effect
	code   code
	result string
}

// A finding is what the detectors say of a round. The zero finding: nothing.
type finding struct {
	id   string // D1 … D7
	says string // to the model, when it is reminded
	end  bool   // the turn is to end
}

func (f finding) found() bool { return f.id != "" }

// A watch holds the state of all detectors of a turn. It belongs to the loop's goroutine.
type watch struct {
	threshold int
	reminders int // left

	failed    []string // D1, D2: signatures of rounds that failed as a whole, since the last that did not
	fruitless []string // D3: signature and output of rounds that succeeded; a boundary has a value of its own
	stuck     bool     // D3: the last round was part of a repetition that was found
	rewrites  map[string]int
	invalid   int      // D5: rounds in a row
	texts     []string // D6
	targets   targets  // D7
	news      news     // D3, of whatever calls
	vain      vain     // D1, D3, of whatever arguments
	looks     map[string]look
	rounds    int
}

// newWatch makes the detectors for the model of that name.
func newWatch(model string) *watch {
	n := loopThreshold
	if weak(model) {
		n = weakThreshold
	}
	return &watch{threshold: n, reminders: maxReminders, rewrites: map[string]int{}, targets: newTargets(), looks: map[string]look{}}
}

// weak says by the segments of its name whether a model is a small one.
func weak(model string) bool {
	parts := strings.FieldsFunc(strings.ToLower(model), func(r rune) bool {
		return r == '-' || r == '/' || r == ':' || r == '_' || r == '.' || r == '@' || r == ' '
	})
	return slices.ContainsFunc(parts, func(p string) bool {
		return slices.Contains([]string{"mini", "haiku", "small", "lite", "flash", "nano"}, p)
	})
}

// round looks at one more round, and says at most one thing about it.
func (w *watch) round(r round) finding {
	w.rounds++
	old := w.news.round(r)
	vainly := w.vain.round(r)
	if len(r.calls) == 0 {
		w.failed, w.fruitless, w.stuck, w.invalid = nil, nil, false, 0
		found := w.said(r.text)
		if !found.found() {
			found = old
		}
		return w.spend(found)
	}
	w.texts = nil
	if slices.ContainsFunc(r.calls, gained) {
		w.reminders = maxReminders
	}
	gate := w.targets.round(r)
	rewritten := w.rewrote(r)
	found := w.repeated(r)
	if empty := w.empty(r); !found.found() {
		found = empty
	}
	if !found.found() {
		found = w.idle(r)
	}
	if found.found() {
		w.vain = vain{} // one finding for one run of rounds
	} else if found = old; !found.end && vainly.found() {
		found = vainly
	}
	switch {
	case gate.end:
		return gate
	case found.found():
		return w.spend(found)
	case gate.found():
		return w.spend(gate)
	case rewritten.found():
		if w.reminders == 0 {
			return finding{} // it never ends a turn
		}
		return w.spend(rewritten)
	}
	return finding{}
}

// refuse returns why a call must not run, or an empty string: its target has failed too often.
func (w *watch) refuse(c observed) string { return w.targets.refuse(c) }

// left returns how many reminders are left.
func (w *watch) left() int { return w.reminders }

// spend takes a finding out of the budget: without one left it ends the turn.
func (w *watch) spend(f finding) finding {
	switch {
	case !f.found() || f.end:
	case w.reminders == 0:
		f.end = true
	default:
		w.reminders--
	}
	return f
}

// compacted forgets what a summary makes look like a repetition: what was seen has to be looked at again.
func (w *watch) compacted() {
	w.texts, w.news = nil, news{}
	clear(w.looks)
}

// repeated is D1 and D2: rounds in which everything failed, the same one again or a few in turn.
func (w *watch) repeated(r round) finding {
	if slices.ContainsFunc(r.calls, func(c observed) bool { return !c.code.failed() }) {
		w.failed = nil
		return finding{}
	}
	n := w.threshold
	w.failed = lastOf(append(w.failed, signature(r)), max(2*n, 2))
	switch {
	case consecutive(w.failed, n):
		w.failed = nil
		return finding{id: "D1", says: fmt.Sprintf("You have made the same call %d times in a row, and it failed every time.", max(n, 1))}
	case periodic(w.failed, n):
		w.failed = nil
		return finding{id: "D2", says: fmt.Sprintf("Your last %d rounds repeat the same few calls, and all of them failed.", max(2*n, 2))}
	}
	return finding{}
}

// idle is D3: rounds that succeed, and give the same again. Looking is exempt (see detect_again.go); but it stands between.
func (w *watch) idle(r round) finding {
	if !slices.ContainsFunc(r.calls, func(c observed) bool { return !c.code.failed() }) {
		w.fruitless, w.stuck = nil, false
		return finding{}
	}
	mark := signature(r) + "=" + outputs(r)
	if !slices.ContainsFunc(r.calls, func(c observed) bool { return c.effect != reads }) {
		mark = fmt.Sprintf("boundary %d", w.rounds)
	}
	n := loopThreshold
	w.fruitless = lastOf(append(w.fruitless, mark), 4*n)
	again, forLong := consecutive(w.fruitless, n), consecutive(w.fruitless, 2*n)
	if !again {
		again = periodic(w.fruitless, n)
		forLong = again && periodicFor(w.fruitless, n, 4*n)
	}
	before := w.stuck
	w.stuck = again
	switch {
	case forLong:
		w.fruitless, w.stuck = nil, false
		return finding{id: "D3", end: true, says: "The same calls gave the same results again and again."}
	case again && !before:
		return finding{id: "D3", says: "Your last calls succeeded and gave exactly what they had given before. Repeating them brings nothing new."}
	}
	return finding{}
}

// rewrote is D4: one file written again and again, and nothing looked at or run between.
func (w *watch) rewrote(r round) finding {
	var f finding
	for _, c := range r.calls {
		if c.effect == runs {
			clear(w.rewrites)
			continue
		}
		if c.effect == reads && !c.code.failed() {
			here := w.rewrites[c.path]
			clear(w.rewrites)
			if c.path != "" && here > 0 {
				w.rewrites[c.path] = here // looking at one's own work is no test of it
			}
			continue
		}
		if c.effect != writes || c.code.failed() || c.path == "" {
			continue
		}
		w.rewrites[c.path]++
		if w.rewrites[c.path] >= rewriteLimit {
			delete(w.rewrites, c.path)
			f = finding{id: "D4", says: fmt.Sprintf("You have written %s %d times without running a check or looking at anything else.", plainName(c.path), rewriteLimit)}
		}
	}
	return f
}

// empty is D5: calls without usable arguments.
func (w *watch) empty(r round) finding {
	if slices.ContainsFunc(r.calls, func(c observed) bool { return c.code != codeInvalid }) {
		w.invalid = 0
		return finding{}
	}
	if w.invalid++; w.invalid < loopThreshold {
		return finding{}
	}
	w.invalid = 0
	return finding{id: "D5", says: fmt.Sprintf("Your last %d rounds held calls with empty or invalid arguments. Each call needs all the arguments that its schema requires.", loopThreshold)}
}

// said is D6: the same text again, without a call.
func (w *watch) said(text string) finding {
	w.texts = lastOf(append(w.texts, textPrint(text)), loopThreshold)
	if !consecutive(w.texts, loopThreshold) {
		return finding{}
	}
	w.texts = nil
	return finding{id: "D6", says: fmt.Sprintf("You have said the same %d times.", loopThreshold)}
}
