// Redaction of what is written: JSON string by string, streams line by line.

package fix

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// cleanJSON cleans the strings of a JSON text one by one, decoded: a secret with a quote in it would not be found in
// its encoded form. Then the text as a whole, unless that would break it (a secret of digits inside a number).
func cleanJSON(text []byte, clean func([]byte) []byte) []byte {
	var out bytes.Buffer
	for len(text) > 0 {
		if text[0] != '"' {
			n := bytes.IndexByte(text, '"')
			if n < 0 {
				n = len(text)
			}
			out.Write(text[:n])
			text = text[n:]
			continue
		}
		n := 1
		for n < len(text) && text[n] != '"' {
			if text[n] == '\\' {
				n++
			}
			n++
		}
		n = min(n+1, len(text))
		out.Write(cleanString(text[:n], clean))
		text = text[n:]
	}
	if whole := clean(bytes.Clone(out.Bytes())); json.Valid(whole) {
		return whole
	}
	return out.Bytes()
}

func cleanString(quoted []byte, clean func([]byte) []byte) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	cleaned := string(clean([]byte(s)))
	if cleaned == s {
		return quoted
	}
	b, err := encodeJSON(cleaned)
	if err != nil {
		return []byte(`""`)
	}
	return b
}

// encodeJSON is v without HTML escapes and without a line end.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// longLine is where a line without an end is cut for cleaning, in bytes.
const longLine = 1 << 20

// A lineCleaner cleans a stream line by line, so that a value split over two writes is whole when it is looked for.
type lineCleaner struct {
	w     io.Writer
	clean func([]byte) []byte
	held  []byte
}

func (c *lineCleaner) Write(p []byte) (int, error) {
	c.held = append(c.held, p...)
	end := bytes.LastIndexByte(c.held, '\n') + 1
	if end == 0 && len(c.held) > longLine {
		end = len(c.held)
	}
	if end == 0 {
		return len(p), nil
	}
	lines := c.held[:end]
	_, err := c.w.Write(c.clean(bytes.Clone(lines)))
	c.held = append(c.held[:0], c.held[end:]...)
	return len(p), err
}

// flush writes what was held back.
func (c *lineCleaner) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.w.Write(c.clean(bytes.Clone(c.held)))
	c.held = nil
	return err
}

// rawPath is what JSON cannot hold of a path: its bytes, when they are not UTF-8.
func rawPath(path string) []byte {
	if utf8.ValidString(path) {
		return nil
	}
	return []byte(path)
}

// fullPath is the path of a stored pair of text and bytes.
func fullPath(text string, raw []byte) string {
	if raw != nil {
		return string(raw)
	}
	return text
}
