package native

// The transcript and the raw stream of a turn, and the removal of secrets from both and from requests.

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A transcript removes secrets from what is written down. It belongs to the loop's goroutine.
type transcript struct {
	to      func(agent.Line)
	secrets *redact.Set
}

func (j *transcript) clean(s string) string { return j.secrets.String(s) }

func (j *transcript) note(kind string, data map[string]any) {
	if j.to == nil {
		return
	}
	for key, v := range data {
		switch v := v.(type) {
		case string:
			data[key] = j.clean(v)
		case []string:
			data[key] = j.cleanAll(v)
		case json.RawMessage:
			data[key] = j.cleanJSON(v)
		case *agent.Control:
			if v != nil {
				data[key] = j.cleanControl(*v)
			}
		}
	}
	j.to(agent.Line{Type: kind, Data: data})
}

func (j *transcript) notice(text string) { j.note("notice", map[string]any{"text": text}) }

// cleanJSON returns raw without secrets: as JSON if it stays valid, else as a string.
func (j *transcript) cleanJSON(raw json.RawMessage) any {
	c := json.RawMessage(j.secrets.Bytes(raw))
	if !json.Valid(c) {
		return strings.ToValidUTF8(string(c), "\uFFFD")
	}
	return c
}

func (j *transcript) cleanControl(c agent.Control) agent.Control {
	c.Summary, c.RootCause = j.clean(c.Summary), j.clean(c.RootCause)
	c.VerifiedCommands, c.Touched = j.cleanAll(c.VerifiedCommands), j.cleanAll(c.Touched)
	return c
}

func (j *transcript) cleanAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = j.clean(s)
	}
	return out
}

// cleanAnswer returns a without secrets, because its blocks go back to the model. A block of the provider's own bytes
// that contains one is sent in our own form instead.
func (j *transcript) cleanAnswer(a model.Answer) model.Answer {
	for i := range a.Blocks {
		b := &a.Blocks[i]
		if _, found := j.secrets.Find(b.Raw); found {
			b.Raw, b.Provider = nil, ""
		}
		b.Text, b.Thinking = j.clean(b.Text), j.clean(b.Thinking)
		if b.Call != nil {
			c := *b.Call // the tool got what was meant
			if c.Args = j.secrets.Bytes(c.Args); !isObject(c.Args) {
				c.Args = json.RawMessage("{}")
			}
			b.Call = &c
		}
	}
	a.Broken = slices.Clone(a.Broken)
	for i := range a.Broken { // whole ones go back too
		a.Broken[i].Args = j.secrets.Bytes(a.Broken[i].Args)
	}
	return a
}

// noteSaid writes down what the model said and thought.
func (l *loop) noteSaid(a model.Answer) {
	for _, b := range a.Blocks {
		if b.Call != nil {
			continue
		}
		if strings.TrimSpace(b.Thinking) != "" {
			l.note("thinking", map[string]any{"text": b.Thinking})
		}
		if strings.TrimSpace(b.Text) != "" {
			l.note("text", map[string]any{"text": b.Text})
		}
	}
}

// noteRequest writes down one request, without its content.
func (l *loop) noteRequest(n int, req model.Request, x exchange, took time.Duration) {
	u := x.answer.Usage
	data := map[string]any{
		"n": n, "provider": agent.Null(l.a.Provider), "model": agent.Null(l.a.Model),
		"messages": len(req.Messages), "tools": len(req.Tools),
		"input_tokens": u.Input, "output_tokens": u.Output, "cached_tokens": u.Cached, "written_tokens": u.Written,
		"cost_usd": nil, "ms": took.Milliseconds(), "stop": agent.Null(string(x.stop)),
		"status": nil,
	}
	if usd, all := l.meter.price(u); all {
		data["cost_usd"] = usd
	}
	if x.answer.ID != "" {
		data["answer"] = x.answer.ID
	}
	e, ofModel := errors.AsType[*model.Error](x.err)
	switch {
	case ofModel:
		data["kind"], data["error"] = e.Kind, oneLine(e.Message)
		if e.Status != 0 {
			data["status"] = e.Status
		}
	case x.err != nil:
		data["error"] = oneLine(x.err.Error())
	case x.refused != "":
		data["error"] = "ended early: " + oneLine(x.refused)
	default:
		data["status"] = 200
	}
	l.note("request", data)
}

// keepRaw writes the answer as it was understood to the raw stream, as one line of JSON. The owner of the stream
// removes secrets.
func (l *loop) keepRaw(n int, x exchange) {
	if l.r.Raw == nil {
		return
	}
	line, err := json.Marshal(map[string]any{
		"n": n, "id": x.answer.ID, "model": x.answer.Model, "stop": x.stop, "reason": x.answer.Reason,
		"blocks": x.answer.Blocks, "broken": brokenText(x.answer.Broken), "usage": x.answer.Usage,
	})
	if err == nil {
		_, err = l.r.Raw.Write(append(line, '\n'))
	}
	if err != nil {
		l.r.Raw = nil
		l.notice("the raw stream cannot be kept: " + err.Error())
	}
}

func brokenText(calls []model.Call) []map[string]string {
	var list []map[string]string
	for _, c := range calls {
		list = append(list, map[string]string{"id": c.ID, "name": c.Name, "args": string(c.Args)})
	}
	return list
}
