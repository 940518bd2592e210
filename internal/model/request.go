package model

// What the protocols share when they encode a conversation.

import (
	"encoding/json"
	"strings"
)

type object = map[string]any

var (
	emptyObject = json.RawMessage("{}")
	anyObject   = json.RawMessage(`{"type":"object","properties":{}}`)
)

// schema returns the schema of the arguments. A tool without one takes none.
func (t Tool) schema() json.RawMessage {
	if len(t.Schema) == 0 {
		return anyObject
	}
	return t.Schema
}

// input returns the arguments as the object that every protocol requires, also if those of a broken call are not one.
func (c *Call) input() json.RawMessage {
	if len(c.Args) > 0 && c.Args[0] == '{' && json.Valid(c.Args) {
		return readable(c.Args)
	}
	return emptyObject
}

// spoken returns the block as plain text for this provider: its text, or what another provider's model thought. Its
// own thinking goes back with its Raw, or not at all.
func (b Block) spoken(provider string) string {
	if b.Text != "" {
		return b.Text
	}
	if b.Raw != nil && b.Provider != provider {
		return b.Thinking
	}
	return ""
}

// own returns the Raw of the block if this provider made it.
func (b Block) own(provider string) json.RawMessage {
	if b.Provider != provider {
		return nil
	}
	return readable(b.Raw)
}

// said returns the text of a result for a protocol that has no field for failure.
func (r *Result) said() string {
	if r.Failed && !strings.HasPrefix(strings.ToLower(r.Text), "error") {
		return "error: " + r.Text
	}
	return r.Text
}
