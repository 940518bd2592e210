package native

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// G40: the conversation that ended without a control object is asked for it in itself, without tools.
func TestG40Resumed(t *testing.T) {
	t.Parallel()
	d := newDesk(t,
		step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}},
		step{text: "I made it good."},
		step{text: finalText},
	)
	turn := d.turn(t.Context())
	if turn.Kind != "" || turn.Control != nil || turn.Resume == nil {
		t.Fatalf("%q %+v", turn.Kind, turn.Control)
	}
	r := d.req
	r.Prompt = "Answer with the JSON object."
	again, err := turn.Resume(t.Context(), r)
	if err != nil || again.Control == nil || *again.Requests != 1 {
		t.Fatalf("%+v %v", again, err)
	}
	asked := d.script.asked[len(d.script.asked)-1]
	if len(asked.Tools) > 0 || asked.Schema == nil {
		t.Errorf("%d tools, schema %s", len(asked.Tools), asked.Schema)
	}
	var all strings.Builder
	for _, m := range asked.Messages {
		for _, b := range m.Blocks {
			if b.Call != nil || b.Result != nil {
				t.Error("a call where there are no tools")
			}
			all.WriteString(b.Text + "\n")
		}
	}
	for _, want := range []string{"Repair it.", "(called read with", "I made it good.", "Answer with the JSON object."} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is not in\n%s", want, all.String())
		}
	}
}

// A turn that failed is not gone on with.
func TestNotResumed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{err: &model.Error{Kind: string(agent.AuthInvalid), Message: "no", RetryAfter: -1}})
	if turn := d.turn(t.Context()); turn.Kind != agent.AuthInvalid || turn.Resume != nil {
		t.Errorf("%q resumes: %v", turn.Kind, turn.Resume != nil)
	}
}
