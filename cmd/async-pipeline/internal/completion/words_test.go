package completion

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestInTime(t *testing.T) {
	t.Parallel()
	free := make(chan bool)
	defer close(free)
	start := time.Now()
	if got := inTime(func() []cobra.Completion { <-free; return shells }); got != nil {
		t.Errorf("got %v", got)
	}
	if d := time.Since(start); d < patience {
		t.Errorf("gave up after %v", d)
	}
}
