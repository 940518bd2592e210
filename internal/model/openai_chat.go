package model

// The chat completions protocol, as OpenAI and many gateways and local servers speak it. Sources: OpenAI's API
// reference, "Chat: create" and "Chat: streaming"; for reasoning_content DeepSeek's "Thinking mode" and Moonshot's
// "Use thinking models" (it goes back beside calls), for reasoning OpenRouter's "Reasoning tokens".

import (
	"encoding/json"
	"net/url"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// OpenAIChat is the name of the protocol POST /v1/chat/completions.
const OpenAIChat = "openai_chat"

var chatWire = wire{
	name: OpenAIChat, base: openaiWire.base, version: "/v1",
	path:    func(*Model) string { return "/chat/completions" },
	head:    bearer,
	encode:  chatRequest,
	decoder: func(d *draft) decoder { return &chatStream{d: d, calls: map[int]*part{}, ids: map[int]string{}} },
	count:   (*Counter).chat,
	limits:  slowLimits,
}

func chatRequest(m *Model, r Request) any {
	q := object{"model": m.Name, "stream": true, "stream_options": object{"include_usage": true}}
	// OpenAI's own models know the new name only, most other servers the old one.
	if u, err := url.Parse(m.BaseURL); m.BaseURL == "" || err == nil && u.Hostname() == "api.openai.com" {
		q["max_completion_tokens"] = r.MaxTokens
	} else {
		q["max_tokens"] = r.MaxTokens
	}
	if len(r.Tools) > 0 {
		tools := make([]object, len(r.Tools))
		for i, t := range r.Tools {
			tools[i] = object{"type": "function", "function": object{
				"name": t.Name, "description": t.Description, "parameters": t.schema(),
			}}
		}
		q["tools"] = tools
	}
	if r.Schema != nil {
		q["response_format"] = object{"type": "json_schema", "json_schema": object{"name": "answer", "schema": r.Schema}}
	}
	messages := []any{}
	if r.System != "" {
		messages = append(messages, chatMessage{Role: "system", Content: &r.System})
	}
	for _, msg := range r.Messages {
		messages = chatMessages(messages, msg)
	}
	q["messages"] = messages
	return q
}

// chatMessage is a message in the protocol's form. There are thousands, and a struct is encoded faster than a map.
type chatMessage struct {
	Role      Role           `json:"role"`
	Of        string         `json:"tool_call_id,omitempty"`
	Content   *string        `json:"content"`
	Calls     []chatToolCall `json:"tool_calls,omitempty"`
	Content2  string         `json:"reasoning_content,omitempty"`
	Reasoning string         `json:"reasoning,omitempty"`
}

type chatToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name string `json:"name"`
	Args string `json:"arguments"`
}

// chatMessages appends a message to out: every result is a message of its own, and what else was said follows.
func chatMessages(out []any, m Message) []any {
	text := ""
	said := chatMessage{Role: m.Role, Content: &text}
	for _, b := range m.Blocks {
		switch {
		case b.Result != nil:
			content := b.Result.said()
			out = append(out, chatMessage{Role: "tool", Of: b.Result.ID, Content: &content})
			continue
		case b.Call != nil:
			function := chatFunction{b.Call.Name, string(b.Call.input())}
			said.Calls = append(said.Calls, chatToolCall{b.Call.ID, "function", function})
			continue
		}
		if raw := b.own(OpenAIChat); raw != nil {
			var thought struct {
				Content2  string `json:"reasoning_content"`
				Reasoning string `json:"reasoning"`
			}
			if json.Unmarshal(raw, &thought) == nil {
				said.Content2, said.Reasoning = thought.Content2, thought.Reasoning
			}
		}
		if words := b.spoken(OpenAIChat); words != "" {
			if text != "" {
				text += "\n\n"
			}
			text += words
		}
	}
	switch {
	case text == "" && said.Calls == nil:
		return out
	case said.Calls == nil: // what was thought is given back beside calls only
		said.Content2, said.Reasoning = "", ""
	case text == "":
		said.Content = nil
	}
	return append(out, said)
}

type chatChunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chatUsage struct {
	Input   *tally `json:"prompt_tokens"` // those of the cache among them
	Output  *tally `json:"completion_tokens"`
	Hit     *tally `json:"prompt_cache_hit_tokens"` // DeepSeek
	Details *struct {
		Cached  *tally `json:"cached_tokens"`
		Written *tally `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

func (u *chatUsage) usage() Usage {
	all := Usage{Input: u.Input.known(), Output: u.Output.known(), Cached: u.Hit.known()}
	if u.Details != nil {
		all.Written = u.Details.Written.known()
		if u.Details.Cached != nil {
			all.Cached = u.Details.Cached.known()
		}
	}
	return all
}

type chatChoice struct {
	Index int `json:"index"`
	Delta struct {
		Content   string `json:"content"`
		Refusal   string `json:"refusal"`
		Content2  string `json:"reasoning_content"`
		Reasoning string `json:"reasoning"`
		Calls     []struct {
			Index    *int         `json:"index"`
			ID       string       `json:"id"`
			Function chatFunction `json:"function"`
		} `json:"tool_calls"`
	} `json:"delta"`
	Finish string          `json:"finish_reason"`
	Error  json.RawMessage `json:"error"`
}

// chatStream is the state of one stream: pieces, finish_reason, usage, [DONE]. A call is complete at the finish: the
// protocol has no end of a call.
type chatStream struct {
	d       *draft
	text    *part
	think   *part
	field   string         // in which the thinking comes
	calls   map[int]*part  // the last of each index
	ids     map[int]string // as the provider gave them
	all     []*part        // the calls in their order
	refused bool
}

func (s *chatStream) event(_ string, data []byte) error {
	if string(data) == "[DONE]" {
		if !s.d.stopped() {
			return outOfOrder("the stream is done, and no finish_reason has come")
		}
		s.d.ended = true
		return nil
	}
	var c chatChunk
	if err := decode(data, &c); err != nil {
		return err
	}
	if present(c.Error) {
		return provided(data)
	}
	if c.Choices == nil && c.Usage == nil {
		return malformed("a piece of the answer has no choices: \"%s\"", head(data, 120))
	}
	if s.d.got.ID == "" {
		s.d.got.ID, s.d.got.Model = c.ID, c.Model
	}
	if u := c.Usage; u != nil {
		s.d.got.Usage = u.usage()
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // only one was asked for
		}
		if present(choice.Error) {
			return provided(choice.Error)
		}
		if err := s.choice(choice); err != nil {
			return err
		}
	}
	return nil
}

func (s *chatStream) choice(c chatChoice) error {
	text, refusal, thinking := c.Delta.Content, c.Delta.Refusal, c.Delta.Content2
	field := "reasoning_content"
	if thinking == "" {
		thinking, field = c.Delta.Reasoning, "reasoning"
	}
	if s.d.stopped() && (text+refusal+thinking != "" || len(c.Delta.Calls) > 0) {
		return outOfOrder("more of the answer after its finish_reason")
	}
	if thinking != "" {
		if s.think == nil {
			s.think, s.field = s.d.begin(thinkingPart), field
		}
		s.d.add(s.think, thinking)
	}
	if refusal != "" {
		s.refused = true
		text += refusal
	}
	if text != "" {
		if s.text == nil {
			s.text = s.d.begin(textPart)
		}
		s.d.add(s.text, text)
	}
	for i, call := range c.Delta.Calls {
		index := i
		if call.Index != nil {
			index = *call.Index
		}
		if err := s.call(index, call.ID, call.Function.Name, call.Function.Args); err != nil {
			return err
		}
	}
	if c.Finish == "" {
		return nil
	}
	return s.finish(c.Finish)
}

func (s *chatStream) call(index int, id, name, args string) error {
	p := s.calls[index]
	if p != nil && name != "" && id != "" && id != s.ids[index] && p.text.Len() > 0 {
		// Some servers give every call of an answer the same index: a new id behind a whole object is the next one.
		if _, ok := argsObject(p.text.String()); ok {
			p = nil
		}
	}
	switch {
	case p == nil && name == "":
		return outOfOrder("a piece of call %d, which has not begun", index)
	case p == nil:
		p = s.d.beginCall(id, name)
		s.calls[index] = p
		s.all = append(s.all, p)
		s.ids[index] = id
	case id != "" && id != s.ids[index]:
		return outOfOrder("two calls in the place of call %d", index)
	}
	s.d.args(p, args)
	return nil
}

func (s *chatStream) finish(reason string) error {
	if s.d.stopped() {
		if reason != s.d.got.Reason {
			return outOfOrder("the model stopped for %s, and then for %s", s.d.got.Reason, reason)
		}
		return nil
	}
	if s.think != nil {
		s.think.raw, _ = json.Marshal(map[string]string{s.field: s.think.text.String()}) // cannot fail: strings
	}
	stop := Other
	switch reason {
	case "stop":
		stop = EndTurn
	case "tool_calls", "function_call":
		stop = ToolCalls
		for _, p := range s.all {
			s.d.endCall(p)
		}
	case "length":
		stop = MaxTokens
	case "content_filter":
		stop = Refused
	case "error", "insufficient_system_resource":
		return newError(failure.ServerOverload, "the provider broke off the answer (finish_reason %s)", reason)
	}
	if s.refused && stop == EndTurn {
		stop = Refused
	}
	s.d.stop(stop, reason)
	return nil
}

// chat reads a piece of an answer, or all of it.
func (c *Counter) chat(data []byte) {
	var e chatChunk
	loose(data, &e)
	if e.Model != "" {
		c.model = e.Model
	}
	for _, choice := range e.Choices {
		d := choice.Delta
		c.said(d.Content, d.Refusal, d.Content2)
		if d.Content2 == "" {
			c.said(d.Reasoning)
		}
		for _, call := range d.Calls {
			c.said(call.Function.Args)
		}
		c.stopped = c.stopped || choice.Finish != ""
	}
	if e.Usage != nil {
		c.usage = e.Usage.usage()
	}
}

// deref returns what p points to, and the zero value for nil: for a field that is missing or null.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
