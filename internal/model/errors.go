package model

// Errors of a turn.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

const none = time.Duration(-1) // no Retry-After

func (e *Error) Error() string {
	switch {
	case e.Status != 0:
		return fmt.Sprintf("the model's provider answered %d (%s): %s", e.Status, e.Kind, e.Message)
	case e.Message == "":
		return "the turn with the model failed: " + string(e.Kind)
	}
	return string(e.Kind) + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// newError returns an error whose Retryable follows from its kind.
func newError(kind failure.Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), RetryAfter: none, Retryable: kind.Resend()}
}

// malformed returns the error of a stream that is not the one that was asked for. The same would come again.
func malformed(format string, args ...any) *Error {
	return newError(failure.ParseError, format, args...)
}

// outOfOrder returns the error of events that are missing, repeated or swapped. Another attempt may succeed.
func outOfOrder(format string, args ...any) *Error {
	return newError(failure.StreamFailure, "the events of the stream are out of order: "+format, args...)
}

// provided returns the error that a provider reports in the middle of a stream.
func provided(body []byte) *Error {
	f := reported(body)
	return f.error(nil)
}

// finish returns the error as it leaves the package: one line, bounded, without the key.
func (m *Model) finish(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	e.Message = oneLine(scrub(e.Message, m.Key), maxMessage)
	if (e.Kind == failure.AuthInvalid) && m.Key == "" {
		e.Kind = failure.AuthMissing
	}
	return e
}

const (
	maxMessage = 500 // bytes
	maxQuote   = 200 // bytes of a body that is not what was asked for
)

// scrub removes the key from text, and any beginning of it that a quotation has cut.
func scrub(text, key string) string {
	const shortest = 12
	for n := len(key); n > 0 && (n == len(key) || n >= shortest); n-- {
		text = strings.ReplaceAll(text, key[:n], "[redacted]")
	}
	return text
}

// oneLine returns text on one line without what a terminal would interpret, cut to max bytes.
func oneLine(text string, max int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	if len(text) <= max {
		return text
	}
	const dots = "…"
	cut := max - len(dots)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + dots
}

// reported reads the facts from the JSON of an error: {"error": {…}} of every provider, in an array with Gemini, or
// the error's fields at the top, as gateways write them. A body that is something else gives no facts.
//
// What is meant as an error says so by that field; codes at the top may be of anything.
func reported(body []byte) facts {
	f := facts{after: none}
	var whole any
	if json.Unmarshal(body, &whole) != nil {
		return f
	}
	if list, ok := whole.([]any); ok && len(list) > 0 {
		whole = list[0]
	}
	fields, ok := whole.(map[string]any)
	if !ok {
		if text, ok := whole.(string); ok {
			f.message = text
		}
		return f
	}
	switch inner := fields["error"].(type) {
	case map[string]any:
		fields, f.meant = inner, true
	case string:
		f.message, f.meant = inner, true
	}
	for _, name := range []string{"code", "type", "status", "reason"} {
		switch v := fields[name].(type) {
		case string:
			if v != "" {
				f.codes = append(f.codes, strings.ToLower(v))
				f.number(v)
			}
		case float64:
			text := strconv.FormatFloat(v, 'f', -1, 64)
			f.codes = append(f.codes, text)
			f.number(text)
		}
	}
	for _, name := range []string{"message", "detail", "msg", "error_description"} {
		if text, ok := fields[name].(string); ok && f.message == "" {
			f.message = text
		}
	}
	if details, ok := fields["details"].([]any); ok {
		f.details(details)
	}
	if more, ok := fields["metadata"].(map[string]any); ok {
		f.behind(more)
	}
	return f
}

// behind reads what a gateway reports of the provider behind it (OpenRouter's metadata): its own words, and that it
// does not accept the request.
func (f *facts) behind(more map[string]any) {
	if raw, ok := more["raw"].(string); ok && raw != "" && !strings.Contains(f.message, raw) {
		f.message += ": " + raw
	}
	if reasons, ok := more["reasons"].([]any); ok && len(reasons) > 0 || more["flagged_input"] != nil {
		f.codes = append(f.codes, "content_filter")
	}
}

// refusal returns the error that body is meant as, nil if it is something else.
func refusal(body []byte) *Error {
	f := reported(body)
	e := f.error(nil)
	if !f.meant && (len(f.codes) == 0 || e.Kind == failure.Unknown) {
		return nil
	}
	return e
}

// number takes a code that is an HTTP status as the status: gateways pass it on in this way inside a stream.
func (f *facts) number(text string) {
	if n, err := strconv.Atoi(text); err == nil && n >= 400 && n <= 599 && f.status == 0 {
		f.status = n
	}
}

// details reads the typed details of Google APIs (google.rpc: ErrorInfo, RetryInfo, QuotaFailure).
func (f *facts) details(list []any) {
	for _, d := range list {
		fields, ok := d.(map[string]any)
		if !ok {
			continue
		}
		if reason, ok := fields["reason"].(string); ok {
			f.codes = append(f.codes, strings.ToLower(reason))
		}
		if delay, ok := fields["retryDelay"].(string); ok {
			if wait, err := time.ParseDuration(delay); err == nil && wait >= 0 {
				f.after = wait
			}
		}
		violations, _ := fields["violations"].([]any)
		for _, v := range violations {
			if v, ok := v.(map[string]any); ok {
				if id, ok := v["quotaId"].(string); ok && strings.Contains(id, "PerDay") {
					f.codes = append(f.codes, "quota_exceeded")
				}
			}
		}
	}
}
