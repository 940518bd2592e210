package model

// Google's Gemini API. Sources: Google AI for Developers, "Generating content" (streamGenerateContent, FinishReason,
// UsageMetadata), "Function calling", "Structured output" (responseJsonSchema), "Thinking", "Thought signatures"
// (each goes back in the part it came with, parts are not merged across one).

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// Gemini is the name of the protocol POST /v1beta/models/NAME:streamGenerateContent?alt=sse.
const Gemini = "gemini"

var geminiWire = wire{
	name: Gemini, base: "https://generativelanguage.googleapis.com", version: "/v1beta", always: true,
	path: func(m *Model) string {
		return "/models/" + url.PathEscape(strings.TrimPrefix(m.Name, "models/")) + ":streamGenerateContent?alt=sse"
	},
	head: func(h http.Header, m *Model) {
		if m.Key != "" {
			h.Set("X-Goog-Api-Key", m.Key)
		}
	},
	encode:  geminiRequest,
	decoder: func(d *draft) decoder { return &geminiStream{d: d} },
	count:   (*Counter).gemini,
	limits:  slowLimits,
}

func geminiRequest(m *Model, r Request) any {
	config := object{"maxOutputTokens": r.MaxTokens}
	if name := strings.TrimPrefix(m.Name, "models/"); strings.HasPrefix(name, "gemini-") &&
		!strings.HasPrefix(name, "gemini-1") && !strings.HasPrefix(name, "gemini-2.0") {
		config["thinkingConfig"] = object{"includeThoughts": true} // else minutes may pass without a word
	}
	if r.Schema != nil {
		config["responseMimeType"] = "application/json"
		config["responseJsonSchema"] = r.Schema
	}
	q := object{"generationConfig": config}
	if r.System != "" {
		q["systemInstruction"] = object{"parts": []object{{"text": r.System}}}
	}
	if len(r.Tools) > 0 {
		tools := make([]object, len(r.Tools))
		for i, t := range r.Tools {
			tools[i] = object{"name": t.Name, "description": t.Description, "parametersJsonSchema": t.schema()}
		}
		q["tools"] = []object{{"functionDeclarations": tools}}
	}
	contents := []object{}
	for _, msg := range r.Messages {
		role := "user"
		if msg.Role == Assistant {
			role = "model"
		}
		if parts := geminiParts(msg); len(parts) > 0 {
			contents = append(contents, object{"role": role, "parts": parts})
		}
	}
	q["contents"] = contents
	return q
}

// geminiContent is a part of a message. There are thousands, and a struct is encoded faster than a map.
type geminiContent struct {
	Text      *string      `json:"text,omitempty"`
	Call      *geminiNamed `json:"functionCall,omitempty"`
	Result    *geminiNamed `json:"functionResponse,omitempty"`
	Signature string       `json:"thoughtSignature,omitempty"`
}

type geminiNamed struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Args     json.RawMessage   `json:"args,omitempty"`
	Response map[string]string `json:"response,omitempty"`
}

// geminiParts encodes a message. Thoughts do not go back; their signatures do, in the parts they came with.
func geminiParts(m Message) []geminiContent {
	var parts []geminiContent
	for _, b := range m.Blocks {
		var part geminiContent
		raw := b.own(Gemini)
		switch text := b.spoken(Gemini); {
		case b.Result != nil:
			field := "output"
			if b.Result.Failed {
				field = "error"
			}
			answer := map[string]string{field: b.Result.Text}
			part.Result = &geminiNamed{ID: geminiID(b.Result.ID), Name: b.Result.Name, Response: answer}
		case b.Call != nil:
			part.Call = &geminiNamed{ID: geminiID(b.Call.ID), Name: b.Call.Name, Args: b.Call.input()}
		case b.Thinking != "" && raw != nil:
			continue
		case text != "" || raw != nil:
			part.Text = &text
		default:
			continue
		}
		var signed struct {
			Signature string `json:"thoughtSignature"`
		}
		if raw != nil && json.Unmarshal(raw, &signed) == nil {
			part.Signature = signed.Signature
		}
		parts = append(parts, part)
	}
	return parts
}

// geminiID returns the ID of a call for the provider: none, if it was made here. Models that give none do not know
// the field.
func geminiID(id string) string {
	if strings.HasPrefix(id, ownID) {
		return ""
	}
	return id
}

