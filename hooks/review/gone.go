package review

// test_removed: tests that are gone, or that no runner finds.

import "strings"

const (
	maxCompared = 1 << 21 // lines that are compared to find out which tests were renamed
	alike       = 0.6     // of the lines of a test, in one that has another name
)

// body is the lines of a test, trimmed, without the empty ones and its first.
func (s *side) body(c testCase) []string {
	var list []string
	for _, line := range s.lines[min(c.from+1, c.to):c.to] {
		if line = strings.TrimSpace(line); len(line) > 1 {
			list = append(list, line)
		}
	}
	return list
}

// testsGone compares the tests of all files: one that moved to another file of the patch, or has another name that a runner finds, is not gone.
func (r *report) testsGone() {
	type place struct {
		e *edit
		testCase
		taken bool
	}
	var gone []place
	made := map[string][]*place{} // by language and name
	var fresh []*place
	for _, e := range r.edits {
		after := map[string][]testCase{}
		for _, c := range e.cases(1) {
			after[c.name] = append(after[c.name], c)
		}
		for _, c := range e.cases(0) {
			if list := after[c.name]; len(list) > 0 {
				after[c.name] = list[1:]
				continue
			}
			gone = append(gone, place{e: e, testCase: c})
		}
		for _, c := range e.cases(1) {
			if list := after[c.name]; len(list) > 0 && list[0].from == c.from {
				after[c.name] = list[1:]
				p := &place{e: e, testCase: c}
				made[e.language+" "+c.name] = append(made[e.language+" "+c.name], p)
				fresh = append(fresh, p)
			}
		}
	}
	var missing []place
	for _, g := range gone {
		key := g.e.language + " " + g.name
		if list := made[key]; len(list) > 0 {
			list[0].taken = true
			made[key] = list[1:]
			continue
		}
		missing = append(missing, g)
	}
	compared := 0
	for _, g := range missing {
		renamed := false
		body := g.e.before.body(g.testCase)
		for _, f := range fresh {
			if f.taken || f.e.language != g.e.language || compared > maxCompared || len(body) == 0 {
				continue
			}
			other := f.e.after.body(f.testCase)
			compared += len(body) + len(other)
			if share(body, other) >= alike {
				f.taken, renamed = true, true
				break
			}
		}
		if !renamed {
			r.add(g.e, TestRemoved, g.e.at(g.from), g.e.class == 0, "%s is gone, or no runner finds it", g.name)
		}
	}
}

// share is how much of a's lines stands in b.
func share(a, b []string) float64 {
	left := map[string]int{}
	for _, line := range b {
		left[line]++
	}
	same := 0
	for _, line := range a {
		if left[line] > 0 {
			left[line]--
			same++
		}
	}
	return float64(same) / float64(len(a))
}
