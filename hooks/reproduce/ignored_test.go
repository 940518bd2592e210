package reproduce

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// TestSmallest checks that paths are found that are all needed, by few runs.
func TestSmallest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var paths []string
		for i := range rapid.IntRange(1, 300).Draw(t, "paths") {
			paths = append(paths, fmt.Sprint("p", i))
		}
		culprits := rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 1, min(3, len(paths)), rapid.ID).Draw(t, "culprits")
		runs := 0
		fails := func(_ context.Context, with []string) bool {
			runs++
			return !slices.ContainsFunc(culprits, func(p string) bool { return !slices.Contains(with, p) })
		}
		got := smallest(t.Context(), paths, fails)
		slices.Sort(got)
		slices.Sort(culprits)
		if !slices.Equal(got, culprits) {
			t.Fatalf("%v, want %v", got, culprits)
		}
		if most := len(culprits) * (bits.Len(uint(len(paths))) + 2); runs > most {
			t.Fatalf("%d runs for %d of %d paths, want at most %d", runs, len(culprits), len(paths), most)
		}
	})
}

// TestSmallestEnds checks that paths which were not ruled out in time are returned, and nothing of what comes and
// goes.
func TestSmallestEnds(t *testing.T) {
	t.Parallel()
	paths := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for end := range 8 {
		ctx, cancel := context.WithCancel(t.Context())
		runs := 0
		got := smallest(ctx, paths, func(_ context.Context, with []string) bool {
			if runs++; runs > end {
				cancel()
				return false
			}
			return slices.Contains(with, "b") && slices.Contains(with, "e")
		})
		cancel()
		if !slices.Contains(got, "b") || !slices.Contains(got, "e") || end > 2 && len(got) > 5 {
			t.Errorf("after %d runs: %v", end, got)
		}
	}
	runs := 0
	got := smallest(t.Context(), paths, func(context.Context, []string) bool { runs++; return false })
	if got != nil || runs != 4 {
		t.Errorf("after %d runs: %v", runs, got)
	}
}

func TestNewFolders(t *testing.T) {
	t.Parallel()
	of := func(paths ...string) *tree.Manifest {
		m := &tree.Manifest{}
		for _, p := range paths {
			m.Entries = append(m.Entries, tree.Entry{Path: p})
		}
		return m
	}
	got := newFolders(of("a", "a/b", "c"), of("a", "a/b", "a/gen/x", "a/gen/y", "c", "out/deep/z", "secret.txt"))
	if want := []string{"a/gen", "out", "secret.txt"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
