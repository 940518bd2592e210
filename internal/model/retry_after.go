package model

// How long a provider asks to wait.

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// longest is what a wait that no Duration can hold becomes. Whether a wait can be meant is asked by who waits (hooks/agent).
const longest = time.Duration(math.MaxInt64)

// retryAfter is what the headers of an answer ask for: retry-after-ms (milliseconds, fractions allowed; OpenAI and Azure) before
// Retry-After as seconds (fractions allowed, rounded up to a millisecond) before Retry-After as a date of HTTP (RFC 9110, 10.2.3).
// What cannot be read, or lies in the past, asks for nothing: negative.
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

// milliseconds reads a number of units of so many milliseconds.
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

var tryAgainIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)try again in ((?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+)`)
})

// waitWords is what the message of a rate limit asks for: inside a stream OpenAI says it in words only ("Please try again in 6.2s").
func waitWords(message string) time.Duration {
	if said := tryAgainIn().FindStringSubmatch(message); said != nil {
		if wait, err := time.ParseDuration(said[1]); err == nil {
			return wait
		}
	}
	return none
}
