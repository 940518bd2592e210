// Anchors of the patience diff: lines that stand exactly once on both sides, as many of them as keep their order.

package patch

import (
	"slices"
	"sort"
)

// A cut is one anchor: index in a, index in b.
type cut struct{ i, j int }

// anchors gives the longest run of common unique lines that is in order on both sides.
func anchors(a, b []token) []cut {
	type seen struct{ inA, inB, i, j int }
	at := make(map[int32]*seen, len(a))
	for i, t := range a {
		if u := at[t.text]; u != nil {
			u.inA++
			continue
		}
		at[t.text] = &seen{inA: 1, i: i}
	}
	for j, t := range b {
		if u := at[t.text]; u != nil {
			u.inB++
			u.j = j
		}
	}
	var unique []cut // in order of a
	for i, t := range a {
		if u := at[t.text]; u.inA == 1 && u.inB == 1 {
			unique = append(unique, cut{i, u.j})
		}
	}
	return rising(unique)
}

// rising gives the longest subsequence with rising j (patience sorting).
func rising(cuts []cut) []cut {
	var tops []int // index of the last cut of the best run of each length
	before := make([]int, len(cuts))
	for k, c := range cuts {
		n := sort.Search(len(tops), func(x int) bool { return cuts[tops[x]].j >= c.j })
		before[k] = -1
		if n > 0 {
			before[k] = tops[n-1]
		}
		if n == len(tops) {
			tops = append(tops, k)
		} else {
			tops[n] = k
		}
	}
	if len(tops) == 0 {
		return nil
	}
	run := make([]cut, 0, len(tops))
	for k := tops[len(tops)-1]; k >= 0; k = before[k] {
		run = append(run, cuts[k])
	}
	slices.Reverse(run)
	return run
}
