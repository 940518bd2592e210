package model

// What the protocols share when a conversation is written.

import (
	"encoding/json"
	"strings"
)

type object = map[string]any

var (
	emptyObject = json.RawMessage("{}")
	anyObject   = json.RawMessage(`{"type":"object","properties":{}}`)
)

// schema is the schema of the arguments; a tool without one takes none.
func (t Tool) schema() json.RawMessage {
	if len(t.Schema) == 0 {
		return anyObject
	}
	return t.Schema
}

// input is the arguments as the object that every protocol wants, also where those of a broken call are none.
func (c *Call) input() json.RawMessage {
	if len(c.Args) > 0 && c.Args[0] == '{' && json.Valid(c.Args) {
		return readable(c.Args)
	}
	return emptyObject
}

// spoken is what stands for the block as plain text before this provider: its text, or what another provider's model thought. Its
// own thinking goes back with its Raw or not at all.
func (b Block) spoken(provider string) string {
	if b.Text != "" {
		return b.Text
	}
	if b.Raw != nil && b.Provider != provider {
		return b.Thinking
	}
	return ""
}

// own is the Raw of the block when this provider made it.
func (b Block) own(provider string) json.RawMessage {
	if b.Provider != provider {
		return nil
	}
	return readable(b.Raw)
}

// said is the text of a result for a protocol that has no field for failure.
func (r *Result) said() string {
	if r.Failed && !strings.HasPrefix(strings.ToLower(r.Text), "error") {
		return "error: " + r.Text
	}
	return r.Text
}
