package native

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// G40: the conversation that ended without a control object is asked for it in itself, without tools.
func TestG40Resumed(t *testing.T) {
	t.Parallel()
	d, turn, r := endedWithout(t, step{text: finalText})
	if turn.Kind != "" || turn.Control != nil {
		t.Fatalf("%q %+v", turn.Kind, turn.Control)
	}
	again, err := turn.Resume(t.Context(), r)
	if err != nil || again.Control == nil || *again.Requests != 1 {
		t.Fatalf("%+v %v", again, err)
	}
	asked := d.script.asked[len(d.script.asked)-1]
	if len(asked.Tools) > 0 || asked.Schema == nil {
		t.Errorf("%d tools, schema %s", len(asked.Tools), asked.Schema)
	}
	all := d.withoutCalls()
	for _, want := range []string{"Repair it.", "(called read with", "I made it good.", "Answer with the JSON object."} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
}

// withoutCalls returns the text of the last request, which may hold no calls and no results.
func (d *desk) withoutCalls() string {
	d.script.t.Helper()
	asked := d.script.requests()
	var all strings.Builder
	for _, m := range asked[len(asked)-1].Messages {
		for _, b := range m.Blocks {
			if b.Call != nil || b.Result != nil {
				d.script.t.Errorf("a call where there are no tools: %+v", b)
			}
			all.WriteString(b.Text + "\n")
		}
	}
	return all.String()
}

// A turn that failed is not gone on with.
func TestNotResumed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{err: &model.Error{Kind: failure.AuthInvalid, Message: "no", RetryAfter: -1}})
	if turn := d.turn(t.Context()); turn.Kind != failure.AuthInvalid || turn.Resume != nil {
		t.Errorf("%q resumes: %v", turn.Kind, turn.Resume != nil)
	}
}

// endedWithout returns a turn that ended without its object, after one read, and the request that asks for it.
func endedWithout(t *testing.T, more ...step) (*desk, agent.Turn, agent.Request) {
	t.Helper()
	d := newDesk(t, append([]step{
		{calls: []model.Call{call("1", "read", `{"path":"a"}`)}, usage: usage(1000, 10)},
		{text: "I made it good.", usage: usage(1200, 10)},
	}, more...)...)
	d.tools.do = kilobytes
	return asksAgain(t, d)
}

// asksAgain plays the turn of a desk, and returns the request that asks for its object.
func asksAgain(t *testing.T, d *desk) (*desk, agent.Turn, agent.Request) {
	t.Helper()
	turn := d.turn(t.Context())
	if turn.Resume == nil {
		t.Fatalf("%q cannot be resumed", turn.Kind)
	}
	r := d.req
	r.Prompt = "Answer with the JSON object."
	return d, turn, r
}

// A model that is asked for its object without tools may call one all the same: it never runs, and the model is not
// asked again; the arguments of finish are the object.
func TestResumedAnswersWithACall(t *testing.T) {
	t.Parallel()
	read := step{calls: []model.Call{call("2", "read", `{"path":"a"}`)}}
	for _, tt := range []struct {
		name    string
		steps   []step
		outcome string
		kind    failure.Kind
	}{
		{"then with the object", []step{read, {text: finalText}}, "", ""},
		{"beside the object", []step{{text: finalText, calls: read.calls}}, agent.Fixed, ""},
		{"of nothing that exists", []step{{calls: []model.Call{call("3", "answer", `{}`)}}, {text: finalText}}, "", ""},
		{"finish", []step{{calls: []model.Call{call("4", "finish", `{"outcome":"no_fix","summary":"nothing to do"}`)}}}, agent.NoFix, ""},
		{"finish, without what it needs", []step{{calls: []model.Call{call("4", "finish", `{"summary":"nothing"}`)}}, {text: finalText}}, "", ""},
		{"nothing", []step{{}, {text: finalText}}, "", failure.EmptyOutput},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, turn, r := endedWithout(t, tt.steps...)
			ran := len(d.tools.started())
			again, err := turn.Resume(t.Context(), r)
			if err != nil || again.Kind != tt.kind || *again.Requests != 1 || len(d.tools.started()) != ran {
				t.Fatalf("kind %q after %d requests, %v", again.Kind, *again.Requests, err)
			}
			if got := again.Control; tt.outcome == "" && got != nil || tt.outcome != "" && (got == nil || got.Outcome != tt.outcome) {
				t.Errorf("control %+v, want %q", got, tt.outcome)
			}
			d.withoutCalls()
		})
	}
}

// What is left of the window and of the cap of tokens is enough for a question, or less of the conversation goes with
// it.
func TestResumedInLittleRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		tokens int64
		window int
		asked  int
		has    []string
		hasNot []string
	}{
		{"enough", 100_000, 0, 1, []string{"Repair it.", "(called read", "I made it good."}, nil},
		{"the newest part", 700, 0, 1, []string{"Repair it.", "I made it good."}, []string{"(called read"}},
		{"the last answer", 320, 0, 1, []string{"I made it good."}, []string{"Repair it.", "(called read"}},
		{"nothing", 100, 0, 0, nil, nil},
		{"a full window", 0, 900, 1, []string{"I made it good."}, []string{"xxxxxxxx"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, turn, r := endedWithout(t)
			d.script.more = func(int) step { return step{text: finalText} }
			if tt.name == "the last answer" { // its first message alone has no room
				d = newDesk(t, step{text: "I made it good."})
				d.script.more = func(int) step { return step{text: finalText} }
				d.req.Prompt = "Repair it." + strings.Repeat(" And be careful.", 200)
				d, turn, r = asksAgain(t, d)
			}
			before := len(d.script.requests())
			r.Tokens, d.Window = tt.tokens, tt.window
			again, err := turn.Resume(t.Context(), r)
			asked := d.script.requests()[before:]
			if err != nil || len(asked) != tt.asked {
				t.Fatalf("%d requests, %v", len(asked), err)
			}
			if tt.asked == 0 {
				if again.Kind != failure.TokenBudget || !strings.Contains(again.Evidence, "the next request alone holds about") {
					t.Errorf("kind %q, %s", again.Kind, again.Evidence)
				}
				return
			}
			got := show(asked[0].Messages)
			if size := int64(len(asked[0].System)+charsOf(asked[0].Messages))/charsPerToken + leastAnswer; tt.tokens > 0 && size > tt.tokens || again.Control == nil {
				t.Errorf("about %d tokens, control %v", size, again.Control)
			}
			for _, want := range append(tt.has, "Answer with the JSON object.") {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%.3000s", want, got)
				}
			}
			for _, no := range tt.hasNot {
				if strings.Contains(got, no) {
					t.Errorf("%q is in\n%.3000s", no, got)
				}
			}
		})
	}
}

// A question that is still there when its conversation must be made smaller once more: no summary of it is asked for.
func TestQuestionStays(t *testing.T) {
	t.Parallel()
	d, turn, r := endedWithout(t, step{err: tooLong}, step{err: tooLong}, step{text: finalText})
	d.Window = 900 // and it is too long for what is left when room was made
	r.Prompt += strings.Repeat(" Nothing else.", 100)
	again, err := turn.Resume(t.Context(), r)
	if err != nil || again.Control == nil || *again.Requests != 3 {
		t.Fatalf("%+v %v", again, err)
	}
	for _, asked := range d.script.requests()[2:] {
		got := show(asked.Messages)
		if !strings.Contains(got, "Answer with the JSON object.") || strings.Contains(got, "Write a summary") {
			t.Errorf("asked\n%.2000s", got)
		}
	}
}
