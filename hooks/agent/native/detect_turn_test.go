package native

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// P90 P92: what failed three times on one target is said, then refused without running, and tried once more ends the turn.
func TestP90P92RefusedDoesNotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tools.do = func(context.Context, model.Call) outcome {
		return outcome{text: "no match", code: codeFailed, path: "a.go"}
	}
	d.script.more = func(n int) step {
		if n >= 5 {
			return step{text: finalText}
		}
		return step{calls: []model.Call{call(fmt.Sprint(n+1), "edit", fmt.Sprintf(`{"path":"a.go","old":"%d","new":"x"}`, n))}}
	}
	turn := d.turn(context.Background())
	if turn.Kind != failure.LoopDetected || !strings.Contains(turn.Evidence, saidBy["D7"]) || *turn.Requests != 6 {
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

// Who looks again and again is told in the result that nothing can have changed, and is not disturbed otherwise; what was done in
// between makes a look new.
func TestLookAgainIsToldInItsResult(t *testing.T) {
	t.Parallel()
	const told = "nothing changes by itself"
	look, other := `read {"path":"a"}`, `list {}`
	for _, tt := range []struct {
		name   string
		rounds []string // calls, " & " between those of one round
		told   []int    // rounds, from 1, whose last result says it
	}{
		{"five times", []string{look, look, look, look, look}, []int{3, 4, 5}},
		{"a look elsewhere between", []string{look, other, look, other, look, other}, []int{5, 6}},
		{"a command between", []string{look, look, `check {}`, look, look, look}, []int{6}},
		{"a write between", []string{look, look, `write {"path":"b"}`, look, look}, nil},
		{"three in one round", []string{look + " & " + look + " & " + look, look}, nil},
		{"what moves on", []string{`read {"path":"log"}`, `read {"path":"log"}`, `read {"path":"log"}`, `read {"path":"log"}`}, nil},
		{"what fails", []string{`read {"path":"gone"}`, `read {"path":"gone"}`, `read {"path":"gone"}`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			n := 0
			d.tools.do = func(_ context.Context, c model.Call) outcome {
				d.tools.mu.Lock()
				defer d.tools.mu.Unlock()
				n++
				switch {
				case strings.Contains(string(c.Args), "log"):
					return outcome{text: fmt.Sprint("line ", n)}
				case strings.Contains(string(c.Args), "gone"):
					return outcome{text: "no such file", code: codeFailed}
				}
				return outcome{text: "same"}
			}
			for i, r := range tt.rounds {
				var st step
				for k, s := range strings.Split(r, " & ") {
					name, args, _ := strings.Cut(s, " ")
					st.calls = append(st.calls, call(fmt.Sprintf("%d.%d", i+1, k), name, args))
				}
				d.script.steps = append(d.script.steps, st)
			}
			d.script.steps = append(d.script.steps, step{text: finalText})
			d.turn(t.Context())
			var got []int
			for id, r := range d.results() {
				if strings.Contains(r.Text, told) {
					var round int
					if _, err := fmt.Sscanf(id, "%d.", &round); err != nil || r.Failed || !strings.HasPrefix(r.Text, "same\n"+ours) {
						t.Errorf("%s: %+v", id, r)
					}
					got = append(got, round)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tt.told) {
				t.Errorf("told in rounds %v, want %v", got, tt.told)
			}
			for _, l := range d.of("tool_result") {
				if l.Data["text"] != d.results()[l.Data["id"].(string)].Text {
					t.Errorf("the transcript has %q", l.Data["text"])
				}
			}
		})
	}
}

// A summary takes away what was seen: to look at it again is nothing old.
func TestSummaryMakesLooksNew(t *testing.T) {
	t.Parallel()
	w := newWatch("")
	for i := range 3 * newsRemind {
		if i%newsRemind == newsRemind-1 {
			w.compacted()
		}
		if f := w.round(letters("1")[0]); f.found() {
			t.Fatalf("round %d: %+v", i+1, f)
		}
	}
}
