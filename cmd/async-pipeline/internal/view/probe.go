// Scenes with agent CLIs, as `agents probe` shows them.
package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// A ProbeRow is how one scene went with one CLI.
type ProbeRow struct {
	CLI, Version string // Version is empty where it is not known
	Scene        string
	Seen         string // the kind that it ended with
	Requests     int
	DurationMS   int64
	Faults       []string // what is not right
}

// ProbeStarted shows what is about to be played.
func (s *Screen) ProbeStarted(scenes int, clis []string) {
	s.put(s.paragraph(fmt.Sprintf("%s with %s; no real provider is asked, and it costs nothing", english.Count(scenes, "scene"),
		english.List(clis, len(clis))), "") + "\n")
}

// ProbeRow shows how a scene ended.
func (s *Screen) ProbeRow(r ProbeRow) {
	mark, lead := s.paint(green, "✓"), strings.TrimSpace(r.CLI+" "+r.Version)+", "+r.Scene+": "
	if len(r.Faults) > 0 {
		mark = s.paint(red, "✗")
	}
	s.put(s.hanging(mark+" ", fmt.Sprintf("%s%s; %s in %s", lead, r.Seen, english.Count(r.Requests, "request"), took(r.DurationMS))))
	for _, f := range r.Faults {
		s.put(s.hanging("    "+s.paint(cyan, "→")+" ", f))
	}
}

// ProbeEnded shows how many scenes are right.
func (s *Screen) ProbeEnded(scenes, wrong int) {
	text := "All is right: these versions do what is expected of them."
	if wrong > 0 {
		text = fmt.Sprintf("%d of %s ended otherwise than is expected: see ✗ above. agents list tells which versions are tested.", wrong,
			english.Count(scenes, "scene"))
	}
	s.put("\n" + s.paragraph(text, ""))
}
