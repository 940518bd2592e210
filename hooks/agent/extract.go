package agent

// JSON objects in the last output of an agent, between fences, prose and whatever else surrounds them.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// TailLimit is how much of an agent's output is kept and searched, in bytes, counted from its end.
	TailLimit = 256 << 10

	maxCandidates = 2000    // balanced objects that are checked
	maxParsed     = 4 << 20 // bytes of candidates that are parsed: nested ones are parsed again and again
	bom           = "\uFEFF"
	backticks     = "```"
)

// Tail returns the last limit bytes of text, cut at the beginning of a rune.
func Tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	from := len(text) - limit
	for i := range min(limit, utf8.UTFMax) {
		if utf8.RuneStart(text[from+i]) {
			return text[from+i:]
		}
	}
	return text[from:]
}

// stripFence removes space around text, and a fence of backticks that text begins with.
func stripFence(text string) string {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, backticks)
	if !ok {
		return text
	}
	rest = strings.TrimRight(strings.TrimPrefix(rest, "json"), " \t\r\n")
	return strings.TrimSpace(strings.TrimSuffix(rest, backticks))
}

// find returns the object that the whole text is, or the last one in it that accept accepts; without accept the last
// one that is inside no other. If the whole text is one JSON value, nothing inside it is considered: the contents of
// a rejected wrapper are not the agent's answer.
func find(text string, accept func([]byte) bool) []byte {
	whole := []byte(stripFence(strings.TrimPrefix(text, bom)))
	if json.Valid(whole) {
		if whole[0] == '{' && (accept == nil || accept(whole)) {
			return whole
		}
		return nil
	}
	return lastObject([]byte(Tail(string(whole), TailLimit)), accept)
}

// lastObject returns the rightmost object in text that accept accepts. Without accept it is the last one that is
// inside no other.
func lastObject(text []byte, accept func([]byte) bool) []byte {
	if !bytes.ContainsRune(text, '{') {
		return nil
	}
	ends := closings(text)
	var outer []byte
	outerEnd, seen, parsed := -1, 0, 0
	for at := len(text) - 1; at >= 0; at-- {
		if text[at] != '{' || ends[at+1] < 0 {
			continue
		}
		end := int(ends[at+1]) + 1
		if accept == nil && outer != nil && end <= outerEnd {
			continue // before the one we have, not around it
		}
		seen++
		parsed += end - at
		if seen > maxCandidates || parsed > maxParsed {
			break
		}
		candidate := text[at:end]
		if !json.Valid(candidate) {
			continue
		}
		switch {
		case accept == nil:
			outer, outerEnd = candidate, end
		case accept(candidate):
			return candidate
		}
	}
	return outer
}

// closings[i] is where the object closes whose inside, outside of any string, goes on at i; -1 for never. It is filled
// from the right, each place from those after it, so that no input makes it slower than linear.
func closings(text []byte) []int32 {
	n := len(text)
	quote := make([]int32, n+2) // where the string ends whose inside goes on at i
	closing := make([]int32, n+2)
	quote[n], quote[n+1], closing[n], closing[n+1] = -1, -1, -1, -1
	for i := n - 1; i >= 0; i-- {
		switch text[i] {
		case '"':
			quote[i] = int32(i)
		case '\\':
			quote[i] = quote[i+2]
		default:
			quote[i] = quote[i+1]
		}
		skip := int32(i) // the last byte of what begins here
		switch text[i] {
		case '}':
			closing[i] = int32(i)
			continue
		case '"':
			skip = quote[i+1]
		case '{':
			skip = closing[i+1]
		}
		if skip < 0 {
			closing[i] = -1
			continue
		}
		closing[i] = closing[skip+1]
	}
	return closing
}

// object parses raw strictly: one object, no key twice at any depth. It returns the keys in their order.
func object(raw []byte) (keys []string, fields map[string]json.RawMessage, err error) {
	if !json.Valid(raw) {
		return nil, nil, fmt.Errorf("not valid JSON")
	}
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		return nil, nil, fmt.Errorf("must be a JSON object")
	}
	if keys, err = uniqueKeys(raw); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, nil, err
	}
	return keys, fields, nil
}

// uniqueKeys returns the outermost object's keys, and an error if a key appears twice in one object.
func uniqueKeys(raw []byte) ([]string, error) {
	type level struct {
		keys  map[string]bool // nil in an array
		value bool            // a value comes next, not a key
	}
	var (
		levels []level
		top    []string
	)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return top, nil
		}
		if err != nil {
			return nil, err
		}
		if d, ok := tok.(json.Delim); ok && (d == '}' || d == ']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if n := len(levels); n > 0 && levels[n-1].keys != nil {
			l := &levels[n-1]
			if key, ok := tok.(string); ok && !l.value {
				if l.keys[key] {
					return nil, fmt.Errorf("field %q appears twice", key)
				}
				l.keys[key], l.value = true, true
				if n == 1 {
					top = append(top, key)
				}
				continue
			}
			l.value = false
		}
		switch tok {
		case json.Delim('{'):
			levels = append(levels, level{keys: map[string]bool{}})
		case json.Delim('['):
			levels = append(levels, level{})
		}
	}
}

// List returns a list of strings for display, tolerantly: a string that holds an encoded list is that list, any other
// string is the one item, and everything else is empty.
func List(raw json.RawMessage) []string {
	list := []string{}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) == nil {
		for _, item := range items {
			if s, ok := text(item); ok {
				list = append(list, s)
			}
		}
		return list
	}
	s, ok := text(raw)
	if !ok {
		return list
	}
	if inner := strings.TrimSpace(s); strings.HasPrefix(inner, "[") && json.Unmarshal([]byte(inner), &items) == nil {
		return List(json.RawMessage(inner))
	}
	return append(list, s)
}

// text returns raw as a string; null is not one.
func text(raw json.RawMessage) (string, bool) {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}
