package native

// The window of the model: when it fills, old tool output goes first, then the conversation is summarised by the model itself.

import (
	"context"
	"fmt"
	"strings"

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

// window is the turn's.
func (l *loop) window() int64 {
	if l.a.Window > 0 {
		return int64(l.a.Window)
	}
	if known := model.Window(l.a.Model); known > 0 {
		return known
	}
	return windowDefault
}

// makeRoom makes the conversation smaller when it fills the window.
func (l *loop) makeRoom(ctx context.Context) {
	if size := l.size(); size > l.window()*fullPercent/100 && size > l.tight {
		l.compact(ctx, false)
		l.tight = l.size() * 5 / 4 // what cannot be made smaller is not tried again every round
	}
}

// size is how many tokens the next request will hold at least: what the provider counted last time and what was added since. What no
// provider has counted yet is taken at four bytes a token, which is less than code, logs and JSON come to as a rule: a request that would
// have fitted by this count is never refused.
func (l *loop) size() int64 {
	chars := l.meter.fixed(l.system, l.specs) + charsOf(l.talk)
	if l.meter.lastSize > 0 {
		return max(0, l.meter.lastSize+int64(chars-l.meter.lastChars)/charsPerToken)
	}
	return int64(chars) / charsPerToken
}

// compact drops old tool outputs; when that is not enough, or deep says so, the conversation becomes a summary. It says whether
// anything was there to be made smaller.
func (l *loop) compact(ctx context.Context, deep bool) bool {
	l.built = nil
	before := l.size()
	dropped, bytes := l.dropOutputs(keepOutputs)
	if dropped > 0 {
		l.note("notice", map[string]any{
			"notice": "context", "text": fmt.Sprintf("dropped %d old tool outputs (%d bytes) to make room in the model's window", dropped, bytes),
			"tokens_before": before, "tokens_after": l.size(), "window": l.window(),
		})
	}
	if deep || dropped == 0 || l.size() > l.window()*roomPercent/100 {
		if !l.summarise(ctx) && dropped == 0 {
			return false
		}
	}
	l.watch.Compacted()
	return true
}

// dropOutputs replaces all tool outputs but the newest keep by a word on what stood there.
func (l *loop) dropOutputs(keep int) (dropped, bytes int) {
	for i := len(l.talk) - 1; i >= 0; i-- {
		blocks := l.talk[i].Blocks
		for k := len(blocks) - 1; k >= 0; k-- {
			r := blocks[k].Result
			if r == nil {
				continue
			}
			if keep--; keep >= 0 || len(r.Text) <= smallOutput {
				continue
			}
			short := *r
			short.Text = fmt.Sprintf("%s%d bytes of output of %s were dropped to save room. Call it again if they are needed.", ours, len(r.Text), r.Name)
			blocks[k].Result = &short
			dropped++
			bytes += len(r.Text)
		}
	}
	return dropped, bytes
}

// summarise replaces the conversation after its first message by the model's own summary; without one, by its newest part. For one
// question no summary is asked for: the question must stay.
func (l *loop) summarise(ctx context.Context) bool {
	if len(l.talk) < 2 {
		return false
	}
	before := l.size()
	l.dropOutputs(1)
	room := int(l.window()) * charsPerToken * roomPercent / 100
	how, text := "newest", ""
	if !l.r.ReadOnly {
		text = l.summary(ctx, room)
	}
	first := l.talk[0]
	if text != "" {
		how = "summary"
		l.talk = []model.Message{first, {Role: model.User, Blocks: []model.Block{{Text: ours + "The conversation so far was replaced by your own summary of it:\n\n" + text}}}}
	} else {
		dropped := ours + "Earlier parts of the conversation were dropped to save room" + l.caution() + "."
		if l.question != "" {
			dropped += "\n\n" + l.question
		}
		l.talk = newest(l.talk, room/2)
		l.talk = append(l.talk, model.Message{Role: model.User, Blocks: []model.Block{{Text: dropped}}})
	}
	l.meter.lastSize = 0
	l.note("notice", map[string]any{
		"notice": "context", "text": "the conversation was made smaller to fit into the model's window", "how": how,
		"tokens_before": before, "tokens_after": l.size(), "window": l.window(),
	})
	return true
}

// summary is the model's own of as much of the conversation as has room, in characters; empty: it gave none that is whole. A
// connection that is lost meanwhile is recovered like any other.
func (l *loop) summary(ctx context.Context, room int) string {
	talk := append(flat(newest(l.talk, room)), model.Message{Role: model.User, Blocks: []model.Block{{Text: summaryNote}}})
	req := model.Request{System: l.system, Messages: legal(talk), MaxTokens: l.meter.answer(l.alone(talk))}
	for ctx.Err() == nil && l.mayAsk(talk) {
		x := l.exchange(ctx, req, false)
		if x.err == nil {
			if x.stop != model.EndTurn {
				return ""
			}
			return strings.TrimSpace(textOf(x.answer.Blocks))
		}
		if f := faultOf(ctx, x.err); !f.retryable || !l.again(ctx, f, "summary", x.pass) {
			x.pass.left()
			break
		}
	}
	return ""
}

// mayAsk says whether the caps have room for a request beside the conversation. Its size is a guess.
func (l *loop) mayAsk(talk []model.Message) bool {
	return l.meter.over() == "" && l.meter.tooMuch(l.alone(talk)) == ""
}

// alone is how many tokens a request beside the conversation holds at least.
func (l *loop) alone(talk []model.Message) int64 {
	return int64(len(l.system)+charsOf(talk)) / charsPerToken
}

// newest is the first message and as many of the last ones as have room, in characters; whole rounds only.
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
	for _, b := range m.Blocks {
		if b.Result != nil {
			return true
		}
	}
	return false
}

// flat is talk with its calls and results as text: some providers refuse them in a request that offers no tools.
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

// finalWords asks for an end without tools, once more when there is none; then we say in our own name that there was none.
func (l *loop) finalWords(ctx context.Context, why string) ending {
	talk := append(flat(l.talk), model.Message{Role: model.User, Blocks: []model.Block{{Text: lastWords(why)}}})
	if ctx.Err() == nil && l.mayAsk(talk) {
		l.note("reminder", map[string]any{"text": lastWords(why), "why": "final", "left": 0})
		req := model.Request{System: l.system, Messages: legal(talk), MaxTokens: l.meter.answer(l.alone(talk))}
		for i := range 2 {
			if i > 0 && !l.mayAsk(talk) {
				break
			}
			x := l.exchange(ctx, req, false)
			if x.err != nil {
				x.pass.left()
				break
			}
			l.turns++
			if text := textOf(x.answer.Blocks); strings.TrimSpace(text) != "" {
				return ending{text: text}
			}
		}
	}
	text := ours + "The agent was stopped and gave no answer of its own: " + why
	l.note("text", map[string]any{"text": text, "synthetic": true})
	return ending{text: text, synthetic: true}
}
