package native

// Answers as a part of the conversation, and conversations that every provider accepts. Each request passes through
// legal. Of a broken answer what is whole is kept, and every call gets one result.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// Results of calls that have none of their own.
const (
	saidBroken = "Interrupted before it ran: the answer broke off while this call was being written. Nothing was " +
		"done. Make the call again if it is still needed."
	saidUnstarted = "Not run: the answer broke off after this call was written and before it ran. Nothing was done. " +
		"Make the call again if it is still needed."
	saidBehind = "Not run: a call of the same answer was refused while it was being written, and that ended the " +
		"answer. Nothing was done. Make the call again if it is still needed."
	saidDead = "Interrupted while it ran: it may have started, and may even have completed. Do not repeat it " +
		"before you have verified what state it left."
	saidAborted = "Aborted."
	saidLeft    = "Not run: the turn had ended before this call."
	saidNotLast = "Refused: finish ends the work, and other calls followed it in the same answer. They were carried out. Read " +
		"their results, then call finish alone."
	saidUnwritten = "Refused: finish ends the work, and a call of the same answer that was to change a file failed. Read its " +
		"result, then call finish alone."
	saidOrphan = "Interrupted: what came of this call is not known. Do not repeat it before you have verified what " +
		"state it left."
)

// goOnNote follows a broken answer.
const goOnNote = "The connection was interrupted. Continue exactly where your last answer stopped; do not restate " +
	"what you have already said."

// An ended call is one of a round, with its result.
type ended struct {
	call    model.Call
	asked   json.RawMessage // its arguments as they arrived, if call has an empty object in place of them
	result  model.Result
	started bool // false: it never ran
	dead    bool // it was started, and nobody waited for its end
	broken  bool // its arguments are not whole
	refused bool // by us, before it ran
	out     tools.Outcome
	aside   string // what we added to the result
}

// turnOf returns an answer and the results of its calls as two messages. Calls and results are in the order of the
// answer. If cut, the answer is not whole, and thinking without the provider's own bytes is dropped.
func turnOf(blocks []model.Block, calls []ended, cut bool, note string) []model.Message {
	said := model.Message{Role: model.Assistant}
	byID := make(map[string]*ended, len(calls)) // the first of each
	for i := range calls {
		if id := calls[i].call.ID; byID[id] == nil {
			byID[id] = &calls[i]
		}
	}
	placed := map[string]bool{}
	for _, b := range blocks {
		switch {
		case b.Call != nil:
			if byID[b.Call.ID] != nil && !placed[b.Call.ID] {
				placed[b.Call.ID] = true
				said.Blocks = append(said.Blocks, b)
			}
		case b.Result != nil:
		case b.Thinking != "" && cut && len(b.Raw) == 0:
		default:
			said.Blocks = append(said.Blocks, b)
		}
	}
	heard := model.Message{Role: model.User}
	for _, e := range calls {
		if !placed[e.call.ID] { // broken ones have no block
			placed[e.call.ID] = true
			said.Blocks = append(said.Blocks, model.Block{Call: &e.call})
		}
	}
	for _, b := range said.Blocks {
		if b.Call != nil {
			heard.Blocks = append(heard.Blocks, model.Block{Result: new(byID[b.Call.ID].result)})
		}
	}
	if note != "" {
		heard.Blocks = append(heard.Blocks, model.Block{Text: note})
	}
	return []model.Message{said, heard}
}

// overlap bounds what a continued answer may repeat of what came before it, in bytes.
const (
	mostOverlap  = 400
	leastOverlap = 8 // fewer bytes may well be meant twice
)

// join returns a text and its continuation, without what the continuation repeats of the end of the text.
func join(before, after string) string {
	if before == "" || after == "" {
		return before + after
	}
	for n := min(mostOverlap, len(before), len(after)); n >= min(leastOverlap, max(2, len(before))); n-- {
		if strings.HasSuffix(before, after[:n]) {
			return before + after[n:]
		}
	}
	return before + after
}

// nothingSaid is said for a side that must speak and has nothing to say.
const nothingSaid = "Go on."

// legal returns in as a conversation that every provider accepts. It begins and ends with the user, the sides take
// turns, and no block is empty. Every call has a name of plain letters, an ID of its own, one JSON object of
// arguments, and exactly one result in the message after it, in the order of the calls. Results without a call are
// dropped; calls without a result get one that tells so. in is not changed.
func legal(in []model.Message) []model.Message {
	b := newBuilder()
	b.take(in)
	return b.legal()
}

