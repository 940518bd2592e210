package model

// OpenAI's Responses API. Sources: OpenAI's API reference, "Responses: create" and "Responses: streaming events"; the
// guides "Function calling", "Structured outputs", "Reasoning" (items with encrypted_content go back when nothing is
// stored), "Prompt caching" (prompt_cache_key).

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// OpenAI is the name of the protocol POST /v1/responses.
const OpenAI = "openai"

var openaiWire = wire{
	name: OpenAI, base: "https://api.openai.com", version: "/v1",
	path:    func(*Model) string { return "/responses" },
	head:    bearer,
	encode:  openaiRequest,
	decoder: func(d *draft) decoder { return &openaiStream{d: d, items: map[int]*openaiItem{}} },
	count:   (*Counter).openai,
	// It shows nothing of what a model reasons, also between two items.
	limits: Limits{Connect: 2 * time.Minute, Think: defaultWord, Silent: defaultWord, Word: defaultWord},
}

func bearer(h http.Header, m *Model) {
	if m.Key != "" {
		h.Set("Authorization", "Bearer "+m.Key)
	}
}

func openaiRequest(m *Model, r Request) any {
	q := object{
		"model": m.Name, "max_output_tokens": r.MaxTokens, "stream": true, "store": false,
		"prompt_cache_key": conversationKey(m, r),
	}
	if reasons(m.Name) {
		q["include"] = []string{"reasoning.encrypted_content"} // an error with models that do not reason
	}
	if r.System != "" {
		q["instructions"] = r.System
	}
	if len(r.Tools) > 0 {
		tools := make([]object, len(r.Tools))
		for i, t := range r.Tools {
			// strict would demand that every property is required.
			tools[i] = object{
				"type": "function", "name": t.Name, "description": t.Description, "parameters": t.schema(),
				"strict": false,
			}
		}
		q["tools"] = tools
	}
	if r.Schema != nil {
		q["text"] = object{"format": object{"type": "json_schema", "name": "answer", "schema": r.Schema, "strict": false}}
	}
	input := []any{}
	for _, msg := range r.Messages {
		input = append(input, openaiItems(msg)...)
	}
	q["input"] = input
	return q
}

