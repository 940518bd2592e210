package native

import (
	"context"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// resume asks once more in the conversation of a turn that has ended with said. There are no tools any more, so what they said
// stands in it as text: providers refuse calls where no tools are offered.
func (l *loop) resume(ctx context.Context, r agent.Request, said string) agent.Turn {
	r.ReadOnly = true
	next := newLoop(l.a, r, hands{close: func() {}})
	talk := slices.Clone(l.talk)
	if said = l.clean(said); said != "" {
		talk = append(talk, model.Message{Role: model.Assistant, Blocks: []model.Block{{Text: said}}})
	}
	next.system = next.clean(system(r.Dir, nil, true))
	next.talk = append(flat(talk), model.Message{Role: model.User, Blocks: []model.Block{{Text: next.clean(r.Prompt)}}})
	next.note("prompt", map[string]any{"text": r.Prompt, "resumed": true, "system": next.system})
	return next.run(ctx)
}
