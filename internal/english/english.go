// Package english writes counts, lists, sizes and times for messages that people read.
package english

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Count returns "1 file" or "2 files". A noun that ends in s, x or ch gets "es", one that ends in a consonant and y
// gets "ies".
func Count[N int | int64](n N, noun string) string {
	if n != 1 {
		noun = plural(noun)
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}

func plural(noun string) string {
	switch stem, y := strings.CutSuffix(noun, "y"); {
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"):
		return noun + "es"
	case y && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeiou"):
		return stem + "ies"
	}
	return noun + "s"
}

// List joins words by commas. Of more than most words it returns the first most and how many are left out: "a, b
// and 3 more".
func List(words []string, most int) string {
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}

// Quoted returns each word in Go's double quotes.
func Quoted(words []string) []string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return quoted
}

// Size returns a number of bytes with a unit: "512 bytes", "12.5 KiB", "3.0 MiB", "1.2 GiB".
func Size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return Count(n, "byte")
}

// Duration returns a time with tenths of a second only where it is short: 0.4s, 12.3s, 4m05s, 2h03m.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0s"
	case d < time.Minute-50*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}
