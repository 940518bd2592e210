package native

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// P90 P92: what failed three times on one target is said, then refused without running, and tried once more ends the
// turn.
func TestP90P92RefusedDoesNotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tools.do = func(context.Context, model.Call) tools.Outcome {
		return tools.Outcome{Text: "no match", Code: tools.Failed, Path: "a.go"}
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

// A model that reads the same again is told in the result that nothing can have changed, and is not disturbed
// otherwise; a change in between makes the read new.
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
			d.tools.do = func(_ context.Context, c model.Call) tools.Outcome {
				d.tools.mu.Lock()
				defer d.tools.mu.Unlock()
				n++
				switch {
				case strings.Contains(string(c.Args), "log"):
					return tools.Outcome{Text: fmt.Sprint("line ", n)}
				case strings.Contains(string(c.Args), "gone"):
					return tools.Outcome{Text: "no such file", Code: tools.Failed}
				}
				return tools.Outcome{Text: "same"}
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

// B44 B46: a turn that ends by a detector: what the model sees, what is written down, and its last words.
func TestB44B46RemindersAndLastWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		last      []step
		text      string
		synthetic bool
		asked     int
	}{
		{"it says something", []step{{text: "The file is not there.\n" + finalText}}, "The file is not there.\n" + finalText, false, 13},
		{"empty once", []step{{}, {text: "sorry"}}, "sorry", false, 14},
		{"empty twice", []step{{}, {}}, "", true, 14},
		{"a call that cannot run", []step{{text: "I try", calls: []model.Call{call("x", "edit", `{}`)}}}, "I try", false, 13},
		{"it fails", []step{{err: lost()}}, "", true, 13},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.tools.do = func(context.Context, model.Call) tools.Outcome {
				return tools.Outcome{Text: "no match", Code: tools.Failed}
			}
			d.script.more = func(n int) step {
				if n >= 12 {
					return tt.last[n-12]
				}
				return step{calls: []model.Call{call(fmt.Sprint(n), "edit", `{"path":"a.go","old":"x","new":"y"}`)}}
			}
			turn := d.turn(context.Background())
			if turn.Kind != failure.LoopDetected || !strings.Contains(turn.Evidence, "the same call 3 times in a row") || *turn.Requests != tt.asked {
				t.Errorf("kind %q, evidence %q, %d requests", turn.Kind, turn.Evidence, *turn.Requests)
			}
			end := d.of("end")[0].Data
			if (end["synthetic"] == true) != tt.synthetic || !tt.synthetic && turn.Text != tt.text || tt.synthetic && !strings.HasPrefix(turn.Text, ours) {
				t.Errorf("synthetic %v, text %q", end["synthetic"], turn.Text)
			}
			asked := d.script.requests()
			for i, r := range asked {
				if (len(r.Tools) == 0) != (i >= 12) {
					t.Errorf("request %d has %d tools", i+1, len(r.Tools))
				}
			}
			if len(d.tools.started()) != 12 {
				t.Errorf("%d calls ran, want 12", len(d.tools.started()))
			}
			reminders := d.of("reminder")
			if len(reminders) != 4 { // three, and the last words asked for
				t.Fatalf("B44 %d reminders in the transcript", len(reminders))
			}
			for i, r := range reminders[:3] {
				text := r.Data["text"].(string)
				if got := asked[3*(i+1)].Messages; !strings.Contains(show(got[len(got)-1:]), text[len(ours):len(ours)+40]) || got[len(got)-1].Role != model.User {
					t.Errorf("B44 reminder %d is not in the conversation:\n%s", i+1, show(got[len(got)-1:]))
				}
			}
		})
	}
}

// A tool's name that is made up goes back in a form that every provider takes, and the model is told which there are.
func TestMadeUpNamesOfTools(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"functions.read", "read file", "läs", strings.Repeat("read", 5000), "\n", "\xff\xfe"} {
		d := newDesk(t, step{calls: []model.Call{call("1", name, `{"path":"a"}`)}}, step{text: finalText})
		top := t.TempDir()
		d.open, d.req.Copy, d.req.Top = nil, top, top
		turn := d.turn(t.Context()) // the script refuses what is not legal
		if got := d.results()["1"]; turn.Kind != "" || !got.Failed || !strings.Contains(got.Text, "there is no tool") || len(got.Text) > 300 {
			t.Errorf("%.20q: kind %q, %+v", name, turn.Kind, got)
		}
	}
}
