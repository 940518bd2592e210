package native

// The context window. When it fills, old tool output is dropped first; then the model summarises the conversation.
// Also the questions beside the conversation and after it, which must fit in the window too.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

const (
	windowDefault = 128_000
	fullPercent   = 75 // of the window; then room is made
	roomPercent   = 50 // what old output must bring it down to, or a summary follows
	keepOutputs   = 4  // newest tool outputs that stay
	smallOutput   = 400
	charsPerToken = 4
)

// window returns the size of the model's context window in tokens.
func (l *loop) window() int64 {
	return cmp.Or(int64(l.a.Window), model.Window(l.a.Model), windowDefault)
}

// makeRoom makes the conversation smaller if it fills the window.
func (l *loop) makeRoom(ctx context.Context) {
	if size := l.size(); size > l.window()*fullPercent/100 && size > l.tight {
		l.compact(ctx, false)
		l.tight = l.size() * 5 / 4 // what cannot be made smaller is not tried again every round
	}
}

// size returns the least number of tokens of the next request: what the provider counted last time, and what was
// added since. What was never counted is taken at four bytes a token, which is less than code, logs and JSON need as
// a rule: no request that would have fitted is held back.
func (l *loop) size() int64 {
	chars := l.meter.fixed(l.system, l.specs) + charsOf(l.messages)
	if l.meter.lastSize > 0 {
		return max(0, l.meter.lastSize+int64(chars-l.meter.lastChars)/charsPerToken)
	}
	return int64(chars) / charsPerToken
}

// compact drops old tool outputs. If that is not enough, or if deep, a summary replaces the conversation. It reports
// whether the conversation became smaller.
func (l *loop) compact(ctx context.Context, deep bool) bool {
	l.builder = nil
	before := l.size()
	dropped, bytes := l.dropOutputs(keepOutputs)
	if dropped > 0 {
		text := fmt.Sprintf("dropped %d old tool outputs (%d bytes) to make room in the model's window",
			dropped, bytes)
		l.note("notice", map[string]any{
			"notice": "context", "text": text,
			"tokens_before": before, "tokens_after": l.size(), "window": l.window(),
		})
	}
	full := deep || dropped == 0 || l.size() > l.window()*roomPercent/100
	if full && !l.summarise(ctx) && dropped == 0 {
		return false
	}
	l.guard.Compacted()
	return true
}

// dropOutputs replaces all tool outputs but the newest keep by a note of their size.
func (l *loop) dropOutputs(keep int) (dropped, bytes int) {
	for i := len(l.messages) - 1; i >= 0; i-- {
		blocks := l.messages[i].Blocks
		for k := len(blocks) - 1; k >= 0; k-- {
			r := blocks[k].Result
			if r == nil {
				continue
			}
			if keep--; keep >= 0 || len(r.Text) <= smallOutput {
				continue
			}
			short := *r
			short.Text = fmt.Sprintf("%s%d bytes of output of %s were dropped to save room. Call it again if they are "+
				"needed.", ours, len(r.Text), r.Name)
			blocks[k].Result = &short
			dropped++
			bytes += len(r.Text)
		}
	}
	return dropped, bytes
}

// summarise replaces the conversation after its first message by the model's summary, or by its newest part if there
// is no summary. A turn that asks one question gets no summary, because the question must stay.
func (l *loop) summarise(ctx context.Context) bool {
	if len(l.messages) < 2 {
		return false
	}
	before := l.size()
	l.dropOutputs(1)
	room := int(l.window()) * charsPerToken * roomPercent / 100
	how, text := "newest", ""
	if !l.r.ReadOnly {
		text = l.summary(ctx, room)
	}
	if text != "" {
		how = "summary"
		text = ours + "The conversation so far was replaced by your own summary of it:\n\n" + text
		l.messages = []model.Message{l.messages[0], fromUser(text)}
	} else {
		dropped := ours + "Earlier parts of the conversation were dropped to save room" + l.caution() + "."
		if l.question != "" {
			dropped += "\n\n" + l.question
		}
		l.messages = append(newest(l.messages, room/2), fromUser(dropped))
	}
	l.meter.lastSize = 0
	l.note("notice", map[string]any{
		"notice": "context", "text": "the conversation was made smaller to fit into the model's window", "how": how,
		"tokens_before": before, "tokens_after": l.size(), "window": l.window(),
	})
	return true
}

// summary asks the model for a summary of as much of the conversation as fits into room characters. It returns an
// empty string if no whole summary came. A lost connection is recovered like any other.
func (l *loop) summary(ctx context.Context, room int) string {
	talk := append(flat(newest(l.messages, room)), fromUser(summaryNote))
	req := model.Request{System: l.system, Messages: legal(talk), MaxTokens: l.meter.answer(l.alone(talk))}
	for ctx.Err() == nil && l.mayAsk(talk) {
		x := l.exchange(ctx, req, false)
		if x.err == nil {
			if x.stop != model.EndTurn {
				return ""
			}
			return strings.TrimSpace(textOf(x.answer.Blocks))
		}
		if f := faultOf(ctx, x.err); !f.retryable || !l.again(ctx, f, "summary", x.permit) {
			x.permit.left()
			break
		}
	}
	return ""
}

