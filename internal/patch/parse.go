// Reading a patch. We read the frame ourselves, because go-gitdiff skips what it does not understand, takes ../evil
// for a path and stumbles over some quoted names; the hunks and binary blocks within the frame are read by
// go-gitdiff, and both must agree on how many there are.

package patch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// Parse reads a patch, ours or a plain unified diff (---, +++ with a/ and b/, hunks). It refuses, with
// ErrUnsafePath, paths that CheckPath refuses; with ErrTooLarge what is over its limits; and with ErrMalformed
// everything else: a path named twice unless it is a change of type (delete then add), a path below one that stays
// a file, renames, copies, submodules, binary deltas, hunks without content or out of order, and anything left over
// before, between or after. No bytes are a patch of no files.
func Parse(b []byte) (*Patch, error) {
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, len(b), MaxBytes)
	}
	s := &scanner{rest: string(b), inflated: maxInflated, hunkLines: maxLines}
	p := &Patch{}
	for s.rest != "" {
		f, err := s.file()
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, *f)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, nil
}

// check compares all files with each other.
func (p *Patch) check() error {
	at := map[string]int{} // path → index of its last file
	for i := range p.Files {
		f := &p.Files[i]
		j, twice := at[f.Path]
		at[f.Path] = i
		if !twice {
			continue
		}
		if first := &p.Files[j]; first.Change != "deleted" || f.Change != "added" ||
			first.OldMode.Type() == f.NewMode.Type() {
			return fmt.Errorf("%w: %s stands there twice", ErrMalformed, quote(f.Path))
		}
		f.Change = typeChange // a third one must not pass
	}
	for i := range p.Files {
		f := &p.Files[i]
		if f.Change == typeChange {
			f.Change = "added"
		}
		if f.Change == "deleted" {
			continue
		}
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if j, ok := at[dir]; ok && p.Files[j].Change != "deleted" {
				return fmt.Errorf("%w: %s would lie in %s, which is a file", ErrMalformed, quote(f.Path), quote(dir))
			}
		}
	}
	return nil
}

// typeChange marks the second part of a change of type while check works.
const typeChange = "type"

// A scanner goes through a patch line by line.
type scanner struct {
	rest      string
	line      int // number of the line last taken, from 1
	inflated  int64
	hunkLines int
}

// peek returns the next line without its end; more is false at the end of the patch.
func (s *scanner) peek() (line string, more bool) {
	line, _, _ = strings.Cut(s.rest, "\n")
	return line, s.rest != ""
}

func (s *scanner) next() string {
	line, rest, _ := strings.Cut(s.rest, "\n")
	s.rest = rest
	s.line++
	return line
}

// have reports whether the next line begins with prefix.
func (s *scanner) have(prefix string) bool { return strings.HasPrefix(s.rest, prefix) }

func (s *scanner) bad(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrMalformed, s.line, fmt.Sprintf(format, args...))
}

// A header has the lines before the hunks of one file.
type header struct {
	path                               string
	oldMode, newMode, added, deleted   string // as written; "" where not
	oldBlob, newBlob, mode             string // of the index line
	plain                              bool   // no "diff --git" line
	oldNull, newNull, namesSeen, index bool
}

func (s *scanner) file() (*FilePatch, error) {
	h, err := s.header()
	if err != nil {
		return nil, err
	}
	f, err := s.filePatch(h)
	if err != nil {
		return nil, err
	}
	switch {
	case s.have("GIT binary patch\n") && !h.namesSeen:
		return f, s.binary(f, h)
	case h.namesSeen:
		return f, s.text(f, h)
	case s.have("Binary files "), s.have("GIT binary patch"):
		s.next()
		return nil, s.bad("a binary patch of %s without its content; write it with git diff --binary --full-index",
			quote(h.path))
	}
	return f, s.bare(f, h)
}

