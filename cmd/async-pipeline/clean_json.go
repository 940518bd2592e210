package main

import (
	"bytes"
	"encoding/json"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// formatWords stay what they are in JSON, even if a secret is spelled so: as in the record.
var formatWords = map[string]bool{
	record.Passed: true, record.Cached: true, record.Failed: true, record.TimedOut: true, record.Skipped: true,
	record.Cancelled: true, record.Interrupted: true,
}

// cleanJSON is JSON texts, as our encoder writes them, with every string that is a value cleaned. Names of fields, numbers
// and what stands between stay, even if a secret is spelled so: it must not make JSON that nobody can read.
func cleanJSON(text []byte, secrets *redact.Set) []byte {
	if _, found := secrets.Find(text); !found { // nearly always there is nothing to clean
		return text
	}
	var out []byte // nil as long as nothing was taken out
	done := 0      // of text, what stands in out
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := stringEnd(text, i)
		if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) == 0 || rest[0] != ':' {
			var s string
			if err := json.Unmarshal(text[i:end], &s); err == nil && !formatWords[s] {
				if cleaned := secrets.String(s); cleaned != s {
					out = append(append(out, text[done:i]...), quoted(cleaned)...)
					done = end
				}
			}
		}
		i = end - 1
	}
	if out == nil {
		return text
	}
	return append(out, text[done:]...)
}

// stringEnd is the end of the JSON string that begins at i.
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

// quoted is s as a JSON string, without the escapes that only web pages need.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// writeJSON prints JSON texts on stdout.
func (h *hall) writeJSON(text []byte) {
	h.out.writeClean(cleanJSON(text, h.secrets))
}
