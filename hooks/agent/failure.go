package agent

// How an agent names its own failure.

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// A Failure is what an agent says of its own end, as the last thing it prints:
//
//	{"error": {"kind": "quota_exhausted", "message": "…", "retry_after_ms": 60000}}
//
// message and retry_after_ms may be left out. A kind that is not in the table of kinds is terminal, unless the agent's own
// policy has it.
type Failure struct {
	Kind       Kind
	Message    string         // one line
	RetryAfter *time.Duration // nil: not said
}

// longestWait is the longest wait that is believed.
const longestWait = 31 * 24 * time.Hour

var kindForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// ParseFailure finds it at the very end of an output. An object that stands before other words is a quotation, no end; and
// kinds that only we can know (that a person cancelled, that a budget is spent) are not an agent's to name.
func ParseFailure(text string) *Failure {
	var got *Failure
	find(text, func(raw []byte) bool {
		if got == nil && bytes.HasSuffix([]byte(stripFence(strings.TrimPrefix(text, bom))), raw) {
			got = decodeFailure(raw)
		}
		return got != nil
	})
	return got
}

func decodeFailure(raw []byte) *Failure {
	var said struct {
		Error *struct {
			Kind       string   `json:"kind"`
			Message    string   `json:"message"`
			RetryAfter *float64 `json:"retry_after_ms"`
		} `json:"error"`
	}
	_, fields, err := object(raw)
	if err != nil || len(fields) != 1 || json.Unmarshal(raw, &said) != nil || said.Error == nil || !kindForm.MatchString(said.Error.Kind) {
		return nil
	}
	f := &Failure{Kind: Kind(said.Error.Kind), Message: oneLine(Tail(said.Error.Message, 500))}
	if c := f.Kind.Class(); c == Lifecycle || c == Fatal {
		return nil
	}
	if ms := said.Error.RetryAfter; ms != nil && *ms >= 0 && *ms <= float64(longestWait.Milliseconds()) {
		f.RetryAfter = new(time.Duration(*ms * float64(time.Millisecond)))
	}
	return f
}
