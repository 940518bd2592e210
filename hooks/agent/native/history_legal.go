package native

// Conversations that every provider accepts. Each request passes through here.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// nothingSaid is said for a side that must speak and has nothing to say.
const nothingSaid = "Go on."

// legal returns in as a conversation that every provider accepts. It begins and ends with the user, the sides take
// turns, and no block is empty. Every call has a name of plain letters, an ID of its own, one JSON object of
// arguments, and exactly one result in the message after it, in the order of the calls. Results without a call are
// dropped; calls without a result get one that says so. in is not changed.
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

// take adds messages. Those of earlier calls are not looked at again.
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
