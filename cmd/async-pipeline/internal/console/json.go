package console

import (
	"bytes"
	"encoding/json"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// WriteJSON prints JSON texts on stdout.
func (c *Console) WriteJSON(text []byte) { c.Out.WriteClean(redact.JSON(text, c.secrets.Bytes)) }

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
