package model

// Anthropic's Messages API. Sources: Anthropic's documentation, "Messages" (request), "Streaming messages" (events),
// "Handling stop reasons", "Prompt caching", "Structured outputs" (output_config.format), "Thinking" (display),
// "Preserved thinking" (block_binding).

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Anthropic is the name of the protocol POST /v1/messages.
const Anthropic = "anthropic"

var anthropicWire = wire{
	name: Anthropic, base: "https://api.anthropic.com", version: "/v1", always: true, prompt: true,
	path: func(*Model) string { return "/messages" },
	head: func(h http.Header, m *Model) {
		h.Set("Anthropic-Version", "2023-06-01")
		if bindsThinking(m.Name) {
			h.Set("Anthropic-Beta", "thinking-binding-controls-2026-08-01")
		}
		if m.Key != "" {
			h.Set("X-Api-Key", m.Key)
		}
	},
	encode:  anthropicRequest,
	decoder: func(d *draft) decoder { return &anthropicStream{d: d} },
	count:   (*Counter).anthropic,
	// It reports at once that a message begins, shows what is thought, and sends pings while the model thinks or
	// writes a long argument.
	limits: Limits{Connect: 30 * time.Second, Think: 2 * time.Minute, Silent: 2 * time.Minute, Word: 5 * time.Minute},
}

// cached marks the end of a prefix that is worth caching. A request may have four such marks.
var cached = object{"type": "ephemeral"}

func anthropicRequest(m *Model, r Request) any {
	q := object{"model": m.Name, "max_tokens": r.MaxTokens, "stream": true}
	if r.System != "" {
		q["system"] = []object{{"type": "text", "text": r.System, "cache_control": cached}}
	}
	if len(r.Tools) > 0 {
		tools := make([]object, len(r.Tools))
		for i, t := range r.Tools {
			tools[i] = object{"name": t.Name, "description": t.Description, "input_schema": t.schema()}
		}
		tools[len(tools)-1]["cache_control"] = cached
		q["tools"] = tools
	}
	if r.Schema != nil {
		q["output_config"] = object{"format": object{"type": "json_schema", "schema": r.Schema}}
	}
	if thinksByItself(m.Name) {
		// These models think in any case and show none of it by default: minutes without a word, which no watchdog
		// can tell from a dead connection.
		thinking := object{"type": "adaptive", "display": "summarized"}
		if bindsThinking(m.Name) {
			// Else a conversation of which something old was taken away to make room is refused for good.
			thinking["block_binding"] = object{"prefix_mismatch_behavior": "drop_block"}
		}
		q["thinking"] = thinking
	}
	messages := []object{}
	last := []any{} // the last block of each message
	for _, msg := range r.Messages {
		if blocks := anthropicBlocks(msg); len(blocks) > 0 {
			messages = append(messages, object{"role": string(msg.Role), "content": blocks})
			last = append(last, blocks[len(blocks)-1])
		}
	}
	// The last message, and the user's before it: a look-up goes back 20 blocks only, and a round may have more.
	marks := 2
	for i := len(messages) - 1; i >= 0 && marks > 0; i-- {
		if i < len(messages)-1 && messages[i]["role"] != string(User) {
			continue
		}
		if block, ok := last[i].(*anthropicContent); ok {
			block.Cache = cached
		}
		marks--
	}
	q["messages"] = messages
	return q
}

// thinksByItself reports whether a model is of a family that thinks adaptively unless it is told not to: Claude 5 and
// later.
func thinksByItself(name string) bool {
	major, _ := claude(name)
	return major >= 5
}

// bindsThinking reports whether a model accepts its thinking back only after what it was about: Claude 5.1 and later.
func bindsThinking(name string) bool {
	major, minor := claude(name)
	return major > 5 || major == 5 && minor >= 1
}

