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

var tryAgainIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)try again in ((?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+)`)
})

// waitWords returns how long the message of a rate limit asks to wait: inside a stream OpenAI tells it in words only
// ("Please try again in 6.2s").
func waitWords(message string) time.Duration {
	if said := tryAgainIn().FindStringSubmatch(message); said != nil {
		if wait, err := time.ParseDuration(said[1]); err == nil {
			return wait
		}
	}
	return none
}
