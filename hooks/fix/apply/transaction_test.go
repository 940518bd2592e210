package apply

import (
	"errors"
	"fmt"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// More files than are synced one by one are written, taken back after an error, and reverted like few.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{}, fixtest.Files{}
	for i := range 2 * manyMoves {
		name := fmt.Sprintf("d%d/f%d", i%7, i)
		switch i % 4 {
		case 0:
			before[name] = "f:old\n"
		case 1:
			after[name] = "f:new\n"
		default:
			before[name], after[name] = "f:old\n", "f:new\n"
		}
	}
	s, p := proposed(t, before, after)
	full, moved := errors.New("no space"), 0
	s.step = func(string) error {
		if moved++; moved == 5*manyMoves {
			return full
		}
		return nil
	}
	if _, err := apply(t, s, p, Options{}); !errors.Is(err, full) {
		t.Fatalf("the apply ended with %v", err)
	}
	s.holds(t, "after an error", before)
	s.step = nil
	done(t)(apply(t, s, p, Options{}))
	s.holds(t, "after the apply", after)
	done(t)(s.Revert(t.Context(), fixtest.Find(t, s.Fixes, fixtest.RunID, "test"), Options{}))
	s.holds(t, "after the revert", before)
	settled(t, s)
}