// A builder builds such a conversation message by message.
type builder struct {
	taken int // messages
	out   []model.Message
	open  []open           // calls of the last assistant message, until they are answered
	waits map[string][]int // which of them wait for a result, by the ID that they had
	ids   map[string]bool  // of all calls so far
	tried map[string]int   // how often an ID was made of another
}

// An open call, and its result once that has come.
type open struct {
	call   *model.Call
	result *model.Result
}

func newBuilder() *builder {
	return &builder{ids: map[string]bool{}, tried: map[string]int{}, waits: map[string][]int{}}
}

// take adds messages. Those of earlier calls are not read again.
func (b *builder) take(more []model.Message) {
	b.taken += len(more)
	for _, m := range more {
		switch m.Role {
		case model.Assistant:
			b.assistant(m.Blocks)
		case model.User:
			b.user(m.Blocks)
		}
	}
}

// legal returns the conversation so far, completed. b stays open for more messages.
func (b *builder) legal() []model.Message {
	whole := builder{out: slices.Clone(b.out), open: b.open, waits: map[string][]int{}}
	if n := len(whole.out); n > 0 { // what is added to it here must not be seen there
		whole.out[n-1].Blocks = slices.Clip(whole.out[n-1].Blocks)
	}
	whole.answerAll()
	if len(whole.out) == 0 || whole.out[len(whole.out)-1].Role == model.Assistant {
		whole.add(model.User, model.Block{Text: nothingSaid})
	}
	return whole.out
}

func (b *builder) add(role model.Role, block model.Block) {
	if n := len(b.out); n > 0 && b.out[n-1].Role == role {
		b.out[n-1].Blocks = append(b.out[n-1].Blocks, block)
		return
	}
	b.out = append(b.out, model.Message{Role: role, Blocks: []model.Block{block}})
}

func (b *builder) assistant(blocks []model.Block) {
	var keep []model.Block
	says := false // more than thinking
	for _, block := range blocks {
		switch {
		case block.Call != nil:
			if block.Call.Name == "" {
				continue
			}
			says = true
		case block.Result != nil:
			continue
		case block.Text != "":
			if strings.TrimSpace(block.Text) == "" {
				continue
			}
			says = true
		case strings.TrimSpace(block.Thinking) == "" && len(block.Raw) == 0:
			continue
		}
		keep = append(keep, block)
	}
	if !says {
		return
	}
	b.answerAll()
	if len(b.out) == 0 {
		b.add(model.User, model.Block{Text: nothingSaid})
	}
	for _, block := range keep {
		if block.Call != nil {
			block = b.call(block)
		}
		b.add(model.Assistant, block)
	}
}

// call returns the block of a call with a legal name, ID and arguments, and waits for its result.
func (b *builder) call(block model.Block) model.Block {
	c, was := *block.Call, block.Call.ID
	c.ID, c.Name = b.unused(was), tools.SafeName(c.Name)
	if !isObject(c.Args) {
		c.Args = json.RawMessage("{}")
		block.Raw, block.Provider = nil, ""
	}
	if c.ID != was {
		block.Raw, block.Provider = nil, ""
	}
	b.ids[c.ID] = true
	block.Call, block.Text, block.Thinking = &c, "", ""
	b.waits[was] = append(b.waits[was], len(b.open))
	b.open = append(b.open, open{call: &c})
	return block
}

func (b *builder) user(blocks []model.Block) {
	// Results come before words, whatever the order they were put in.
	for _, block := range blocks {
		if block.Result == nil {
			continue
		}
		r := *block.Result
		if waiting := b.waits[r.ID]; len(waiting) > 0 {
			b.waits[r.ID] = waiting[1:]
			o := &b.open[waiting[0]]
			r.ID, r.Name = o.call.ID, o.call.Name
			o.result = &r
		}
	}
	for _, block := range blocks {
		if block.Result != nil || block.Call != nil || strings.TrimSpace(block.Text) == "" {
			continue
		}
		b.answerAll()
		b.add(model.User, model.Block{Text: block.Text})
	}
}

// answerAll gives every open call its result.
func (b *builder) answerAll() {
	for _, o := range b.open {
		r := o.result
		if r == nil {
			r = &model.Result{ID: o.call.ID, Name: o.call.Name, Text: saidOrphan, Failed: true}
		}
		if strings.TrimSpace(r.Text) == "" {
			r.Text = "(no output)"
		}
		b.add(model.User, model.Block{Result: r})
	}
	b.open = nil
	clear(b.waits)
}

// unused returns id, or one derived from it that is not taken.
func (b *builder) unused(id string) string {
	if id == "" {
		id = "call"
	}
	free := id
	for b.ids[free] {
		b.tried[id]++
		free = fmt.Sprintf("%s_%d", id, b.tried[id]+1)
	}
	return free
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
