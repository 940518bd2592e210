// Package reset reads when a limit ends, as providers and agent CLIs announce it in words.
package reset

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Reset is when a limit ends: after a while, or at a time of the clock. The zero Reset is not known.
type Reset struct {
	After time.Duration
	At    time.Time // UTC
}

// Longest is the longest wait that is believed. A longer one comes from a wrong clock or another unit.
const Longest = 30 * 24 * time.Hour

// clockBuffer is added to a time of the clock that is as far away or farther: the provider's clock is another one, and
// the time is rounded.
const clockBuffer = time.Minute

// Wait returns how long to wait from now on. It is not positive where that is not known, or where the limit has ended.
func (r Reset) Wait(now time.Time) time.Duration {
	if r.At.IsZero() {
		return r.After
	}
	wait := r.At.Sub(now)
	if wait >= clockBuffer {
		wait += clockBuffer
	}
	return wait
}

// Believed is Wait, and nil where that is not known, is over or absurd.
func (r Reset) Believed(now time.Time) *time.Duration {
	if wait := r.Wait(now); wait > 0 && wait < Longest {
		return &wait
	}
	return nil
}

// mostAnnounced is how much of a message is searched for a reset, in bytes.
const mostAnnounced = 16 << 10

var (
	announcement = later(`(?i)(?:\b(?:try again|retry|resets?|available again|regain access)(?: (?:in|after|at|on))?:? +|\blimit reached\|)`)
	// A number in digits or as a word, its unit, and what divides it from the next.
	span = later(`(?i)^(?:(\d+(?:\.\d+)?) ?|(an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) )` +
		`([a-z]+)(?:,? and |,? ?)`)
	// Month, day and year, all optional; hour, minute and half of the day; a time zone.
	clockTime = later(`(?i)^(?:([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,? (?:at )?)?` +
		`(\d{1,2})(?::(\d\d))?(?: ?([ap])\.?m\b\.?)?(?: \(([\w/+-]+)\)| (UTC|GMT)\b)?`)
	// A whole date, hour and minute, and a time zone.
	dateTime = later(`(?i)^(\d{4}-\d\d-\d\d),?(?: at)? (\d\d:\d\d)(?::\d\d)?(?: (UTC|GMT)\b)?`)
	// Seconds since 1970, with milliseconds at times.
	sinceEpoch   = later(`^(\d{10})(?:\d{3})?\b`)
	internetTime = later(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
)

// later compiles an expression when it is first used.
func later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// units are the words for units of time.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "sec": time.Second, "second": time.Second, "m": time.Minute,
	"min": time.Minute, "minute": time.Minute, "h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour,
}

// numbers are the words for numbers.
var numbers = map[string]float64{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12,
}

// Announced returns the reset that a message announces. Times without a zone are those of now, times without a day are
// the next ones.
func Announced(message string, now time.Time) Reset {
	message = message[:min(len(message), mostAnnounced)]
	for _, m := range announcement().FindAllStringIndex(message, -1) {
		text := message[m[1]:]
		if d := spanOf(text); d > 0 {
			return Reset{After: d}
		}
		if at := timeOf(text, now); !at.IsZero() {
			return Reset{At: at.UTC()}
		}
	}
	return Reset{}
}

// spanOf returns the duration that a text begins with, such as 3h12m or 4 hours and 5 minutes; 0: with none.
func spanOf(text string) (d time.Duration) {
	for {
		m := span().FindStringSubmatch(text)
		if m == nil {
			return d
		}
		word := strings.ToLower(m[3])
		unit := units[word]
		if unit == 0 {
			unit = units[strings.TrimSuffix(word, "s")]
		}
		if unit == 0 || strings.EqualFold(m[2], "a") && unit < time.Minute { // many say a second for a moment
			return d
		}
		n, err := numbers[strings.ToLower(m[2])], error(nil)
		if m[1] != "" {
			n, err = strconv.ParseFloat(m[1], 64)
		}
		if more := n * float64(unit); err != nil || more >= float64(math.MaxInt64-d) {
			return 0
		}
		d += time.Duration(n * float64(unit))
		text = text[len(m[0]):]
	}
}

// timeOf returns the time that a text begins with; the zero time: with none.
func timeOf(text string, now time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339, internetTime().FindString(text)); err == nil {
		return at
	}
	if m := sinceEpoch().FindStringSubmatch(text); m != nil {
		return time.Unix(int64(number(m[1])), 0)
	}
	if m := dateTime().FindStringSubmatch(text); m != nil {
		zone := now.Location()
		if m[3] != "" {
			zone = time.UTC
		}
		at, _ := time.ParseInLocation("2006-01-02 15:04", m[1]+" "+m[2], zone) // else it is the zero time
		return at
	}
	m := clockTime().FindStringSubmatch(text)
	if m == nil || m[5] == "" && m[6] == "" { // a bare number is no time
		return time.Time{}
	}
	if zone := m[7] + m[8]; zone != "" {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			return time.Time{}
		}
		now = now.In(loc)
	}
	hour, minute := number(m[4]), number(m[5])
	if m[6] != "" {
		if hour < 1 || hour > 12 {
			return time.Time{}
		}
		hour %= 12
		if strings.EqualFold(m[6], "p") {
			hour += 12
		}
	}
	if hour > 23 || minute > 59 {
		return time.Time{}
	}
	year, month, day := now.Date()
	if m[1] == "" {
		at := time.Date(year, month, day, hour, minute, 0, 0, now.Location())
		if now.Sub(at) > time.Hour { // not long ago: the limit has just ended
			at = time.Date(year, month, day+1, hour, minute, 0, 0, now.Location())
		}
		return at
	}
	named, err := time.Parse("Jan", m[1][:3])
	if day = number(m[2]); err != nil || day < 1 || day > 31 {
		return time.Time{}
	}
	if m[3] != "" {
		year = number(m[3])
	}
	at := time.Date(year, named.Month(), day, hour, minute, 0, 0, now.Location())
	if m[3] == "" && now.Sub(at) > 30*24*time.Hour { // around the new year
		at = at.AddDate(1, 0, 0)
	}
	return at
}

// number returns a short number of digits; 0 for none.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
