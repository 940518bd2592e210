package store

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The newest results stay, within the limit; a blob stays that one of them or a baseline needs, or that is young.
func TestChoose(t *testing.T) {
	t.Parallel()
	now := time.Now()
	before := func(d time.Duration) time.Time { return now.Add(-d) }
	all := &holdings{
		results: []held{
			{path: "second", size: 1, at: before(2 * time.Hour), need: []string{"b", "c"}},
			{path: "first", size: 1, at: before(time.Hour), need: []string{"a", "b"}},
			{path: "old", size: 1, at: before(48 * time.Hour), need: []string{"a"}},
			{path: "damaged", size: 1, at: before(time.Minute)},
		},
		blobs: map[string]held{},
	}
	for _, name := range []string{"a", "b", "c", "input", "orphan"} {
		all.blobs[name] = held{path: name, size: 10, at: before(3 * time.Hour)}
	}
	all.blobs["fresh"] = held{path: "fresh", size: 10, at: before(time.Minute)}
	used := map[string]bool{"input": true}
	for _, tt := range []struct {
		what  string
		limit int64
		gone  string
		left  int64
	}{
		{"all fit", 100, "damaged old orphan", 10 + 21 + 11 + 10},
		{"one fits", 31, "damaged second old c orphan", 10 + 21 + 10},
		{"none fits", 0, "damaged first second old a b c orphan", 10 + 10},
	} {
		got := choose(all, used, now, 24*time.Hour, tt.limit)
		var names []string
		for _, f := range got.results {
			names = append(names, f.path)
		}
		slices.SortFunc(got.blobs, func(a, b held) int { return strings.Compare(a.path, b.path) })
		for _, f := range got.blobs {
			names = append(names, f.path)
		}
		if gone := strings.Join(names, " "); gone != tt.gone || got.left != tt.left {
			t.Errorf("%s: gone %s, left %d; want %s, %d", tt.what, gone, got.left, tt.gone, tt.left)
		}
	}
	if len(used) != 1 {
		t.Error("what is used was changed")
	}
}