// mayAsk reports whether the caps leave room for a request beside the conversation. The size of the request is an
// estimate.
func (l *loop) mayAsk(talk []model.Message) bool {
	return l.meter.over() == "" && l.meter.tooMuch(l.alone(talk)) == ""
}

// alone returns the least number of tokens of a request beside the conversation.
func (l *loop) alone(talk []model.Message) int64 {
	return int64(len(l.system)+charsOf(talk)) / charsPerToken
}

// newest returns the first message and as many of the last ones as fit into room characters, in whole rounds.
func newest(talk []model.Message, room int) []model.Message {
	from := len(talk)
	used := charsOf(talk[:1])
	for i := len(talk) - 1; i > 0; i-- {
		if used += charsOf(talk[i : i+1]); used > room {
			break
		}
		if talk[i].Role == model.Assistant || !hasResult(talk[i]) {
			from = i
		}
	}
	return append([]model.Message{talk[0]}, talk[from:]...)
}

func hasResult(m model.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b model.Block) bool { return b.Result != nil })
}

// flat returns messages with their calls and results as text: some providers refuse calls in a request that offers no
// tools.
func flat(talk []model.Message) []model.Message {
	out := make([]model.Message, 0, len(talk))
	for _, m := range talk {
		f := model.Message{Role: m.Role}
		for _, b := range m.Blocks {
			switch {
			case b.Call != nil:
				f.Blocks = append(f.Blocks, model.Block{Text: fmt.Sprintf("(called %s with %s)", b.Call.Name, b.Call.Args)})
			case b.Result != nil:
				word := "result"
				if b.Result.Failed {
					word = "failure"
				}
				f.Blocks = append(f.Blocks, model.Block{Text: fmt.Sprintf("(%s of %s)\n%s", word, b.Result.Name, b.Result.Text)})
			case strings.TrimSpace(b.Text) != "":
				f.Blocks = append(f.Blocks, model.Block{Text: b.Text})
			}
		}
		if len(f.Blocks) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func charsOf(talk []model.Message) int {
	n := 0
	for _, m := range talk {
		for _, b := range m.Blocks {
			n += len(b.Text) + len(b.Thinking)
			if b.Call != nil {
				n += len(b.Call.Name) + len(b.Call.Args) + 16
			}
			if b.Result != nil {
				n += len(b.Result.Text) + 16
			}
		}
	}
	return n
}

// mostLast is how often a model is asked for its last words.
const mostLast = 2

// finalWords asks the model to end without tools, a second time if its answer is empty, or lost before its first word.
// If there is no answer, the text is ours.
func (l *loop) finalWords(ctx context.Context, why string) ending {
	talk := append(flat(l.messages), fromUser(lastWords(why, l.r.Task)))
	if ctx.Err() == nil && l.mayAsk(talk) {
		l.note("reminder", map[string]any{"text": lastWords(why, l.r.Task), "why": "final", "left": 0})
		req := model.Request{System: l.system, Messages: legal(talk), MaxTokens: l.meter.answer(l.alone(talk))}
		for i := 0; i < mostLast && l.mayAsk(talk); i++ {
			x := l.exchange(ctx, req, false)
			text := textOf(x.answer.Blocks)
			said := strings.TrimSpace(text) != ""
			if x.err == nil {
				l.turns++
			} else if f := faultOf(ctx, x.err); said || i > 0 || !f.retryable || !l.again(ctx, f, "final", x.permit) {
				x.permit.left()
				i = mostLast
			}
			if said {
				return ending{text: text}
			}
		}
	}
	text := ours + "The agent was stopped and gave no answer of its own: " + why
	l.note("text", map[string]any{"text": text, "synthetic": true})
	return ending{text: text, synthetic: true}
}

// lastSaid is how much of the last answer goes with a question if the conversation does not fit, in bytes.
const lastSaid = 8 << 10

// resume asks one more question in the conversation of a turn that ended with said. There are no tools any more, and
// providers refuse calls where no tools are offered, so calls and results become text. If the whole conversation does
// not fit into the window, or below what is left of the cap, its newest part goes with the question, or else the last
// answer alone.
func (l *loop) resume(ctx context.Context, r agent.Request, said string) agent.Turn {
	r.ReadOnly = true
	// they are closed already: without specs only the facts of a call are asked of them
	next := newLoop(l.a, r, l.tools)
	talk := slices.Clone(l.messages)
	if said = l.clean(said); said != "" {
		talk = append(talk, model.Message{Role: model.Assistant, Blocks: []model.Block{{Text: said}}})
	}
	next.system = next.clean(system(r.Dir, nil, true))
	next.question = next.clean(r.Prompt)
	ask := fromUser(next.question)
	talk = append(flat(talk), ask)
	room := l.room(r.Tokens) - len(next.system)
	switch {
	case charsOf(talk) <= room:
		next.messages = talk
	case charsOf(talk[:1])+charsOf(talk[len(talk)-1:]) <= room:
		next.messages = newest(talk, room)
	default:
		if said != "" {
			ask.Blocks = append([]model.Block{{Text: "Your last answer was:\n\n" + agent.Tail(said, lastSaid)}},
				ask.Blocks...)
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
		return int(min(float64(most)*charsPerToken,
			float64(most)*float64(l.meter.lastChars)/float64(l.meter.lastSize)))
	}
	return int(most) * charsPerToken
}
