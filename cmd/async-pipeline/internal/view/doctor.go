// What doctor found, and what gc removed.
package view

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// States of a finding.
const (
	Fine    = "ok"
	Noted   = "note"    // nothing to do
	Trouble = "problem" // something to do
)

// Finding is one thing that doctor checked, and an element of doctor --json.
type Finding struct {
	Check  string  `json:"check"`   // a word for scripts
	State  string  `json:"state"`   // ok | note | problem
	What   string  `json:"summary"` // for a person
	Remedy *string `json:"remedy"`  // what to do; nil: nothing
}

// Doctor shows the findings and how many are problems.
func (s *Screen) Doctor(findings []Finding) {
	var b strings.Builder
	problems := 0
	for _, f := range findings {
		mark := s.paint(green, "✓")
		switch f.State {
		case Noted:
			mark = s.paint(yellow, "!")
		case Trouble:
			mark = s.paint(red, "✗")
			problems++
		}
		b.WriteString(s.hanging(mark+" ", f.What))
		if f.Remedy != nil {
			b.WriteString(s.hanging("    "+s.paint(cyan, "→")+" ", *f.Remedy))
		}
	}
	b.WriteByte('\n')
	if problems == 0 {
		b.WriteString("No problems.\n")
	} else {
		b.WriteString(s.paint(red, english.Count(problems, "problem")) + ": see ✗ above.\n")
	}
	s.put(b.String())
}

// Removal is one line of gc.
type Removal struct {
	What  string // "2 runs", "kept build caches of /home/me/shop"
	Why   string // may be empty
	Bytes int64  // below zero: not measured
}

// Removed shows what gc removed, or would remove, and what it left and why.
func (s *Screen) Removed(done []Removal, left []string, dry bool) {
	var b strings.Builder
	verb := "removed "
	if dry {
		verb = "would remove "
	}
	sum := int64(0)
	for _, r := range done {
		line := verb + r.What
		if r.Why != "" {
			line += ": " + r.Why
		}
		if r.Bytes >= 0 {
			line += " (" + english.Size(r.Bytes) + ")"
			sum += r.Bytes
		}
		b.WriteString(s.hanging(s.paint(green, "✓")+" ", line))
	}
	for _, l := range left {
		b.WriteString(s.words(l, "  "))
	}
	switch {
	case len(done) == 0 && dry:
		b.WriteString("Nothing would be removed.\n")
	case len(done) == 0:
		b.WriteString("Nothing was removed.\n")
	case dry:
		b.WriteString(english.Size(sum) + " would be freed; nothing was removed.\n")
	default:
		b.WriteString(english.Size(sum) + " freed.\n")
	}
	s.put(b.String())
}

// StartedIn returns where a process was started, as the end of a clause. shown returns a path as it is shown.
func StartedIn(dir string, shown func(string) string) string {
	if dir == "" {
		return ""
	}
	return ", started in " + shown(dir)
}
