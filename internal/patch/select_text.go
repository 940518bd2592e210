// The text of a patch, cut into its hunks and put together again: a selection of it, or one that a person has edited.

package patch

import (
	"fmt"
	"slices"
	"strings"
)

// A section is the text of one file's patch.
type section struct {
	path string
	head []string // up to the first hunk; of a patch without hunks all of it
	body []cutting
}

// A cutting is the text of one hunk.
type cutting struct {
	old   int // first old line, as its header has it
	lines []string
}

// Select gives the text of the parts that keep chooses; n counts from 0 and is as in PathPatch. The patch must be one that
// Parse takes.
func Select(b []byte, keep func(path string, n int) bool) ([]byte, error) {
	sections, err := sectionsOf(b)
	if err != nil {
		return nil, err
	}
	var w writer
	for i := range sections {
		s := &sections[i]
		if len(s.body) == 0 || s.whole() {
			if keep(s.path, 0) {
				s.write(&w)
			}
			continue
		}
		kept := *s
		kept.body = nil
		for n, c := range s.body {
			if keep(s.path, n) {
				kept.body = append(kept.body, c)
			}
		}
		if !keep(s.path, 0) {
			kept.head = withoutMode(kept.head)
		}
		if len(kept.body) > 0 {
			kept.write(&w)
		}
	}
	return w.Bytes(), nil
}

// Recount corrects what a person who edits a patch leaves wrong: how many lines a hunk has and where its new ones begin.
// Hunks in which nothing changes any more are left out, and files of which nothing is left; so are lines before the first
// file. Where the old lines of a hunk begin must be right.
func Recount(b []byte) ([]byte, error) {
	text := strings.TrimRight(string(b), "\n")
	if at := strings.Index("\n"+text, "\ndiff --git "); at >= 0 {
		text = text[at:]
	} else if strings.Trim(text, " \t\n") == "" || !strings.Contains("\n"+text, "\n--- ") {
		return nil, nil
	}
	sections, err := sectionsOf([]byte(text + "\n"))
	if err != nil {
		return nil, err
	}
	var w writer
	for i := range sections {
		s := &sections[i]
		had := len(s.body) > 0
		s.body = slices.DeleteFunc(s.body, func(c cutting) bool {
			return !slices.ContainsFunc(c.lines, func(l string) bool { return strings.HasPrefix(l, "+") || strings.HasPrefix(l, "-") })
		})
		if had && len(s.body) == 0 {
			if s.whole() || !s.modes() {
				continue
			}
			s.head = slices.DeleteFunc(s.head, func(l string) bool {
				return strings.HasPrefix(l, "index ") || strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ")
			})
		}
		s.write(&w)
	}
	return w.Bytes(), nil
}

// sectionsOf reads no more of a patch than where its files and hunks begin. A line of a hunk begins with a space, +, - or \, and
// one of a binary block holds no space, so both ends are plain.
func sectionsOf(b []byte) ([]section, error) {
	var all []section
	var at *section
	inHunk := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "--- ") && at == nil:
			all = append(all, section{head: []string{line}})
			at, inHunk = &all[len(all)-1], false
			if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
				name, err := gitNames(rest)
				if err != nil {
					return nil, fmt.Errorf("%w: %.60q: %w", ErrMalformed, line, err)
				}
				at.path = name
			}
		case at == nil:
			return nil, fmt.Errorf("%w: %.60q is not the beginning of a file's patch", ErrMalformed, line)
		case strings.HasPrefix(line, "@@ "):
			old, _, _ := strings.Cut(strings.TrimPrefix(line, "@@ "), " ")
			pos, _, ok := rangeOf(old, "-")
			if !ok {
				return nil, fmt.Errorf("%w: %.60q is not the head of a hunk", ErrMalformed, line)
			}
			at.body = append(at.body, cutting{old: pos})
			inHunk = true
		case inHunk:
			c := &at.body[len(at.body)-1]
			c.lines = append(c.lines, line)
		default:
			at.head = append(at.head, line)
		}
	}
	return all, nil
}

// whole says that the file comes or goes: its one hunk is all of it.
func (s *section) whole() bool { return s.begins("new file mode ") || s.begins("deleted file mode ") }

// modes says that the head alone changes something.
func (s *section) modes() bool { return s.begins("new mode ") }

func (s *section) begins(prefix string) bool {
	return slices.ContainsFunc(s.head, func(l string) bool { return strings.HasPrefix(l, prefix) })
}

func withoutMode(head []string) []string {
	return slices.DeleteFunc(slices.Clone(head), func(l string) bool {
		return strings.HasPrefix(l, "old mode ") || strings.HasPrefix(l, "new mode ")
	})
}

// write writes the section with the numbers that its lines have.
func (s *section) write(w *writer) {
	for _, l := range s.head {
		w.line(l)
	}
	shift := 0
	for _, c := range s.body {
		old, now := 0, 0
		for _, l := range c.lines {
			switch {
			case strings.HasPrefix(l, "+"):
				now++
			case strings.HasPrefix(l, "-"):
				old++
			case !strings.HasPrefix(l, `\`):
				old, now = old+1, now+1
			}
		}
		before := c.old - 1
		if old == 0 {
			before = c.old
		}
		if before < 0 { // a new file of which a person wrote lines of context: for Parse to say
			before = 0
		}
		w.line("@@ -", span(before, before+old), " +", span(before+shift, before+shift+now), " @@")
		for _, l := range c.lines {
			w.line(l)
		}
		shift += now - old
	}
}