// bare checks a file's patch without content: a change of mode, or an empty file that is added or deleted.
func (s *scanner) bare(f *FilePatch, h *header) error {
	if f.Change == "modified" {
		if h.oldMode == "" || h.oldMode == h.newMode || h.index {
			return s.bad("%s: nothing changes", quote(h.path))
		}
		return nil
	}
	blob, link := h.newBlob, h.added == "120000"
	if f.Change == "deleted" {
		blob, link = h.oldBlob, h.deleted == "120000"
	}
	if link || h.index && !strings.HasPrefix(emptyBlob, blob) && !strings.HasPrefix(emptyBlob256, blob) {
		return s.bad("%s: the content is missing", quote(h.path))
	}
	return nil
}

// filePatch checks the header.
func (s *scanner) filePatch(h *header) (*FilePatch, error) {
	if err := CheckPath(h.path); err != nil {
		return nil, err
	}
	f := &FilePatch{Path: h.path, Change: "modified"}
	isNew, isGone := h.added != "" || h.plain && h.oldNull, h.deleted != "" || h.plain && h.newNull
	switch {
	case isNew && isGone, (isNew || isGone) && (h.oldMode != "" || h.newMode != ""),
		(h.oldMode == "") != (h.newMode == ""):
		return nil, s.bad("%s: modes that contradict each other", quote(h.path))
	case h.namesSeen && (h.oldNull != isNew || h.newNull != isGone):
		return nil, s.bad("%s: /dev/null stands where a new or deleted file is not said, or the other way round",
			quote(h.path))
	case isNew:
		f.Change, f.NewMode = "added", fileMode(cmp.Or(h.added, h.mode, "100644"))
	case isGone:
		f.Change, f.OldMode = "deleted", fileMode(cmp.Or(h.deleted, h.mode))
	default:
		f.OldMode, f.NewMode = fileMode(cmp.Or(h.oldMode, h.mode)), fileMode(cmp.Or(h.newMode, h.mode))
	}
	if f.Change == "modified" && f.OldMode.Type() != f.NewMode.Type() {
		return nil, s.bad("%s: a change of type must be a deletion and an addition", quote(h.path))
	}
	for _, m := range []string{h.oldMode, h.added, h.deleted} {
		if m != "" && h.mode != "" && m != h.mode {
			return nil, s.bad("%s: modes that contradict each other", quote(h.path))
		}
	}
	if (f.OldMode|f.NewMode)&fs.ModeSymlink != 0 {
		if err := checkLink(h.path); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// fileMode is the inverse of gitMode; 0 for "".
func fileMode(s string) fs.FileMode {
	switch s {
	case "100644":
		return 0o644
	case "100755":
		return 0o755
	case "120000":
		return fs.ModeSymlink | 0o777
	}
	return 0
}

// Reading the header of one file's patch.

var indexLine = lazily.Regexp(`^([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?$`)

func (s *scanner) header() (*header, error) {
	h := &header{}
	if s.have("--- ") {
		h.plain = true
		return h, s.names(h)
	}
	line := s.next()
	rest, ok := strings.CutPrefix(line, "diff --git ")
	if !ok {
		return nil, s.bad("%.60q is not the beginning of a file's patch", line)
	}
	var err error
	if h.path, err = gitNames(rest); err != nil {
		return nil, s.bad("%v", err)
	}
	for {
		switch {
		case s.have("--- "):
			return h, s.names(h)
		case s.have("index "):
			err = s.index(h)
		case s.have("old mode "):
			err = s.mode(&h.oldMode, "old mode ")
		case s.have("new mode "):
			err = s.mode(&h.newMode, "new mode ")
		case s.have("new file mode "):
			err = s.mode(&h.added, "new file mode ")
		case s.have("deleted file mode "):
			err = s.mode(&h.deleted, "deleted file mode ")
		case s.have("rename "), s.have("copy "), s.have("similarity "), s.have("dissimilarity "):
			s.next()
			return nil, s.bad("renames and copies are not taken; write the patch with git diff --no-renames")
		default:
			return h, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *scanner) mode(to *string, prefix string) error {
	mode := strings.TrimPrefix(s.next(), prefix)
	if *to != "" || fileMode(mode) == 0 {
		return s.bad("mode %.20q: want one of 100644, 100755, 120000, and once", mode)
	}
	*to = mode
	return nil
}

func (s *scanner) index(h *header) error {
	m := indexLine().FindStringSubmatch(strings.TrimPrefix(s.next(), "index "))
	if m == nil || h.index || m[3] != "" && fileMode(m[3]) == 0 {
		return s.bad("not an index line")
	}
	h.index, h.oldBlob, h.newBlob, h.mode = true, m[1], m[2], m[3]
	return nil
}

// names reads the --- and +++ lines.
func (s *scanner) names(h *header) error {
	h.namesSeen = true
	old, oldNull, err := fileName(strings.TrimPrefix(s.next(), "--- "), "a/")
	if err != nil {
		return s.bad("%v", err)
	}
	if !s.have("+++ ") {
		return s.bad("no +++ line after this one")
	}
	now, newNull, err := fileName(strings.TrimPrefix(s.next(), "+++ "), "b/")
	if err != nil {
		return s.bad("%v", err)
	}
	h.oldNull, h.newNull = oldNull, newNull
	if h.plain {
		h.path = cmp.Or(now, old)
	}
	if oldNull && newNull || !oldNull && old != h.path || !newNull && now != h.path {
		return s.bad("the names of the file do not agree; renames are not taken")
	}
	return nil
}

var (
	errPrefix = errors.New("want names that begin with a/ and b/, or /dev/null")
	errRename = errors.New("want the same name behind a/ and b/; renames are not taken")
)

// fileName reads the name of a --- or +++ line; a tab ends it, what follows would be a time.
func fileName(s, prefix string) (name string, null bool, err error) {
	if strings.HasPrefix(s, `"`) {
		name, s, err = unquote(s)
		if err != nil {
			return "", false, err
		}
		if s != "" && s[0] != '\t' {
			return "", false, errQuote
		}
	} else {
		name, _, _ = strings.Cut(s, "\t")
		if name == "/dev/null" {
			return "", true, nil
		}
	}
	name, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return "", false, errPrefix
	}
	return name, false, nil
}

// gitNames reads the two names of a "diff --git" line. They must be one: then it is clear where the first ends,
// whatever spaces are in it.
func gitNames(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		n := (len(s) - len("a/ b/")) / 2
		if n < 1 || s != "a/"+s[2:2+n]+" b/"+s[2:2+n] {
			return "", errRename
		}
		return s[2 : 2+n], nil
	}
	old, rest, err := unquote(s)
	if err != nil {
		return "", err
	}
	rest, ok := strings.CutPrefix(rest, " ")
	if !ok {
		return "", errQuote
	}
	now, rest, err := unquote(rest)
	if err != nil {
		return "", err
	}
	a, okA := strings.CutPrefix(old, "a/")
	b, okB := strings.CutPrefix(now, "b/")
	if rest != "" || !okA || !okB || a != b {
		return "", errRename
	}
	return a, nil
}

// Reading the hunks or the binary block of one file's patch.

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
	if f.file, err = s.ours(textHeader, start); err != nil {
		return err
	}
	if len(f.file.TextFragments) != len(f.Hunks) {
		return s.bad("%s: hunks that cannot be told apart", quote(h.path))
	}
	for i, frag := range f.file.TextFragments {
		if len(frag.Lines) != len(f.Hunks[i].Lines) {
			return s.bad("%s: lines that cannot be told apart", quote(h.path))
		}
	}
	return nil
}

// texts has the position in both texts while the hunks of one file are read.
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
		return s.bad("%s: a binary patch needs a full index line; write it with git diff --binary --full-index",
			quote(h.path))
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
	if f.file, err = s.ours(binaryHeader, start); err != nil {
		return err
	}
	if f.file.BinaryFragment == nil || (f.file.ReverseBinaryFragment != nil) != (blocks == 2) {
		return s.bad("%s: binary blocks that cannot be told apart", quote(h.path))
	}
	f.Binary = true
	f.oldBlob, f.newBlob = h.oldBlob, h.newBlob
	return nil
}
