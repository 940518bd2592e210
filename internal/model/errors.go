package model

// Errors of a turn, and how long a provider asks to wait.

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

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
func provided(body []byte) *Error { return reported(body).error() }

// finish returns the error as it leaves the package: one line, bounded, without the key.
func (m *Model) finish(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	e.Message = oneLine(scrub(e.Message, m.Key), maxMessage)
	if e.Kind == failure.AuthInvalid && m.Key == "" {
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
	return strings.ToValidUTF8(text[:max-len(dots)], "") + dots
}

// reported reads the facts from the JSON of an error: {"error": {…}} of every provider, in an array with Gemini, or
// the error's fields at the top, as gateways write them. A body that is something else gives no facts.
//
// Only what is in that field is certainly an error; codes at the top may be of anything.
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
		f.message, _ = whole.(string)
		return f
	}
	switch inner := fields["error"].(type) {
	case map[string]any:
		fields, f.meant = inner, true
	case string:
		f.message, f.meant = inner, true
	}
	for _, name := range []string{"code", "type", "status", "reason"} {
		text, _ := fields[name].(string)
		if n, ok := fields[name].(float64); ok {
			text = strconv.FormatFloat(n, 'f', -1, 64)
		}
		if text != "" {
			f.codes = append(f.codes, strings.ToLower(text))
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
	e := f.error()
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

// longest replaces a wait that no Duration can hold. The caller decides whether it can be meant.
const longest = time.Duration(math.MaxInt64)

// retryAfter returns how long the headers of an answer ask to wait: retry-after-ms (milliseconds, fractions allowed;
// OpenAI and Azure) before Retry-After as seconds (fractions allowed, rounded up to a millisecond) before Retry-After
// as a date of HTTP (RFC 9110, 10.2.3). It is negative if there is none, or it cannot be read, or is in the past.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if wait, ok := milliseconds(h.Get("Retry-After-Ms"), 1); ok {
		return wait
	}
	value := h.Get("Retry-After")
	if wait, ok := milliseconds(value, 1000); ok {
		return wait
	}
	if at, err := http.ParseTime(strings.TrimSpace(value)); err == nil && at.After(now) {
		return at.Sub(now) // at most the longest
	}
	return none
}

// milliseconds parses a number of units of so many milliseconds.
func milliseconds(text string, unit float64) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return 0, false
	}
	// 1.2 × 1000 is a little more than 1200 in binary: what is that close to a whole number is meant to be it.
	ms := n * unit
	if r := math.Round(ms); math.Abs(ms-r) < 1e-6 {
		ms = r
	}
	if ms = math.Ceil(ms); ms >= float64(longest.Milliseconds()) {
		return longest, true
	}
	return time.Duration(ms) * time.Millisecond, true
}
