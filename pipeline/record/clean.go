package record

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// cleaner redacts secret values from what is written. Only strings are redacted, never the JSON around them: a secret
// that is a number or a field's name must not break the record.
type cleaner func([]byte) []byte

// ofTheFormat reports whether s is a word of the format: these stay what they are, even if a secret is spelled so.
func ofTheFormat(s string) bool {
	switch s {
	case Passed, Cached, Failed, TimedOut, Skipped, Cancelled, Interrupted,
		"fail_fast", "dependency", "signal", NotNeeded, RunEnded, AgentsOff:
		return true
	}
	return false
}

func (c cleaner) text(s string) string {
	if c == nil || ofTheFormat(s) {
		return s
	}
	return string(c([]byte(s)))
}

func (c cleaner) optional(s *string) *string {
	if s == nil {
		return nil
	}
	clean := c.text(*s)
	return &clean
}

// values returns a function that cleans every string of a JSON text, for the values of a journal.
func (c cleaner) values() func(value []byte) []byte {
	if c == nil {
		return nil
	}
	return func(b []byte) []byte {
		if bytes.Equal(c(b), b) { // nearly always there is nothing to clean
			return b
		}
		clean, err := c.json(b)
		if err != nil {
			return []byte("null")
		}
		return clean
	}
}

// json returns a JSON text with every string cleaned.
func (c cleaner) json(b []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return recordfile.JSON(c.walk(v))
}

func (c cleaner) walk(v any) any {
	switch v := v.(type) {
	case string:
		return c.text(v)
	case []any:
		for i := range v {
			v[i] = c.walk(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = c.walk(v[k])
		}
	}
	return v
}

// run cleans the fields of a verdict that hold free text.
func (c cleaner) run(r *Run) {
	if r.Git != nil {
		git := *r.Git
		git.Branch = c.optional(git.Branch)
		r.Git = &git
	}
	r.Healing.Reason = c.optional(r.Healing.Reason)
	tasks := append([]Task{}, r.Tasks...) // never null, and never the caller's
	for i := range tasks {
		tasks[i].Error = c.optional(tasks[i].Error)
		tasks[i].Hint = c.optional(tasks[i].Hint)
		tasks[i].Args = slices.Clone(tasks[i].Args)
		for k, a := range tasks[i].Args {
			tasks[i].Args[k] = c.text(a)
		}
		tasks[i].Agent = c.agent(tasks[i].Agent)
		if tasks[i].Cache != nil {
			cache := *tasks[i].Cache
			cache.Reason = c.optional(cache.Reason)
			tasks[i].Cache = &cache
		}
	}
	r.Tasks = tasks
}
