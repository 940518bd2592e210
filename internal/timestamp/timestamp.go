// Package timestamp is the one form in which records write a moment: UTC, RFC 3339, milliseconds,
// "2026-11-21T02:40:00.000Z".
package timestamp

import "time"

// Layout is the form, for time.Format and time.Parse. Times are formatted in UTC.
const Layout = "2006-01-02T15:04:05.000Z07:00"

// Of returns t in the form of records.
func Of(t time.Time) string { return t.UTC().Format(Layout) }

// Now returns the present moment in the form of records.
func Now() string { return Of(time.Now()) }
