package redact

import (
	"bytes"
	"encoding/json"
)

// FormatWord reports whether s is a word of the formats of records. A string that is nothing but such a word stays what
// it is, even if a secret is spelled so: in the record, and wherever the record is shown.
func FormatWord(s string) bool {
	switch s {
	case "passed", "cached", "failed", "timed_out", "skipped", "cancelled", "interrupted", // of a run and its tasks
		"fail_fast", "dependency", "signal", "not_needed", "run_ended", "agents_off", // why a task did not run
		"not_reproduced", "flaky", "no_fix", "proposed", // of a fix
		"verified", "suspect", "unverified", // of its patch
		"open", "applied", "rejected", "superseded", "reverted", "none": // of what became of it
		return true
	}
	return false
}

// JSON applies clean to the strings of JSON texts that this program wrote, one by one and decoded: a value is not always
// found in the encoded form. Field names, numbers and punctuation stay, even if a secret is spelled so, as words of the
// format do: the JSON stays what it says. The result is text itself where nothing was to be cleaned. clean must not
// change the bytes that it is given.
func JSON(text []byte, clean func([]byte) []byte) []byte {
	return jsonStrings(text, func(s []byte, name bool) []byte {
		if name || FormatWord(string(s)) {
			return s
		}
		return clean(s)
	})
}

// FreeJSON is JSON for a text in which others chose the field names and the words, such as the arguments of a tool: none
// of them stays. The text is cleaned as a whole too, unless that would break it (a secret of digits inside a number).
func FreeJSON(text []byte, clean func([]byte) []byte) []byte {
	text = jsonStrings(text, func(s []byte, _ bool) []byte { return clean(s) })
	if whole := clean(text); json.Valid(whole) {
		return whole
	}
	return text
}

// jsonStrings replaces each string of JSON texts, decoded, by what clean returns for it. name is whether it is the name
// of a field. A string that is no JSON is cleaned as it stands.
func jsonStrings(text []byte, clean func(s []byte, name bool) []byte) []byte {
	var out []byte // nil as long as nothing was replaced
	done := 0      // how much of text is in out
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := stringEnd(text, i)
		raw := text[i:end]
		s := decoded(raw)
		if cleaned := clean(s, isName(text[end:])); !bytes.Equal(cleaned, s) {
			out = append(append(out, text[done:i]...), '"')
			out = append(append(out, asJSON(string(cleaned), false)...), '"')
			done = end
		}
		i = end - 1
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}

// decoded returns what the JSON string raw says, and raw itself where it is none.
func decoded(raw []byte) []byte {
	if len(raw) >= 2 && raw[len(raw)-1] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	return []byte(s)
}

// isName reports whether a string that rest follows is the name of a field.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// stringEnd returns the offset after the JSON string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
