package model

// What the protocols share when they encode a conversation. Providers refuse some JSON although it is valid, with the
// whole conversation that it is in: see readable.

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

type object = map[string]any

var (
	emptyObject = json.RawMessage("{}")
	anyObject   = json.RawMessage(`{"type":"object","properties":{}}`)
)

// schema returns the schema of the arguments. A tool without one has none.
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

// readable returns JSON in whole UTF-8, without halves of surrogate pairs (a model that is cut within an emoji writes
// them) and without numbers that no float can hold: these become texts.
func readable(raw json.RawMessage) json.RawMessage {
	if !odd(raw) {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return emptyObject
	}
	b, err := marshal(held(v))
	if err != nil {
		return emptyObject
	}
	return bytes.TrimSpace(b)
}

// held returns v with numbers that no float holds as texts. Decoding has replaced halves of surrogate pairs by U+FFFD
// already.
func held(v any) any {
	switch v := v.(type) {
	case json.Number:
		if tooLarge(string(v)) {
			return string(v)
		}
	case []any:
		for i := range v {
			v[i] = held(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = held(v[key])
		}
	}
	return v
}

func tooLarge(number string) bool {
	_, err := strconv.ParseFloat(number, 64)
	return err != nil
}

// odd reports whether JSON is not UTF-8, or holds half a surrogate pair, or a number that no float holds.
func odd(raw []byte) bool {
	if !utf8.Valid(raw) {
		return true
	}
	const mostDigits = 300 // fewer, without an exponent, are always held
	inText := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inText = !inText
		case inText && c == '\\':
			first, ok := escaped(raw[i:])
			if ok && utf16.IsSurrogate(first) {
				second, _ := escaped(raw[i+6:])
				if utf16.DecodeRune(first, second) == '\uFFFD' {
					return true
				}
				i += 6
			}
			i++ // what is escaped is no end of the text
		case !inText && (c == '-' || c >= '0' && c <= '9'):
			n := 1
			for i+n < len(raw) && strings.IndexByte("0123456789+-.eE", raw[i+n]) >= 0 {
				n++
			}
			if number := string(raw[i : i+n]); (n > mostDigits || strings.ContainsAny(number, "eE")) &&
				tooLarge(number) {
				return true
			}
			i += n - 1
		}
	}
	return false
}

// escaped returns the unit of UTF-16 that b begins with, written as \u and four digits.
func escaped(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
