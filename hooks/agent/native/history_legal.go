package native

// What makes a conversation legal for every provider. Each request goes through here, however the history came about.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// nothingSaid stands where a side of the conversation has to speak and has nothing to say.
const nothingSaid = "Go on."

// legal is in as a conversation that begins and ends with the user, in which the sides take turns, no block is empty, every
// call has a name of plain letters, an ID of its own and one JSON object of arguments, and exactly one result in the message after it, in the
// order of the calls. Results that answer nothing go; calls without a result get one that says so. in is not changed.
func legal(in []model.Message) []model.Message {
	b := newBuilder()
	b.take(in)
	return b.legal()
}

// A builder puts a conversation together message by message.
type builder struct {
	taken int // messages
	out   []model.Message
	open  []open           // calls of the last assistant message, until they are answered
	waits map[string][]int // which of them wait for a result, by the ID that they had
	ids   map[string]bool  // of all calls so far
	tried map[string]int   // how often an ID was made of another
}

// An open call, with its result once that has come.
type open struct {
	call   *model.Call
	result *model.Result
}

func newBuilder() *builder {
	return &builder{ids: map[string]bool{}, tried: map[string]int{}, waits: map[string][]int{}}
}

// take goes on with more of the conversation; what was taken before is not looked at again.
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

// legal is what was taken so far, made whole. b itself stays open for more.
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

// call makes a call legal, and waits for its result.
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

// unused is id, or one made of it that is not taken.
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