// claude returns the version in the name of a model, such as claude-opus-5-5-20260923 or, in the older order,
// claude-3-5-haiku. It is 0 if there is none.
func claude(name string) (major, minor int) {
	words := strings.Split(name, "-")
	if len(words) < 3 || words[0] != "claude" || words[1] == "" || digit(words[1][0]) {
		return 0, 0
	}
	number := func(i int) int {
		if i >= len(words) || len(words[i]) > 2 { // a date
			return 0
		}
		n, err := strconv.Atoi(words[i])
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	return number(2), number(3)
}

// anthropicContent is a block of a message. A conversation has thousands, and a struct is encoded faster than a map.
type anthropicContent struct {
	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Of      string          `json:"tool_use_id,omitempty"`
	Content *string         `json:"content,omitempty"`
	Failed  bool            `json:"is_error,omitempty"`
	Cache   object          `json:"cache_control,omitempty"`
}

// anthropicBlocks encodes a message. The API wants results first, thinking never last, and no text that is only
// space.
func anthropicBlocks(m Message) []any {
	blocks := []any{}
	for _, b := range m.Blocks {
		if r := b.Result; r != nil {
			blocks = append(blocks, &anthropicContent{Type: "tool_result", Of: r.ID, Content: &r.Text, Failed: r.Failed})
		}
	}
	solid := len(blocks) // up to the last block that is not thinking
	for _, b := range m.Blocks {
		switch raw := b.own(Anthropic); {
		case b.Result != nil:
			continue
		case b.Call != nil:
			blocks = append(blocks, &anthropicContent{
				Type: "tool_use", ID: b.Call.ID, Name: b.Call.Name, Input: b.Call.input(),
			})
		case raw != nil && b.Text == "":
			blocks = append(blocks, raw)
			continue
		default:
			text := b.spoken(Anthropic)
			if strings.TrimSpace(text) == "" {
				continue
			}
			blocks = append(blocks, &anthropicContent{Type: "text", Text: text})
		}
		solid = len(blocks)
	}
	return blocks[:solid]
}

type anthropicEvent struct {
	Type    string `json:"type"`
	Index   *int   `json:"index"`
	Message *struct {
		ID    string          `json:"id"`
		Model string          `json:"model"`
		Usage *anthropicUsage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta *struct {
		Type       string  `json:"type"`
		Text       string  `json:"text"`
		JSON       string  `json:"partial_json"`
		Thinking   string  `json:"thinking"`
		Signature  string  `json:"signature"`
		StopReason *string `json:"stop_reason"`
	} `json:"delta"`
	Usage *anthropicUsage `json:"usage"`
}

type anthropicUsage struct {
	Input   *tally `json:"input_tokens"` // neither read from nor written to the cache
	Written *tally `json:"cache_creation_input_tokens"`
	Cached  *tally `json:"cache_read_input_tokens"`
	Output  *tally `json:"output_tokens"`
}

// anthropicStream is the state of one stream: message_start, blocks one after the other, message_delta, message_stop.
// Unknown types of events, blocks and deltas are ignored, as the documentation asks.
type anthropicStream struct {
	d      *draft
	begun  bool
	blocks []anthropicBlock // by index
	counts anthropicUsage
}

type anthropicBlock struct {
	kind  string
	open  bool
	part  *part  // nil: a kind that is passed over
	input string // of a call: the arguments that stood in its beginning
	sign  []byte // not a string: it comes in pieces, and of a hostile provider in millions of them
}

func (s *anthropicStream) event(_ string, data []byte) error {
	var e anthropicEvent
	if err := decode(data, &e); err != nil {
		return err
	}
	if e.Type == "error" {
		return provided(data)
	}
	known := e.Type == "message_start" || e.Type == "content_block_start" || e.Type == "content_block_delta" ||
		e.Type == "content_block_stop" || e.Type == "message_delta" || e.Type == "message_stop"
	switch {
	case e.Type == "" && reported(data).meant: // as gateways write it
		return provided(data)
	case e.Type == "":
		return malformed("an event of the stream has no type: \"%s\"", head(data, 120))
	case !known: // ping too
		return nil
	// of a block that the cut left open
	case e.Type == "content_block_stop" && s.d.stopped() && cutShort(s.d.got.Stop):
		return nil
	case s.begun == (e.Type == "message_start"):
		return outOfOrder("%s, and message_start came %s", e.Type,
			map[bool]string{true: "before", false: "not yet"}[s.begun])
	case s.d.stopped() && e.Type != "message_delta" && e.Type != "message_stop":
		return outOfOrder("%s after the reason why the model stopped", e.Type)
	}
	switch e.Type {
	case "message_start":
		if e.Message == nil {
			return malformed("message_start has no message")
		}
		s.begun = true
		s.d.got.ID, s.d.got.Model = e.Message.ID, e.Message.Model
		s.usage(e.Message.Usage)
		return nil
	case "content_block_start":
		return s.start(e)
	case "content_block_delta":
		return s.delta(e)
	case "content_block_stop":
		return s.stop(e)
	case "message_delta":
		return s.message(e)
	}
	if !s.d.stopped() {
		return outOfOrder("message_stop without the reason why the model stopped")
	}
	s.d.ended = true
	return nil
}

func (s *anthropicStream) start(e anthropicEvent) error {
	var block struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Text  string          `json:"text"`
		Think string          `json:"thinking"`
		Input json.RawMessage `json:"input"`
	}
	if e.Index == nil || !present(e.Block) {
		return malformed("content_block_start has no index or no block")
	}
	if err := decode(e.Block, &block); err != nil {
		return err
	}
	if *e.Index != len(s.blocks) {
		return outOfOrder("block %d begins where block %d should", *e.Index, len(s.blocks))
	}
	b := anthropicBlock{kind: block.Type, open: true}
	switch block.Type {
	case "text":
		b.part = s.d.begin(textPart)
		s.d.add(b.part, block.Text)
	case "thinking":
		b.part = s.d.begin(thinkingPart)
		s.d.add(b.part, block.Think)
	case "redacted_thinking":
		b.part = s.d.begin(thinkingPart)
		b.part.raw = e.Block
	case "tool_use":
		if block.Name == "" {
			return malformed("a call has no name")
		}
		b.part = s.d.beginCall(block.ID, block.Name)
		if present(block.Input) && string(block.Input) != "{}" {
			b.input = string(block.Input)
		}
	}
	s.blocks = append(s.blocks, b)
	return nil
}

// block returns the open block of an event.
func (s *anthropicStream) block(e anthropicEvent) (*anthropicBlock, error) {
	switch {
	case e.Index == nil:
		return nil, malformed("%s has no index", e.Type)
	case *e.Index < 0 || *e.Index >= len(s.blocks):
		return nil, outOfOrder("%s of block %d, which has not begun", e.Type, *e.Index)
	case !s.blocks[*e.Index].open:
		return nil, outOfOrder("%s of block %d, which has ended", e.Type, *e.Index)
	}
	return &s.blocks[*e.Index], nil
}

func (s *anthropicStream) delta(e anthropicEvent) error {
	b, err := s.block(e)
	switch {
	case err != nil:
		return err
	case e.Delta == nil:
		return malformed("content_block_delta has no delta")
	case b.part == nil:
		return nil
	}
	if kind := anthropicDeltas[e.Delta.Type]; kind != "" && kind != b.kind {
		return outOfOrder("%s in a block of type %s", e.Delta.Type, b.kind)
	}
	switch e.Delta.Type {
	case "text_delta":
		s.d.add(b.part, e.Delta.Text)
	case "thinking_delta":
		s.d.add(b.part, e.Delta.Thinking)
	case "input_json_delta":
		s.d.args(b.part, e.Delta.JSON)
	case "signature_delta":
		b.sign = append(b.sign, e.Delta.Signature...)
		s.d.moved = true
	}
	return nil
}

// anthropicDeltas names the type of block in which each delta may occur.
var anthropicDeltas = map[string]string{
	"text_delta": "text", "input_json_delta": "tool_use", "thinking_delta": "thinking", "signature_delta": "thinking",
}

func (s *anthropicStream) stop(e anthropicEvent) error {
	b, err := s.block(e)
	if err != nil {
		return err
	}
	b.open = false
	s.d.moved = true
	switch b.kind {
	case "thinking":
		raw, err := marshal(object{"type": "thinking", "thinking": b.part.text.String(), "signature": string(b.sign)})
		if err != nil {
			return malformed("thinking cannot be written again: %v", err)
		}
		b.part.raw = raw[:len(raw)-1] // without the encoder's line end
	case "tool_use":
		if b.part.text.Len() == 0 {
			s.d.args(b.part, b.input)
		}
		s.d.endCall(b.part)
	}
	return nil
}

func (s *anthropicStream) message(e anthropicEvent) error {
	if e.Delta == nil {
		return malformed("message_delta has no delta")
	}
	if e.Usage != nil {
		s.usage(e.Usage)
		s.d.got.Usage.Output = s.counts.Output.known() // that of message_start is a beginning only
	}
	if e.Delta.StopReason == nil || *e.Delta.StopReason == s.d.got.Reason {
		return nil
	}
	reason := *e.Delta.StopReason
	if s.d.stopped() {
		return outOfOrder("the model stopped for %s, and then for %s", s.d.got.Reason, reason)
	}
	stop := cmp.Or(anthropicStops[reason], Other)
	for i, b := range s.blocks {
		if b.open && !cutShort(stop) {
			return outOfOrder("the model stopped and block %d had not ended", i)
		}
	}
	s.d.stop(stop, reason)
	return nil
}

var anthropicStops = map[string]Stop{
	"end_turn": EndTurn, "stop_sequence": EndTurn, "tool_use": ToolCalls, "max_tokens": MaxTokens, "refusal": Refused,
	"model_context_window_exceeded": Overflow,
}

// usage takes what an event says of tokens; of each count the latest is valid.
func (s *anthropicStream) usage(u *anthropicUsage) {
	if u == nil {
		return
	}
	s.counts.update(u)
	output := s.d.got.Usage.Output
	s.d.got.Usage = s.counts.usage()
	s.d.got.Usage.Output = output
}

// update takes the counts that are in v.
func (u *anthropicUsage) update(v *anthropicUsage) {
	u.Input, u.Output = cmp.Or(v.Input, u.Input), cmp.Or(v.Output, u.Output)
	u.Written, u.Cached = cmp.Or(v.Written, u.Written), cmp.Or(v.Cached, u.Cached)
}

func (u *anthropicUsage) usage() Usage {
	all := Usage{Output: u.Output.known(), Written: u.Written.known(), Cached: u.Cached.known()}
	if u.Input != nil {
		all.Input = sum(u.Input, u.Written, u.Cached)
	}
	return all
}

// anthropic reads an event, or a message.
func (c *Counter) anthropic(data []byte) {
	var e struct {
		anthropicEvent
		Model string `json:"model"`
	}
	loose(data, &e)
	switch {
	case e.Type == "message_start" && e.Message != nil:
		c.model = e.Message.Model
		if u := e.Message.Usage; u != nil {
			u.Output = nil // a beginning only
			c.begun.update(u)
		}
	case e.Delta != nil:
		c.said(e.Delta.Text, e.Delta.Thinking, e.Delta.JSON)
		c.stopped = c.stopped || e.Delta.StopReason != nil
	case e.Type == "message":
		c.model, c.stopped = e.Model, true
	}
	if e.Usage != nil {
		c.begun.update(e.Usage)
	}
	c.usage = c.begun.usage()
}
