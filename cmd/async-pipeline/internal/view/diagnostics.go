// Faults of a PIPELINE.hcl: place, what is wrong, the source line with a caret below the fault, and the remedy.
package view

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// Diagnostics shows every fault, in order.
func (s *Screen) Diagnostics(faults []pipeline.Error) {
	for _, f := range faults {
		s.put(s.diagnostic(f))
	}
}

// place returns a position with its path as it is shown.
func (s *Screen) place(p pipeline.Pos) string {
	if p.File == "" {
		return ""
	}
	p.File = s.Path(p.File)
	return p.String()
}

func (s *Screen) diagnostic(f pipeline.Error) string {
	var b strings.Builder
	word, colour := "error", red
	if f.Warning {
		word, colour = "warning", yellow
	}
	text := Harmless(f.Summary)
	at := s.place(f.Pos)
	if at != "" {
		b.WriteString(s.paint(bold, at) + ": ")
	}
	if s.Columns > 0 && columns(at)+2+len(word)+2+columns(text) > s.wide() { // elsewhere it can be searched for
		text = "\n  " + strings.Join(Wrap(text, s.wide()-2), "\n  ")
	} else {
		text = " " + text
	}
	b.WriteString(s.paint(colour, word) + ":" + text + "\n")
	if f.Source != "" {
		b.WriteString(s.sourceLine(f, colour))
	}
	detail := f.Detail
	if f.Suggestion != "" && !strings.Contains(detail, f.Suggestion) {
		detail = strings.TrimSpace(detail + fmt.Sprintf("\nDid you mean %q?", f.Suggestion))
	}
	if strings.TrimSpace(detail) != "" {
		b.WriteString(s.paragraph(detail, "  "))
	}
	b.WriteByte('\n')
	return b.String()
}

// sourceLine shows the line at fault, the window of it around the fault where it is long.
func (s *Screen) sourceLine(f pipeline.Error, colour string) string {
	room := s.wide() - 10
	line := []rune(strings.TrimRight(f.Source, "\r\n"))
	start := min(max(f.Pos.Column-1, 0), len(line))
	width := max(f.Width, 1)
	stop := min(start+width, len(line))
	before, fault, after := string(line[:start]), string(line[start:stop]), string(line[stop:])
	shown := func(t string) string { return untab(clean(t, true)) }
	// Tabs are replaced with the text before them in view, so that the caret is below the fault.
	whole := shown(before + fault + after)
	lead := columns(shown(before))
	span := max(columns(shown(before+fault))-lead, 1)
	if columns(whole) > room {
		parts := []rune(whole)
		from := 0
		if lead > room/2 {
			from = min(lead-room/2, len(parts))
		}
		to := min(from+room, len(parts))
		whole = string(parts[from:to])
		if from > 0 {
			whole = "…" + string(parts[from+1:to])
		}
		if to < len(parts) {
			whole += "…"
		}
		lead -= from
	}
	number := fmt.Sprintf("%5d │ ", f.Pos.Line)
	if f.Pos.Line == 0 {
		number = "      │ "
	}
	span = min(span, max(room-lead, 1))
	return s.paint(dim, number) + whole + "\n" +
		s.paint(dim, "      │ ") + strings.Repeat(" ", max(lead, 0)) + s.paint(colour,
		strings.Repeat("^", span)) + "\n"
}
