package native

// The stream cut everywhere: whatever is lost, the next request is legal, every tool runs exactly once, and the turn
// ends as if nothing had happened.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// story is a conversation, answer by answer.
var story = []step{
	{think: "Where is it?", text: "I look at the file and at what uses it.", calls: []model.Call{call("1", "read", `{"path":"a.go"}`), call("2", "search", `{"pattern":"Sum"}`)}},
	{calls: []model.Call{call("3", "edit", `{"path":"a.go","old":"-","new":"+"}`), call("4", "write", `{"path":"b.go","content":"package a\n"}`), call("5", "check", `{}`)}},
	{think: "It passes.", text: "The sign was wrong; the check passes now.\n" + finalText},
}

// events are a step in pieces, as they arrive.
func (st step) events() []model.Event {
	var all []model.Event
	pieces := func(kind model.EventKind, s string, c model.Call) {
		for part := range slices.Chunk([]byte(s), 7) {
			all = append(all, model.Event{Kind: kind, Text: string(part), Call: c})
		}
	}
	pieces(model.ThinkingDelta, st.think, model.Call{})
	pieces(model.TextDelta, st.text, model.Call{})
	for _, c := range st.calls {
		begun := model.Call{ID: c.ID, Name: c.Name}
		all = append(all, model.Event{Kind: model.CallBegun, Call: begun})
		pieces(model.CallArgs, string(c.Args), begun)
		all = append(all, model.Event{Kind: model.CallWhole, Call: c})
	}
	stop := model.EndTurn
	if len(st.calls) > 0 {
		stop = model.ToolCalls
	}
	return append(all, model.Event{Kind: model.Stopped, Stop: stop})
}

// until is the answer that the first n events of a step make.
func until(events []model.Event) model.Answer {
	var a model.Answer
	args := map[string]string{}
	var begun []model.Call
	last := func(goesOn func(b model.Block) bool) *model.Block {
		if n := len(a.Blocks); n == 0 || !goesOn(a.Blocks[n-1]) {
			a.Blocks = append(a.Blocks, model.Block{})
		}
		return &a.Blocks[len(a.Blocks)-1]
	}
	for _, e := range events {
		a.Progress = true
		switch e.Kind {
		case model.TextDelta:
			last(func(b model.Block) bool { return b.Text != "" }).Text += e.Text
		case model.ThinkingDelta:
			last(func(b model.Block) bool { return b.Thinking != "" }).Thinking += e.Text
		case model.CallBegun:
			begun = append(begun, e.Call)
		case model.CallArgs:
			args[e.Call.ID] += e.Text
		case model.CallWhole:
			begun = begun[:len(begun)-1]
			a.Blocks = append(a.Blocks, model.Block{Call: &e.Call})
		case model.Stopped:
			a.Stop = e.Stop
		}
	}
	for _, c := range begun {
		c.Args = json.RawMessage(args[c.ID])
		a.Broken = append(a.Broken, c)
	}
	return a
}

// tellCut plays the story and cuts it: cuts[i] is after how many events request i ends, a negative number that it
// does not. The model, which is not told what is lost but by the history, then begins its answer anew. fresh gives
// its calls new IDs.
func tellCut(t *testing.T, cuts []int, fresh bool) {
	t.Helper()
	at, asked := 0, 0
	d := newDesk(t)
	d.Ask = func(_ context.Context, r model.Request, heard func(model.Event)) (model.Answer, error) {
		if err := illegal(r.Messages); err != nil {
			t.Errorf("cuts %v: request %d is not legal: %v\n%s", cuts, asked+1, err, show(r.Messages))
		}
		if at >= len(story) {
			t.Fatalf("cuts %v: request %d after the end", cuts, asked+1)
		}
		st := story[at]
		if fresh {
			st.calls = slices.Clone(st.calls)
			for i := range st.calls {
				st.calls[i].ID = fmt.Sprintf("%s.%d", st.calls[i].ID, asked)
			}
		}
		events := st.events()
		cut := -1
		if asked < len(cuts) && cuts[asked] >= 0 {
			cut = cuts[asked] % (len(events) + 1)
		}
		asked++
		if cut >= 0 {
			events = events[:cut]
		}
		for _, e := range events {
			heard(e)
		}
		a := until(events)
		if a.Stop != "" {
			at++
		}
		if cut >= 0 {
			return a, lost()
		}
		return a, nil
	}
	turn := d.turn(context.Background())
	if turn.Kind != "" || turn.Control == nil || turn.Control.Summary != "done" {
		t.Errorf("cuts %v: kind %q (%s), control %v, text %q", cuts, turn.Kind, turn.Evidence, turn.Control, turn.Text)
	}
	var ran []string
	for _, id := range d.tools.started() {
		id, _, _ = strings.Cut(id, ".")
		ran = append(ran, id)
	}
	slices.Sort(ran[:min(2, len(ran))]) // side by side
	if !slices.Equal(ran, []string{"1", "2", "3", "4", "5"}) {
		t.Errorf("cuts %v: ran %v", cuts, ran)
	}
	if n := len(d.of("recovery")); n > maxRecoveries {
		t.Errorf("cuts %v: %d recoveries", cuts, n)
	}
	if n := len(d.of("tool_call")); n != 5 {
		t.Errorf("cuts %v: %d calls are written down as started", cuts, n)
	}
}

// Every answer, cut after every event, once and twice in a row.
func TestCutEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for answer, st := range story {
			for n := range len(st.events()) + 1 {
				cuts := slices.Repeat([]int{-1}, answer)
				tellCut(t, append(slices.Clone(cuts), n), false)
				tellCut(t, append(slices.Clone(cuts), n, n/2), true)
			}
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add([]byte{3, 9, 255, 4, 4})
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, where []byte) {
		var cuts []int
		for _, b := range where[:min(len(where), maxRecoveries)] {
			if b >= 128 {
				cuts = append(cuts, -1)
				continue
			}
			cuts = append(cuts, int(b))
		}
		synctest.Test(t, func(t *testing.T) {
			tellCut(t, cuts, len(where)%2 == 0)
		})
	})
}

// Without an answer that is whole, there is an end too.
func TestCutForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for n := range len(story[1].events()) {
			d := newDesk(t)
			d.Ask = func(_ context.Context, r model.Request, heard func(model.Event)) (model.Answer, error) {
				if err := illegal(r.Messages); err != nil {
					t.Errorf("cut after %d: %v", n, err)
				}
				events := story[1].events()[:n]
				for _, e := range events {
					heard(e)
				}
				return until(events), lost()
			}
			d.ends(context.Background(), failure.TransportDisconnect, 1+maxRecoveries)
			d.ran()
		}
	})
}
