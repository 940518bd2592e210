// A patch for reading: coloured, no line wider than the screen, no line of a file hidden. `fix diff` gives the
// patch itself.
package view

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// diff shows a patch in git's format. Long lines go on below, binary contents are named by their size.
func (s *Screen) diff(patch []byte) string {
	var b strings.Builder
	oldLeft, newLeft := 0, 0 // lines of the hunk that are still to come: "--- x" inside a hunk is a removed line
	binary, when := false, ""
	for line := range strings.SplitSeq(strings.TrimSuffix(string(patch), "\n"), "\n") {
		if binary {
			// A binary patch ends at the header of the next file.
			if !strings.HasPrefix(line, "diff --git ") {
				if size, ok := strings.CutPrefix(line, "literal "); ok {
					s.diffLine(&b, dim, "binary, "+when+" "+size+" bytes")
					when = "before"
				}
				continue
			}
			binary = false
		}
		if oldLeft > 0 || newLeft > 0 {
			switch {
			case strings.HasPrefix(line, "+"):
				newLeft--
				s.diffLine(&b, green, line)
			case strings.HasPrefix(line, "-"):
				oldLeft--
				s.diffLine(&b, red, line)
			case strings.HasPrefix(line, `\`):
				s.diffLine(&b, dim, line)
			default:
				oldLeft--
				newLeft--
				s.diffLine(&b, "", line)
			}
			continue
		}
		switch {
		case strings.HasPrefix(line, "@@ "):
			oldLeft, newLeft = hunkLines(line)
			s.diffLine(&b, cyan, line)
		case strings.HasPrefix(line, "GIT binary patch"):
			binary, when = true, "after"
		case strings.HasPrefix(line, `\`):
			s.diffLine(&b, dim, line)
		case strings.HasPrefix(line, "index "):
			// Two object ids: for git, not for a reader.
		default:
			s.diffLine(&b, bold, line)
		}
	}
	return b.String()
}

// diffLine writes one line; what does not fit goes on in further lines, behind an arrow.
func (s *Screen) diffLine(b *strings.Builder, sgr, line string) {
	carriage := strings.HasSuffix(line, "\r")
	text := clean(strings.TrimSuffix(line, "\r"), true)
	if _, n := utf8.DecodeRuneInString(text); n > 0 {
		text = text[:n] + untab(text[n:]) // tabs are counted from where the file's own line begins
	}
	if carriage {
		text += "^M"
	}
	for i, part := range chop(text, s.wide()-4) {
		lead := "  "
		if i > 0 {
			lead = "  ↪ "
		}
		painted := part
		if sgr != "" {
			painted = s.paint(sgr, part)
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(lead+painted, " "))
	}
}

// hunkLines reads how many old and new lines follow "@@ -1,3 +1,4 @@".
func hunkLines(header string) (before, after int) {
	fields := strings.Fields(header)
	if len(fields) < 3 {
		return 0, 0
	}
	n := func(f string) int {
		_, count, ok := strings.Cut(f, ",")
		if !ok {
			return 1
		}
		v, err := strconv.Atoi(count)
		if err != nil {
			return 0
		}
		return v
	}
	return n(fields[1]), n(fields[2])
}

// A difference that is no proposal: what fmt would change.

// Diff shows a patch in git's format.
func (s *Screen) Diff(patch []byte) { s.put(s.diff(patch)) }
