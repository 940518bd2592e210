package agent

// How an agent reports its own failure.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// A Failure is an agent's report of its own failure, printed as its last output:
//
//	{"error": {"kind": "quota_exhausted", "message": "…", "retry_after_ms": 60000}}
//
// message and retry_after_ms are optional. A kind that is not in the table of kinds is terminal, unless the agent's
// own policy has it.
type Failure struct {
	Kind       failure.Kind
	Message    string         // one line
	RetryAfter *time.Duration // nil: not said
	Left       []string       // what could not be read of it and was left out, a sentence each without its end
}

var failureFields = []string{"kind", "message", "retry_after_ms"}

// ParseFailure returns the failure at the very end of an output, nil if there is none. An object that is followed by
// other words is a quotation. An agent cannot report kinds that only we can know: that a person cancelled, that a
// budget is spent. The error is about an object that was meant as a failure and is not valid: which field, what it
// holds, what it may hold, and what happens instead.
func ParseFailure(text string) (*Failure, error) {
	var got *Failure
	var fault error
	end := []byte(stripFence(strings.TrimPrefix(text, bom)))
	find(text, func(raw []byte) bool {
		if got == nil && fault == nil && bytes.HasSuffix(end, raw) {
			got, fault = decodeFailure(raw)
		}
		return got != nil || fault != nil
	})
	switch _, ofKind := errors.AsType[*badKind](fault); {
	case ofKind:
		return nil, fmt.Errorf("error object: %w; %s; %s", fault, ignored, KnownKinds())
	case fault != nil:
		return nil, fmt.Errorf("error object: %w; %s", fault, ignored)
	}
	return got, nil
}

// ignored is what happens to an object that is not valid.
const ignored = "it was ignored, and how the program ended is what counts"

// A badKind is an error about a kind.
type badKind struct{ text string }

func (b *badKind) Error() string { return b.text }

// decodeFailure returns neither a failure nor an error for an object that was not meant as one.
func decodeFailure(raw []byte) (*Failure, error) {
	_, outer, err := object(raw)
	value, ok := outer["error"]
	if err != nil || !ok || meant(raw) {
		return nil, nil //nolint:nilerr // what cannot be read as an object was not meant as a failure
	}
	for key := range outer {
		if key != "error" {
			return nil, fmt.Errorf(`field %q is beside "error", which must be alone`, key)
		}
	}
	keys, fields, err := object(value)
	if err != nil {
		return nil, fmt.Errorf(`field "error" holds %s; it must be an object with the fields %s`, shortly(value),
			strings.Join(failureFields, ", "))
	}
	kind, isText := text(fields["kind"])
	form := failure.CheckKind(kind)
	switch class := failure.Kind(kind).Class(); {
	case fields["kind"] == nil:
		return nil, &badKind{`required field "kind" is missing`}
	case !isText:
		return nil, &badKind{fmt.Sprintf(`field "kind" holds %s, which is no string`, shortly(fields["kind"]))}
	case form != nil:
		return nil, &badKind{fmt.Sprintf(`field "kind" holds %s; %v`, shortly(fields["kind"]), form)}
	case class == failure.Lifecycle || class == failure.Fatal:
		return nil, &badKind{fmt.Sprintf(`field "kind" holds %q, which is not an agent's to say`, kind)}
	}
	f := &Failure{Kind: failure.Kind(kind)}
	left := func(format string, args ...any) {
		f.Left = append(f.Left, fmt.Sprintf(format, args...)+", and was left out")
	}
	for _, key := range keys {
		value := fields[key]
		switch {
		case key == "kind" || string(value) == "null":
		case key == "message":
			words, ok := text(value)
			if f.Message = oneLine(Tail(words, 500)); !ok {
				left("field %q holds %s, which is no string", key, shortly(value))
			}
		case key == "retry_after_ms":
			var ms float64
			if json.Unmarshal(value, &ms) == nil && 0 <= ms && ms <= float64(LongestWait.Milliseconds()) {
				f.RetryAfter = new(time.Duration(ms * float64(time.Millisecond)))
			} else {
				left("field %q holds %s, which is no number of milliseconds from 0 to 30 days", key, shortly(value))
			}
		default:
			left("field %q is unknown (the fields are %s)", oneLine(Tail(key, 40)), strings.Join(failureFields, ", "))
		}
	}
	return f, nil
}

// KnownKinds names, for messages, the kinds that an agent may report and that every agent's policy knows.
var KnownKinds = sync.OnceValue(func() string {
	var names []string
	for _, k := range failure.All() {
		if class := k.Class(); class != failure.Lifecycle && class != failure.Fatal {
			names = append(names, string(k))
		}
	}
	return "the kinds are " + strings.Join(names, ", ")
})

// shortly returns JSON from outside for a message, on one line.
func shortly(raw json.RawMessage) string {
	const most = 60
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "what cannot be read"
	}
	words := []rune(b.String())
	if len(words) > most {
		words = append(words[:most-1], '…')
	}
	return string(words)
}