type geminiChunk struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []geminiPart `json:"parts"`
		} `json:"content"`
		Finish  string `json:"finishReason"`
		Message string `json:"finishMessage"`
	} `json:"candidates"`
	Feedback *struct {
		Block   string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *geminiUsage    `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	ID    string          `json:"responseId"`
	Error json.RawMessage `json:"error"`
}

type geminiUsage struct {
	Prompt   *tally `json:"promptTokenCount"` // those of the cache among them
	Tools    *tally `json:"toolUsePromptTokenCount"`
	Cached   *tally `json:"cachedContentTokenCount"`
	Answer   *tally `json:"candidatesTokenCount"`
	Thoughts *tally `json:"thoughtsTokenCount"`
}

func (u *geminiUsage) usage() Usage {
	// A count of zero is not written (proto3's JSON): beside others it is zero, not unknown.
	zero := new(tally)
	return Usage{Input: sum(u.Prompt, u.Tools), Output: sum(u.Answer, u.Thoughts), Cached: sum(zero, u.Cached)}
}

type geminiPart struct {
	Text      *string      `json:"text"`
	Thought   bool         `json:"thought"`
	Signature string       `json:"thoughtSignature"`
	Call      *geminiNamed `json:"functionCall"`
}

// geminiStream is the state of one stream: pieces, the last of which has a finishReason, and the end of the body.
// There is no terminal event after it, so what follows is read to the end.
type geminiStream struct {
	d    *draft
	open *part // text or thinking that the next part may go on with
}

func (s *geminiStream) event(_ string, data []byte) error {
	var c geminiChunk
	if err := decode(data, &c); err != nil {
		if f := reported(data); f.meant { // an error in an array, as the API writes it outside streams
			return f.error()
		}
		return err
	}
	if present(c.Error) {
		return provided(data)
	}
	if c.Candidates == nil && c.Feedback == nil && c.Usage == nil {
		return malformed("a piece of the answer has no candidates: \"%s\"", head(data, 120))
	}
	s.d.got.ID, s.d.got.Model = cmp.Or(c.ID, s.d.got.ID), cmp.Or(c.Model, s.d.got.Model)
	if u := c.Usage; u != nil {
		s.d.got.Usage = u.usage()
	}
	for _, candidate := range c.Candidates {
		if candidate.Index != 0 {
			continue // only one was asked for
		}
		for _, p := range candidate.Content.Parts {
			if err := s.part(p); err != nil {
				return err
			}
		}
		if candidate.Finish != "" {
			if err := s.finish(candidate.Finish, candidate.Message); err != nil {
				return err
			}
		}
	}
	if f := c.Feedback; f != nil && f.Block != "" && !s.d.stopped() {
		s.d.stop(Refused, f.Block)
	}
	return nil
}

func (s *geminiStream) part(p geminiPart) error {
	text := deref(p.Text)
	if s.d.stopped() && (text != "" || p.Call != nil) {
		return outOfOrder("more of the answer after its finishReason")
	}
	var signature json.RawMessage
	if p.Signature != "" {
		signature, _ = json.Marshal(object{"thoughtSignature": p.Signature}) // cannot fail: a string
	}
	if p.Call != nil {
		if p.Call.Name == "" {
			return malformed("a call has no name")
		}
		s.open = nil
		call := s.d.beginCall(p.Call.ID, p.Call.Name)
		call.raw = signature
		if present(p.Call.Args) {
			s.d.args(call, string(p.Call.Args))
		}
		s.d.endCall(call)
		return nil
	}
	if p.Text == nil || s.d.stopped() || text == "" && signature == nil {
		return nil // a kind of part that was not asked for, or nothing
	}
	kind := textPart
	if p.Thought {
		kind = thinkingPart
	}
	if s.open == nil || s.open.kind != kind || signature != nil {
		s.open = s.d.begin(kind)
	}
	s.d.add(s.open, text)
	if signature != nil {
		s.open.raw = signature
		s.open = nil
	}
	return nil
}

func (s *geminiStream) finish(reason, message string) error {
	if s.d.stopped() {
		if reason != s.d.got.Reason {
			return outOfOrder("the model stopped for %s, and then for %s", s.d.got.Reason, reason)
		}
		return nil
	}
	stop := cmp.Or(geminiStops[reason], Other)
	switch {
	case slices.Contains(geminiSlips, reason):
		return newError(failure.StreamFailure, "the model made a mistake in its answer (%s) %s", reason, message)
	case stop == EndTurn && s.d.calls() > 0: // the protocol has no reason of its own for calls
		stop = ToolCalls
	}
	s.d.stop(stop, reason)
	return nil
}

var geminiStops = map[string]Stop{
	"STOP": EndTurn, "MAX_TOKENS": MaxTokens, "SAFETY": Refused, "RECITATION": Refused, "LANGUAGE": Refused,
	"BLOCKLIST": Refused, "PROHIBITED_CONTENT": Refused, "SPII": Refused,
}

// geminiSlips are the finish reasons of an answer that the provider itself could not read: the next may be better.
var geminiSlips = []string{"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"}

// gemini reads a piece of an answer, or all of it: one piece, or an array of pieces.
func (c *Counter) gemini(data []byte) {
	if array := bytes.TrimSpace(data); len(array) > 0 && array[0] == '[' {
		var pieces []json.RawMessage
		loose(array, &pieces)
		for _, p := range pieces {
			c.gemini(p)
		}
		return
	}
	var e geminiChunk
	loose(data, &e)
	c.model = cmp.Or(e.Model, c.model)
	for _, candidate := range e.Candidates {
		for _, p := range candidate.Content.Parts {
			c.said(deref(p.Text))
			if p.Call != nil {
				c.said(string(p.Call.Args))
			}
		}
		c.stopped = c.stopped || candidate.Finish != ""
	}
	c.stopped = c.stopped || e.Feedback != nil && e.Feedback.Block != ""
	if e.Usage != nil {
		c.usage = e.Usage.usage()
	}
}
