package native

import (
	"context"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// lastSaid is how much of the last answer goes with a question if the conversation does not fit, in bytes.
const lastSaid = 8 << 10

// resume asks one more question in the conversation of a turn that ended with said. There are no tools any more, and
// providers refuse calls where no tools are offered, so calls and results become text. If the whole conversation does
// not fit into the window, or below what is left of the cap, its newest part goes with the question, or else the last
// answer alone.
func (l *loop) resume(ctx context.Context, r agent.Request, said string) agent.Turn {
	r.ReadOnly = true
	next := newLoop(l.a, r, l.tools) // they are closed already: without specs only the facts of a call are asked of them
	talk := slices.Clone(l.messages)
	if said = l.clean(said); said != "" {
		talk = append(talk, model.Message{Role: model.Assistant, Blocks: []model.Block{{Text: said}}})
	}
	next.system = next.clean(system(r.Dir, nil, true))
	next.question = next.clean(r.Prompt)
	ask := model.Message{Role: model.User, Blocks: []model.Block{{Text: next.question}}}
	talk = append(flat(talk), ask)
	room := l.room(r.Tokens) - len(next.system)
	switch {
	case charsOf(talk) <= room:
		next.messages = talk
	case charsOf(talk[:1])+charsOf(talk[len(talk)-1:]) <= room:
		next.messages = newest(talk, room)
	default:
		if said != "" {
			ask.Blocks = append([]model.Block{{Text: "Your last answer was:\n\n" + agent.Tail(said, lastSaid)}}, ask.Blocks...)
		}
		next.messages = []model.Message{ask}
	}
	next.note("prompt", map[string]any{"text": r.Prompt, "resumed": true, "system": next.system})
	return next.run(ctx)
}

// room returns how many characters a request may hold, so that the window does not fill and the cap of tokens leaves
// room for an answer. How many characters a token has is known from the conversation if the provider has counted it.
func (l *loop) room(tokens int64) int {
	most := l.window() * fullPercent / 100
	if tokens > 0 {
		most = min(most, max(0, tokens-leastAnswer))
	}
	if l.meter.lastSize > 0 && l.meter.lastChars > 0 {
		return int(min(float64(most)*charsPerToken, float64(most)*float64(l.meter.lastChars)/float64(l.meter.lastSize)))
	}
	return int(most) * charsPerToken
}
