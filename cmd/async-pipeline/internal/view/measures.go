// Sizes and moments as they are shown: 1.2 MiB, 3 min ago.
package view

import (
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// moment is a time for a person who reads it at now: of this year without the year.
func moment(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	switch {
	case at.IsZero():
		return "?"
	case at.Year() == now.Year():
		return at.Format("Jan _2 15:04")
	}
	return at.Format("2006-01-02")
}

// ago is how long ago a time was, roughly.
func ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case at.IsZero():
		return "at an unknown time"
	case d < -time.Minute:
		return "in the future: " + at.Local().Format("2006-01-02 15:04:05")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return english.Count(int(d/(24*time.Hour)), "day") + " ago"
}
