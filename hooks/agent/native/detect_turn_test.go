package native

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// P90 P92: what failed three times on one target is said, then refused without running, and tried once more ends the turn.
func TestP90P92RefusedDoesNotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tools.do = func(context.Context, model.Call) outcome {
		return outcome{text: "no match", failed: true, path: "a.go"}
	}
	d.script.more = func(n int) step {
		if n >= 5 {
			return step{text: finalText}
		}
		return step{calls: []model.Call{call(fmt.Sprint(n+1), "edit", fmt.Sprintf(`{"path":"a.go","old":"%d","new":"x"}`, n))}}
	}
	turn := d.turn(context.Background())
	if turn.Kind != agent.LoopDetected || !strings.Contains(turn.Evidence, saidBy["D7"]) || *turn.Requests != 6 {
		t.Errorf("kind %q (%s) after %d requests", turn.Kind, turn.Evidence, *turn.Requests)
	}
	if got := d.tools.started(); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("ran %v", got)
	}
	if rounds, by := d.reminded(); !slices.Equal(rounds, []int{3}) || !slices.Equal(by, []string{"D7"}) {
		t.Errorf("reminded after %v by %v", rounds, by)
	}
	lines := d.of("tool_result")
	if len(lines) != 5 {
		t.Fatalf("%d results", len(lines))
	}
	for i, l := range lines {
		text, refused := l.Data["text"].(string), i >= 3
		if strings.HasPrefix(text, "Refused: this has failed 3 times already") != refused || l.Data["failed"] != true || (l.Data["started"] == false) != refused {
			t.Errorf("result %d: %v", i+1, l.Data)
		}
	}
}