// conversationKey is the same for all turns of a conversation, so that they reach the machine that has its prefix
// cached.
func conversationKey(m *Model, r Request) string {
	h := sha256.New()
	h.Write([]byte(m.Name + "\x00" + r.System))
	if len(r.Messages) > 0 {
		for _, b := range r.Messages[0].Blocks {
			h.Write([]byte("\x00" + b.Text))
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// reasons reports whether a model reasons. Those that do not are older than GPT-5, or made for chatting.
func reasons(name string) bool {
	return !strings.HasPrefix(name, "gpt-3") && !strings.HasPrefix(name, "gpt-4") &&
		!strings.HasPrefix(name, "chatgpt-") && !strings.HasSuffix(name, "-chat-latest")
}

// openaiInput is an item of the conversation. There are thousands, and a struct is encoded faster than a map.
type openaiInput struct {
	Type    string  `json:"type"`
	Role    Role    `json:"role,omitempty"`
	Content string  `json:"content,omitempty"`
	Phase   string  `json:"phase,omitempty"`
	CallID  string  `json:"call_id,omitempty"`
	Name    string  `json:"name,omitempty"`
	Args    string  `json:"arguments,omitempty"`
	Output  *string `json:"output,omitempty"`
}

// openaiItems encodes a message. Reasoning goes back only before what it led to: alone it is refused.
func openaiItems(m Message) []any {
	items := []any{}
	for _, b := range m.Blocks {
		if b.Result != nil {
			said := b.Result.said()
			items = append(items, openaiInput{Type: "function_call_output", CallID: b.Result.ID, Output: &said})
		}
	}
	solid := len(items)
	for _, b := range m.Blocks {
		raw := b.own(OpenAI)
		switch text := b.spoken(OpenAI); {
		case b.Result != nil:
			continue
		case b.Call != nil:
			items = append(items, openaiInput{
				Type: "function_call", CallID: b.Call.ID, Name: b.Call.Name, Args: string(b.Call.input()),
			})
		case text != "":
			item := openaiInput{Type: "message", Role: m.Role, Content: text}
			var said struct{ Phase string }
			if raw != nil && json.Unmarshal(raw, &said) == nil {
				item.Phase = said.Phase
			}
			items = append(items, item)
		case raw != nil:
			items = append(items, raw)
			continue
		default:
			continue
		}
		solid = len(items)
	}
	return items[:solid]
}

type openaiEvent struct {
	Type     string          `json:"type"`
	Sequence *int64          `json:"sequence_number"`
	Output   *int            `json:"output_index"`
	Content  *int            `json:"content_index"`
	Summary  *int            `json:"summary_index"`
	Item     json.RawMessage `json:"item"`
	Delta    string          `json:"delta"`
	Text     *string         `json:"text"`
	Refusal  *string         `json:"refusal"`
	Args     *string         `json:"arguments"`
	Response *openaiResponse `json:"response"`
}

type openaiResponse struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *openaiUsage `json:"usage"`
}

type openaiUsage struct {
	Input   *tally `json:"input_tokens"` // those of the cache among them
	Output  *tally `json:"output_tokens"`
	Details struct {
		Cached  *tally `json:"cached_tokens"`
		Written *tally `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
}

func (u *openaiUsage) usage() Usage {
	return Usage{
		Input: u.Input.known(), Output: u.Output.known(),
		Cached: u.Details.Cached.known(), Written: u.Details.Written.known(),
	}
}

type openaiOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Args   string `json:"arguments"`
	Status string `json:"status"`
	Phase  string `json:"phase"`
	Parts  []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

// openaiStream is the state of one stream: response.created, items by output_index with their parts, and one of
// response.completed, .incomplete, .failed. Other events are ignored.
type openaiStream struct {
	d        *draft
	begun    bool
	sequence *int64
	items    map[int]*openaiItem
	refused  bool
}

type openaiItem struct {
	kind  string
	done  bool
	part  *part         // of a call or reasoning
	texts map[int]*part // of a message, by content_index
	said  map[int]bool  // of reasoning: which of its texts were begun, for the space between
}

func (s *openaiStream) event(_ string, data []byte) error {
	var e openaiEvent
	if err := decode(data, &e); err != nil {
		return err
	}
	switch {
	case e.Type == "" || e.Type == "error":
		if f := reported(data); e.Type == "" && len(f.codes) == 0 && !f.meant {
			return malformed("an event of the stream has no type: \"%s\"", head(data, 120))
		}
		return openaiError(data)
	case e.Sequence != nil && s.sequence != nil && *e.Sequence <= *s.sequence:
		return outOfOrder("event %d after event %d", *e.Sequence, *s.sequence)
	}
	if e.Sequence != nil {
		s.sequence = e.Sequence
	}
	switch e.Type {
	case "response.created":
		if s.begun {
			return outOfOrder("response.created came before")
		}
		s.begun = true
		if e.Response != nil {
			s.d.got.ID, s.d.got.Model = e.Response.ID, e.Response.Model
		}
		return nil
	case "response.completed", "response.incomplete", "response.failed":
		return s.end(e)
	case "response.output_item.added":
		return s.added(e)
	case "response.output_item.done":
		return s.itemDone(e)
	}
	take := openaiTakes[e.Type]
	if take.kind == "" {
		return nil
	}
	item, err := s.item(e)
	if err != nil || item.kind == "" {
		return err
	}
	if item.kind != take.kind {
		return outOfOrder("%s of an item of type %s", e.Type, item.kind)
	}
	return take.do(s, item, e)
}

// openaiError reads an error event: its type is "error" itself, and so no code.
func openaiError(data []byte) error {
	var e struct {
		Code    any             `json:"code"`
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	if err := decode(data, &e); err != nil {
		return err
	}
	if present(e.Error) {
		return provided(data)
	}
	plain, err := marshal(object{"code": e.Code, "message": e.Message})
	if err != nil {
		return malformed("an error that cannot be read: %s", whyNot(err))
	}
	return provided(plain)
}

// item returns the open item of an event.
func (s *openaiStream) item(e openaiEvent) (*openaiItem, error) {
	if e.Output == nil {
		return nil, malformed("%s has no output_index", e.Type)
	}
	item := s.items[*e.Output]
	switch {
	case item == nil:
		return nil, outOfOrder("%s of item %d, which has not begun", e.Type, *e.Output)
	case item.done:
		return nil, outOfOrder("%s of item %d, which is done", e.Type, *e.Output)
	}
	return item, nil
}

func (s *openaiStream) added(e openaiEvent) error {
	var out openaiOutput
	if e.Output == nil || !present(e.Item) {
		return malformed("%s has no output_index or no item", e.Type)
	}
	if err := decode(e.Item, &out); err != nil {
		return err
	}
	if s.items[*e.Output] != nil {
		return outOfOrder("item %d began twice", *e.Output)
	}
	item := &openaiItem{}
	s.items[*e.Output] = item
	s.d.moved = true
	switch out.Type {
	case "message":
		item.kind, item.texts = out.Type, map[int]*part{}
	case "reasoning":
		item.kind, item.part, item.said = out.Type, s.d.begin(thinkingPart), map[int]bool{}
	case "function_call":
		if out.Name == "" {
			return malformed("a call has no name")
		}
		item.kind, item.part = out.Type, s.d.beginCall(out.CallID, out.Name)
	}
	return nil
}

// openaiTakes names the events of an item's parts that are read, and the type of item to which they belong.
var openaiTakes = map[string]struct {
	kind string
	do   func(*openaiStream, *openaiItem, openaiEvent) error
}{
	"response.output_text.delta":             {"message", (*openaiStream).textDelta},
	"response.output_text.done":              {"message", (*openaiStream).textDone},
	"response.refusal.delta":                 {"message", (*openaiStream).refusalDelta},
	"response.refusal.done":                  {"message", (*openaiStream).refusalDone},
	"response.reasoning_summary_text.delta":  {"reasoning", (*openaiStream).thinking},
	"response.reasoning_text.delta":          {"reasoning", (*openaiStream).thinking},
	"response.function_call_arguments.delta": {"function_call", (*openaiStream).argsDelta},
	"response.function_call_arguments.done":  {"function_call", (*openaiStream).argsDone},
}

func (s *openaiStream) text(item *openaiItem, e openaiEvent) *part {
	index := deref(e.Content)
	if item.texts[index] == nil {
		item.texts[index] = s.d.begin(textPart)
	}
	return item.texts[index]
}

func (s *openaiStream) textDelta(item *openaiItem, e openaiEvent) error {
	s.d.add(s.text(item, e), e.Delta)
	return nil
}

func (s *openaiStream) textDone(item *openaiItem, e openaiEvent) error {
	if e.Text == nil {
		return malformed("%s has no text", e.Type)
	}
	return s.same(s.text(item, e), *e.Text, e.Type)
}

func (s *openaiStream) refusalDelta(item *openaiItem, e openaiEvent) error {
	s.refused = true
	return s.textDelta(item, e)
}

func (s *openaiStream) refusalDone(item *openaiItem, e openaiEvent) error {
	s.refused = true
	if e.Refusal == nil {
		return malformed("%s has no refusal", e.Type)
	}
	return s.same(s.text(item, e), *e.Refusal, e.Type)
}

func (s *openaiStream) thinking(item *openaiItem, e openaiEvent) error {
	index := deref(cmp.Or(e.Summary, e.Content))
	if !item.said[index] && item.part.text.Len() > 0 {
		s.d.add(item.part, "\n\n")
	}
	item.said[index] = true
	s.d.add(item.part, e.Delta)
	return nil
}

func (s *openaiStream) argsDelta(item *openaiItem, e openaiEvent) error {
	if item.part.whole {
		return outOfOrder("arguments of a call that was complete")
	}
	s.d.args(item.part, e.Delta)
	return nil
}

func (s *openaiStream) argsDone(item *openaiItem, e openaiEvent) error {
	if e.Args == nil {
		return malformed("%s has no arguments", e.Type)
	}
	return s.call(item, *e.Args, e.Type)
}

// same compares what came in pieces with the whole that the provider repeats at the end. Without pieces the whole is
// the text.
func (s *openaiStream) same(p *part, whole, event string) error {
	if p.text.Len() == 0 {
		if p.kind == callPart {
			s.d.args(p, whole)
		} else {
			s.d.add(p, whole)
		}
		return nil
	}
	if p.text.String() != whole {
		return outOfOrder("%s says other words than its pieces", event)
	}
	return nil
}

// call handles the complete arguments.
func (s *openaiStream) call(item *openaiItem, args, event string) error {
	if err := s.same(item.part, args, event); err != nil || item.part.whole {
		return err
	}
	s.d.endCall(item.part)
	return nil
}

func (s *openaiStream) itemDone(e openaiEvent) error {
	var out openaiOutput
	item, err := s.item(e)
	switch {
	case err != nil:
		return err
	case !present(e.Item):
		return malformed("%s has no item", e.Type)
	}
	if err := decode(e.Item, &out); err != nil {
		return err
	}
	item.done = true
	s.d.moved = true
	switch item.kind {
	case "function_call":
		if out.Status == "incomplete" || out.Status == "in_progress" { // both are said of a call that max_output_tokens cut
			item.part.whole = false
			return nil
		}
		return s.call(item, out.Args, e.Type)
	case "reasoning":
		item.part.raw = append(json.RawMessage(nil), e.Item...)
	case "message":
		for i, said := range out.Parts { // of what came in no pieces, this is the text
			if item.texts[i] != nil || said.Text+said.Refusal == "" {
				continue
			}
			item.texts[i] = s.d.begin(textPart)
			s.d.add(item.texts[i], said.Text+said.Refusal)
			s.refused = s.refused || said.Refusal != ""
		}
		for _, p := range item.texts {
			if out.Phase != "" {
				p.raw, _ = json.Marshal(object{"phase": out.Phase}) // cannot fail: a string
			}
		}
	}
	return nil
}

// end reads the terminal event. A complete answer has all its items done; one that was cut short may not.
func (s *openaiStream) end(e openaiEvent) error {
	r := e.Response
	if r == nil {
		return malformed("%s has no response", e.Type)
	}
	if s.d.got.ID == "" {
		s.d.got.ID, s.d.got.Model = r.ID, r.Model
	}
	if u := r.Usage; u != nil {
		s.d.got.Usage = u.usage()
	}
	s.d.ended = true
	reason := ""
	if r.Incomplete != nil {
		reason = r.Incomplete.Reason
	}
	switch {
	case e.Type == "response.failed":
		if !present(r.Error) {
			return newError(failure.Unknown, "the provider says that the answer failed, and not why")
		}
		return provided(r.Error)
	// some servers report a cut answer as completed, with details
	case e.Type == "response.incomplete" || reason != "":
		stops := map[string]Stop{"max_output_tokens": MaxTokens, "content_filter": Refused}
		s.d.stop(cmp.Or(stops[reason], Other), reason)
		return nil
	}
	for i, item := range s.items {
		if !item.done && item.kind != "" {
			return outOfOrder("the answer is complete and item %d is not done", i)
		}
	}
	switch {
	case s.d.calls() > 0:
		s.d.stop(ToolCalls, "completed")
	case s.refused:
		s.d.stop(Refused, "refusal")
	default:
		s.d.stop(EndTurn, "completed")
	}
	return nil
}

// openai reads an event, or a response.
func (c *Counter) openai(data []byte) {
	var e struct {
		Type     string          `json:"type"`
		Object   string          `json:"object"`
		Delta    string          `json:"delta"`
		Response *openaiResponse `json:"response"`
	}
	loose(data, &e)
	c.said(e.Delta)
	r := e.Response
	if e.Object == "response" {
		r = new(openaiResponse)
		loose(data, r)
	}
	if r == nil {
		return
	}
	c.model = cmp.Or(r.Model, c.model)
	if r.Usage != nil {
		c.usage = r.Usage.usage()
	}
	switch e.Type {
	case "", "response.completed", "response.incomplete", "response.failed":
		c.stopped = true
	}
}
