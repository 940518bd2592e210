package main

import (
	"fmt"
	"slices"
	"testing"
)

// Runs that are kept are named in the order they were made, every time.
func TestKeptInOrder(t *testing.T) {
	t.Parallel()
	p := &pruning{why: map[string]string{}}
	var want []string
	for day := range 20 {
		id := fmt.Sprintf("202611%02dT000000Z-0001", day+1)
		p.why[id] = "of day " + id
		want = append(want, "Run "+id+" is kept: of day "+id+".")
	}
	if got := p.kept(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
