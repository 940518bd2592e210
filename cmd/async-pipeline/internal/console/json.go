package console

import (
	"bytes"
	"encoding/json"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// formatWords are never redacted in JSON, even if a secret is spelled like one: as in the record.
var formatWords = map[string]bool{
	record.Passed: true, record.Cached: true, record.Failed: true, record.TimedOut: true, record.Skipped: true,
	record.Cancelled: true, record.Interrupted: true,
}

// CleanJSON redacts the string values of JSON texts, as our encoder writes them. Field names, numbers and
// punctuation stay, even if a secret is spelled so: redaction must not break the JSON.
func CleanJSON(text []byte, secrets *redact.Set) []byte {
	if _, found := secrets.Find(text); !found { // nearly always there is nothing to clean
		return text
	}
	var out []byte // nil as long as nothing was redacted
	done := 0      // how much of text is in out
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

// quoted returns s as a JSON string, without escapes for HTML.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// WriteJSON prints JSON texts on stdout.
func (c *Console) WriteJSON(text []byte) { c.Out.WriteClean(CleanJSON(text, c.secrets)) }

// PrintJSON prints v on stdout as indented JSON.
func (c *Console) PrintJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	c.WriteJSON(b.Bytes())
	return nil
}

// JournalLine prints a line of a journal. Its strings are redacted already.
func (c *Console) JournalLine(line []byte) {
	if n := len(line); n == 0 || line[n-1] != '\n' {
		line = append(append([]byte{}, line...), '\n')
	}
	c.Out.WriteClean(line)
}
