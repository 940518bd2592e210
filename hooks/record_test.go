package hooks

import (
	"slices"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// What the base and several attempts leave out is in the record once, for each reason.
func TestOnceEach(t *testing.T) {
	t.Parallel()
	a, b, c := tree.Omitted{Path: "a", Why: "ignored"}, tree.Omitted{Path: "b", Why: "ignored"}, tree.Omitted{Path: "a", Why: "oversize"}
	if got := onceEach([]tree.Omitted{a, b, a, c, b}); !slices.Equal(got, []tree.Omitted{a, b, c}) {
		t.Error(got)
	}
}
