package loopguard

// D7, failures on one target: the model is first reminded, then the call is refused once, then the turn ends. Only
// failures of earlier rounds count. A file that was written meanwhile makes every attempt a new one, and so does a
// command that succeeded for the first time: it may have changed anything.

import (
	"fmt"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
)

const (
	targetRemind = 3
	targetRefuse = 4 // this try is refused
	targetEnd    = 5
)

// targets counts two things: failures on one target with different arguments; and failures of the same input with the
// same result (see failurePrint), between which something else succeeded. (The same failure with nothing in between is D1
// and D2.)
type targets struct {
	tries  map[string]map[string]bool // tool and target → the arguments that failed on it
	again  map[string]int             // tool and arguments → failures with a success between them
	fresh  map[string]bool            // tool and arguments → nothing succeeded since their last failure
	last   map[string]string          // tool and arguments → what their last failure said
	worked map[string]bool            // commands that have succeeded since a file was written
	blocks map[string]int             // key → refusals
}

func newTargets() targets {
	return targets{
		tries: map[string]map[string]bool{}, again: map[string]int{}, fresh: map[string]bool{},
		last:   map[string]string{},
		worked: map[string]bool{}, blocks: map[string]int{},
	}
}

func inputKey(c Call) string { return "input " + c.Name + " " + short(c.Args) }

func targetKey(c Call) string {
	if c.Target == "" {
		return ""
	}
	return "target " + c.Name + " " + c.Target
}

// refuse returns, before a call runs, why it must not, or an empty string.
func (t *targets) refuse(c Call) string {
	if max(t.count(inputKey(c)), t.count(targetKey(c))) < targetRemind {
		return ""
	}
	return fmt.Sprintf("Refused: this has failed %d times already. It is not tried again; do something else, or end "+
		"with what you know.", targetRemind)
}

func (t *targets) count(key string) int {
	if tries, ok := t.tries[key]; ok {
		return len(tries)
	}
	return t.again[key]
}

// forget makes earlier failures new if a command succeeded for the first time: it may have changed anything.
func (t *targets) forget(r Round) {
	for _, c := range r.Calls {
		if c.Code.Failed() || c.Effect != tools.Runs || c.Name == tools.Check || t.worked[inputKey(c)] {
			continue
		}
		worked := t.worked
		*t = newTargets()
		t.worked = worked
		t.worked[inputKey(c)] = true
	}
}

// round counts what failed in a round, each thing once.
func (t *targets) round(r Round) finding {
	var f finding
	raise := func(key string, c Call) {
		n := t.count(key) + t.blocks[key]
		switch {
		case n >= targetEnd:
			f = finding{ID: "D7", Ends: true, Says: fmt.Sprintf("%s on the same target failed %d times, and was tried again "+
				"after it was refused.", tools.SafeName(c.Name), targetRemind)}
		case n == targetRemind && !f.Found():
			f = finding{ID: "D7", Says: fmt.Sprintf("%s has failed %d times on the same target.", tools.SafeName(c.Name),
				targetRemind)}
		}
	}
	t.forget(r)
	seen := map[string]bool{}
	for _, c := range r.Calls {
		if !c.Code.Failed() {
			continue
		}
		input, target := inputKey(c), targetKey(c)
		if t.refuse(c) != "" && !seen[input] { // it was refused before it ran
			for _, key := range []string{input, target} {
				if key != "" && t.count(key) >= targetRemind && !seen[key] {
					t.blocks[key]++
					seen[input], seen[key] = true, true
					raise(key, c)
				}
			}
			continue
		}
		if says := failurePrint(c.Result); !seen[input] && t.last[input] != says {
			t.last[input] = says
			delete(t.again, input)
			delete(t.fresh, input)
		}
		if !seen[input] && !t.fresh[input] {
			t.again[input]++
			seen[input] = true
			raise(input, c)
		}
		t.fresh[input] = true
		if target != "" && !seen[target] {
			if t.tries[target] == nil {
				t.tries[target] = map[string]bool{}
			}
			if args := short(c.Args); !t.tries[target][args] {
				t.tries[target][args] = true
				seen[target] = true
				raise(target, c)
			}
		}
	}
	for _, c := range r.Calls {
		if c.Code.Failed() {
			continue
		}
		clear(t.fresh)
		if c.Effect == tools.Writes {
			*t = newTargets()
			return f
		}
		delete(t.tries, targetKey(c))
		delete(t.again, inputKey(c))
		delete(t.blocks, targetKey(c))
		delete(t.blocks, inputKey(c))
	}
	return f
}
