package native

import (
	"context"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// A turn says how many commands it started and how many its policy refused. A check is no command of the model's, and
// what its policy never saw counts for nothing; nor do the turn's commands count again for the question after it.
func TestCommandsOfATurn(t *testing.T) {
	t.Parallel()
	copied := t.TempDir()
	d := newDesk(
		t,
		step{calls: []model.Call{
			call("1", "run", `{"argv":["make","check"]}`), call("2", "run", `{"argv":["rm","-rf","/"]}`), call("3", "check", `{}`),
			call("4", "run", `{"argv":"make"}`),
		}},
		step{calls: []model.Call{call("5", "run", `{"argv":["go","vet","."]}`), call("6", "run", `{"argv":["make"]}`)}},
		step{calls: []model.Call{call("7", "run", `{"argv":["go","vet","./..."]}`)}},
		step{text: "I made it good."},
		step{text: finalText},
	)
	d.open = nil // the real tools
	d.req.Run, d.req.Allow = []string{"make", "check"}, [][]string{{"go", "vet", "**"}}
	d.req.Exec = func(context.Context, agent.Command) (agent.Exit, error) { return agent.Exit{Code: 1}, nil }
	d.req.Copy, d.req.Top, d.req.Dir = copied, copied, "/project"
	turn := d.turn(t.Context())
	if c := turn.Commands; c.Allowed == nil || c.Refused == nil || *c.Allowed != 3 || *c.Refused != 2 {
		t.Fatalf("%+v, want 3 and 2; ended with %q: %s", c, turn.Kind, turn.Evidence)
	}
	again, err := turn.Resume(t.Context(), d.req)
	if err != nil || again.Commands != (agent.Commands{}) {
		t.Errorf("the question: %+v %v", again.Commands, err)
	}
}

// Of tools that do not count them nothing is said.
func TestCommandsUnknown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, step{text: finalText})
	if turn := d.turn(t.Context()); turn.Commands != (agent.Commands{}) {
		t.Errorf("%+v", turn.Commands)
	}
}
