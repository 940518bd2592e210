// Reading the hunks or the binary block of one file's patch.

package patch

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Headers under which a body goes to go-gitdiff; the real name stays with us.
const (
	textHeader   = "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
	binaryHeader = "diff --git a/f b/f\nindex " + nullBlob + ".." + nullBlob + "\n"
)

// ours parses a body that begins at start and ends here.
func (s *scanner) ours(header, start string) (*gitdiff.File, error) {
	files, before, err := gitdiff.Parse(strings.NewReader(header + start[:len(start)-len(s.rest)]))
	if err != nil || len(files) != 1 || before != "" {
		return nil, s.bad("a body that cannot be read (%v)", err)
	}
	return files[0], nil
}

// text reads the hunks.
func (s *scanner) text(f *FilePatch, h *header) error {
	start := s.rest
	t := &texts{scanner: s}
	for s.have("@@ ") {
		hunk, err := t.hunk()
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, *hunk)
	}
	if len(f.Hunks) == 0 {
		return s.bad("%s: no hunks", quote(h.path))
	}
	f.Added, f.Removed = t.added, t.removed
	switch {
	case f.Change == "added" && (len(f.Hunks) > 1 || t.oldEnd != 0):
		return s.bad("%s: a new file cannot have old lines", quote(h.path))
	case f.Change == "deleted" && (len(f.Hunks) > 1 || t.newEnd != 0):
		return s.bad("%s: a deleted file cannot have new lines", quote(h.path))
	}
	var err error
	if f.parsed.file, err = s.ours(textHeader, start); err != nil {
		return err
	}
	if len(f.parsed.file.TextFragments) != len(f.Hunks) {
		return s.bad("%s: hunks that cannot be told apart", quote(h.path))
	}
	for i, frag := range f.parsed.file.TextFragments {
		if len(frag.Lines) != len(f.Hunks[i].Lines) {
			return s.bad("%s: lines that cannot be told apart", quote(h.path))
		}
	}
	return nil
}

// texts follows the two texts through the hunks of one file.
type texts struct {
	*scanner
	oldEnd, newEnd   int  // lines of either side that are behind us, counted by the headers
	oldDone, newDone bool // a line without end has been seen: nothing may follow
	added, removed   int
}

func (t *texts) hunk() (*Hunk, error) {
	head := t.next()
	ranges, _, ok := strings.Cut(strings.TrimPrefix(head, "@@ "), " @@")
	old, now, ok2 := strings.Cut(ranges, " ")
	oldPos, oldLines, ok3 := rangeOf(old, "-")
	newPos, newLines, ok4 := rangeOf(now, "+")
	if !ok || !ok2 || !ok3 || !ok4 {
		return nil, t.bad("%.60q is not the head of a hunk", head)
	}
	hunk := &Hunk{Header: "@@ " + ranges + " @@", OldLine: oldPos, NewLine: newPos}
	// Lines before this hunk, on either side. git counts a side without lines from the line before.
	oldBefore, newBefore := oldPos-1, newPos-1
	if oldLines == 0 {
		oldBefore++
	}
	if newLines == 0 {
		newBefore++
	}
	switch {
	case oldBefore < t.oldEnd || newBefore < t.newEnd || oldBefore-t.oldEnd != newBefore-t.newEnd:
		return nil, t.bad("the hunk's place does not follow from the ones before it")
	case oldLines == 0 && oldPos != 0:
		return nil, t.bad("a hunk without old lines says nothing about its place; write the patch with lines of context")
	}
	t.oldEnd, t.newEnd = oldBefore+oldLines, newBefore+newLines
	for oldLines > 0 || newLines > 0 {
		l, err := t.hunkLine()
		if err != nil {
			return nil, err
		}
		if l.Op != '+' {
			oldLines--
		}
		if l.Op != '-' {
			newLines--
		}
		if oldLines < 0 || newLines < 0 {
			return nil, t.bad("more lines than the head of the hunk says")
		}
		hunk.Lines = append(hunk.Lines, l)
	}
	return hunk, nil
}

func (t *texts) hunkLine() (Line, error) {
	if _, more := t.peek(); !more {
		return Line{}, t.bad("the patch ends within a hunk")
	}
	if t.hunkLines--; t.hunkLines < 0 {
		return Line{}, errLines
	}
	if strings.IndexByte(t.rest, '\n') < 0 {
		t.next()
		return Line{}, t.bad("the patch's last line has no end")
	}
	text := t.next()
	l := Line{Op: ' '}
	if text != "" { // an empty line is an empty context line whose space was lost
		l.Op, l.Text = text[0], text[1:]
	}
	if l.Op != ' ' && l.Op != '+' && l.Op != '-' {
		return Line{}, t.bad("a line of a hunk begins with a space, + or -, not with %.10q", text)
	}
	if l.Op != '+' && t.oldDone || l.Op != '-' && t.newDone {
		return Line{}, t.bad("lines after the one without a line end")
	}
	switch l.Op {
	case '+':
		t.added++
	case '-':
		t.removed++
	}
	if t.have(`\ `) { // the words after it depend on the writer's language
		if marker := t.next(); len(marker) < 12 {
			return Line{}, t.bad("%q: want %q", marker, noNewline)
		}
		l.NoNewline = true
		t.oldDone = t.oldDone || l.Op != '+'
		t.newDone = t.newDone || l.Op != '-'
	}
	return l, nil
}

// rangeOf reads "-1,3" or "-1".
func rangeOf(s, sign string) (pos, lines int, ok bool) {
	s, ok = strings.CutPrefix(s, sign)
	p, n, both := strings.Cut(s, ",")
	if !both {
		n = "1"
	}
	pos, okP := number(p)
	lines, okN := number(n)
	return pos, lines, ok && okP && okN && (pos > 0 || lines == 0)
}

// number reads up to nine digits.
func number(s string) (int, bool) {
	if s == "" || len(s) > 9 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// binary reads a GIT binary patch: one literal block, perhaps a second one for the way back.
func (s *scanner) binary(f *FilePatch, h *header) error {
	start := s.rest
	s.next()
	if len(h.oldBlob) != len(nullBlob) || len(h.newBlob) != len(nullBlob) {
		return s.bad("%s: a binary patch needs a full index line; write it with git diff --binary --full-index", quote(h.path))
	}
	if (f.OldMode|f.NewMode)&fs.ModeSymlink != 0 {
		return s.bad("%s: a symlink cannot be binary", quote(h.path))
	}
	blocks := 0
	for ; blocks < 2 && s.have("literal "); blocks++ {
		size, ok := number(strings.TrimPrefix(s.next(), "literal "))
		if s.inflated -= int64(size); !ok || s.inflated < 0 {
			return errBytes
		}
		for {
			line, more := s.peek()
			if !more {
				return s.bad("the patch ends within a binary block")
			}
			s.next()
			if line == "" {
				break
			}
		}
	}
	if blocks == 0 || s.have("delta ") {
		s.next()
		return s.bad("%s: want literal blocks; deltas are not taken", quote(h.path))
	}
	var err error
	if f.parsed.file, err = s.ours(binaryHeader, start); err != nil {
		return err
	}
	if f.parsed.file.BinaryFragment == nil || (f.parsed.file.ReverseBinaryFragment != nil) != (blocks == 2) {
		return s.bad("%s: binary blocks that cannot be told apart", quote(h.path))
	}
	f.Binary = true
	f.parsed.oldBlob, f.parsed.newBlob = h.oldBlob, h.newBlob
	return nil
}
