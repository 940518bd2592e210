package native

import (
	"context"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// lastSaid is how much of the last answer goes with a question for which the conversation has no room, in bytes.
const lastSaid = 8 << 10

// resume asks once more in the conversation of a turn that has ended with said. There are no tools any more, so what they said
// stands in it as text: providers refuse calls where no tools are offered. Where the window or what is left of the cap has no room
// for the whole of it, its newest part goes with the question; else the last answer alone.
func (l *loop) resume(ctx context.Context, r agent.Request, said string) agent.Turn {
	r.ReadOnly = true
	next := newLoop(l.a, r, l.tools) // they are closed already: without specs only the facts of a call are asked of them
	talk := slices.Clone(l.talk)
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
		next.talk = talk
	case charsOf(talk[:1])+charsOf(talk[len(talk)-1:]) <= room:
		next.talk = newest(talk, room)
	default:
		if said != "" {
			ask.Blocks = append([]model.Block{{Text: "Your last answer was:\n\n" + agent.Tail(said, lastSaid)}}, ask.Blocks...)
		}
		next.talk = []model.Message{ask}
	}
	next.note("prompt", map[string]any{"text": r.Prompt, "resumed": true, "system": next.system})
	return next.run(ctx)
}

// room is how many characters a request may hold, so that the window does not fill and a cap of tokens leaves an answer its least.
// What a token is in characters is known from the conversation, where the provider has counted it.
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
