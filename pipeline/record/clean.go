package record

import (
	"slices"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// cleaner redacts secret values from what is written. Only strings are redacted, never the JSON around them: a secret
// that is a number or a field's name must not break the record.
type cleaner func([]byte) []byte

func (c cleaner) text(s string) string {
	if c == nil || redact.FormatWord(s) {
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
	return func(value []byte) []byte { return redact.JSON(value, c) }
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
