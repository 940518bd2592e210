package draft

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

// Transcript appends a line {seq, at, attempt, type, …data} to the transcript.
func (d *Draft) Transcript(attempt int, kind string, data map[string]any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.transcript == nil {
		return fmt.Errorf("transcript of %s: %w", d.Name, os.ErrClosed)
	}
	fields := []journal.Field{
		{Name: "seq", Value: d.lines + 1}, {Name: "at", Value: timestamp.Now()}, {
			Name:  "attempt",
			Value: attempt,
		}, {Name: "type", Value: kind},
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if !slices.ContainsFunc(fields, func(f journal.Field) bool { return f.Name == name }) {
			value, err := recordfile.JSON(data[name])
			if err != nil {
				return fmt.Errorf("transcript of %s: %s: %w", d.Name, name, err)
			}
			fields = append(fields, journal.Field{Name: name, Value: json.RawMessage(fix.CleanJSON(value, d.clean))})
		}
	}
	line, err := journal.Object(fields)
	if err != nil {
		return fmt.Errorf("transcript of %s: %w", d.Name, err)
	}
	if _, err := d.transcript.Write(append(line, '\n')); err != nil {
		return err
	}
	d.lines++
	if sum := fix.PromptDigest(line); kind == "prompt" && sum != "" {
		d.prompts = append(d.prompts, fix.PromptRef{Attempt: attempt, Digest: sum})
	}
	return nil
}
