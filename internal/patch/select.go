// Parts of a patch: the hunks of one path, taken or left one by one.

package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// A PathPatch is all that a patch does to one path. Its parts are the hunks of a changed text, in the order of the
// patch; everything else (a file that comes or goes, a binary content, a mode alone, a change of type) is one part.
// A change of mode goes with the first hunk.
type PathPatch struct {
	Path  string
	files []FilePatch // one; two for a change of type
}

// Paths returns the patch path by path, in its own order.
func (p *Patch) Paths() []PathPatch {
	all, at := make([]PathPatch, 0, len(p.Files)), make(map[string]int, len(p.Files))
	for _, f := range p.Files {
		n, seen := at[f.Path]
		if !seen {
			n = len(all)
			all, at[f.Path] = append(all, PathPatch{Path: f.Path}), n
		}
		all[n].files = append(all[n].files, f)
	}
	return all
}

// hunks reports whether the parts are hunks, and not the whole.
func (g PathPatch) hunks() bool {
	return len(g.files) == 1 && g.files[0].Change == "modified" && len(g.files[0].Hunks) > 0
}

// Parts returns the names of the parts: the header of each hunk, or one word for the whole.
func (g PathPatch) Parts() []string {
	switch {
	case g.hunks():
		var heads []string
		for _, h := range g.files[0].Hunks {
			heads = append(heads, h.Header)
		}
		return heads
	case len(g.files) > 1:
		return []string{"another type"}
	case g.files[0].Change != "modified":
		return []string{g.files[0].Change}
	case g.files[0].Binary:
		return []string{"binary"}
	}
	return []string{"mode"}
}

// Splice returns the content of a path after the parts of from, which it has now, were replaced by those of to. nil is
// a path that does not exist. The error is ErrConflict if now is not what the patch says.
func (g PathPatch) Splice(now *File, from, to []bool) (*File, error) {
	if slices.Equal(from, to) {
		return now, nil
	}
	if g.hunks() {
		return g.files[0].splice(now, from, to)
	}
	if to[0] {
		for i := range g.files {
			var err error
			if now, err = g.files[i].apply(now); err != nil {
				return nil, err
			}
		}
		return now, nil
	}
	for _, f := range slices.Backward(g.files) {
		var err error
		if now, err = f.undo(now); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// splice is Splice for hunks.
func (f *FilePatch) splice(now *File, from, to []bool) (*File, error) {
	if now == nil {
		return nil, conflict(f.Path, 0, "it is not there")
	}
	old, mode := f.OldMode, f.OldMode
	if from[0] && f.NewMode != 0 {
		old = f.NewMode
	}
	if to[0] && f.NewMode != 0 {
		mode = f.NewMode
	}
	if old != 0 && gitMode(old) != gitMode(now.Mode) {
		return nil, conflict(f.Path, 0, "its mode is "+gitMode(now.Mode)+", not "+gitMode(old))
	}
	if old == mode {
		mode = now.Mode
	}
	lines := splitLines(string(now.Data))
	var out bytes.Buffer
	done, shift := 0, 0 // lines of now behind us; by how much from moved what comes
	for i, h := range f.Hunks {
		was, next := h.side(from[i]), h.side(to[i])
		at := h.before() + shift
		if at < done || at+len(was) > len(lines) || !slices.Equal(lines[at:at+len(was)], was) {
			return nil, conflict(f.Path, int64(at)+1, "the text is not the one the patch was made for")
		}
		writeLines(&out, lines[done:at])
		writeLines(&out, next)
		done = at + len(was)
		shift += len(was) - len(h.side(false))
	}
	writeLines(&out, lines[done:])
	return &File{Mode: mode, Data: out.Bytes()}, nil
}

func writeLines(to *bytes.Buffer, lines []string) {
	for _, l := range lines {
		to.WriteString(l)
	}
}

// before returns the number of old lines above the hunk.
func (h Hunk) before() int {
	if len(h.side(false)) == 0 {
		return h.OldLine // git counts a side without lines from the line before
	}
	return h.OldLine - 1
}

// side returns the new or the old lines of a hunk, with their ends.
func (h Hunk) side(after bool) []string {
	skip := byte('+')
	if after {
		skip = '-'
	}
	var lines []string
	for _, l := range h.Lines {
		switch {
		case l.Op == skip:
		case l.NoNewline:
			lines = append(lines, l.Text)
		default:
			lines = append(lines, l.Text+"\n")
		}
	}
	return lines
}

// undo reverses apply.
func (f *FilePatch) undo(after *File) (*File, error) {
	switch {
	case f.Change == "deleted":
		if after != nil {
			return nil, conflict(f.Path, 0, "it is there already")
		}
		return f.deleted()
	case after == nil:
		return nil, conflict(f.Path, 0, "it is not there")
	case f.Change == "added":
		made, err := f.apply(nil)
		if err != nil {
			return nil, err
		}
		if !Equal(made, after) {
			return nil, conflict(f.Path, 0, "the content is not the one the patch makes")
		}
		return nil, nil
	case f.NewMode != 0 && gitMode(f.NewMode) != gitMode(after.Mode):
		return nil, conflict(f.Path, 0, "its mode is "+gitMode(after.Mode)+", not "+gitMode(f.NewMode))
	}
	made := &File{Mode: after.Mode, Data: after.Data}
	if f.OldMode != 0 {
		made.Mode = f.OldMode
	}
	if f.Binary {
		if blobOf(after) != f.newBlob {
			return nil, conflict(f.Path, 0, "the content is not the one the patch makes")
		}
		return f.reversed(made)
	}
	return made, nil
}

// deleted returns the file that a deletion removed.
func (f *FilePatch) deleted() (*File, error) {
	made := &File{Mode: f.OldMode}
	if f.OldMode == 0 {
		made.Mode = 0o644
	}
	if f.Binary {
		return f.reversed(made)
	}
	var text bytes.Buffer
	for _, h := range f.Hunks {
		writeLines(&text, h.side(false))
	}
	made.Data = text.Bytes()
	return made, nil
}

// reversed fills in the old content of a binary patch, if the patch contains it.
func (f *FilePatch) reversed(made *File) (*File, error) {
	if f.file.ReverseBinaryFragment == nil {
		return nil, conflict(f.Path, 0, "the patch does not hold what the file held before")
	}
	back := *f.file
	back.BinaryFragment = back.ReverseBinaryFragment
	var data bytes.Buffer
	if err := gitdiff.Apply(&data, bytes.NewReader(made.Data), &back,
		gitdiff.WithMaxBinaryFragmentBytes(maxInflated)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, quote(f.Path), err)
	}
	made.Data = data.Bytes()
	if blobOf(made) != f.oldBlob {
		return nil, fmt.Errorf("%w: %s: its old content is not %s, which its index line names",
			ErrMalformed, quote(f.Path), f.oldBlob)
	}
	return made, nil
}

// maxSearch bounds how many sets of hunks Holds tries. Only where a hunk's old and new lines both fit is there more
// than one.
const maxSearch = 64

// Holds returns which parts are in a path, if the path is the base with some of them; isBase reports whether a file is
// the base. The first set that fits counts, one with few parts before one with more.
func (g PathPatch) Holds(now *File, isBase func(*File) bool) (parts []bool, ok bool) {
	parts = make([]bool, len(g.Parts()))
	if isBase(now) {
		return parts, true
	}
	if !g.hunks() {
		parts[0] = true
		base, err := g.Splice(now, parts, []bool{false})
		return parts, err == nil && isBase(base)
	}
	if now == nil {
		return nil, false
	}
	f, lines, tries := &g.files[0], splitLines(string(now.Data)), 0
	var search func(n, shift int) bool
	search = func(n, shift int) bool {
		if n == len(f.Hunks) {
			tries++
			base, err := f.splice(now, parts, make([]bool, len(parts)))
			return err == nil && isBase(base)
		}
		h := f.Hunks[n]
		at, old := h.before()+shift, len(h.side(false))
		for _, has := range []bool{false, true} {
			side := h.side(has)
			if at < 0 || at+len(side) > len(lines) || !slices.Equal(lines[at:at+len(side)], side) {
				continue
			}
			parts[n] = has
			if search(n+1, shift+len(side)-old) {
				return true
			}
			if tries >= maxSearch {
				return false
			}
		}
		parts[n] = false
		return false
	}
	return parts, search(0, 0)
}

// The text of a patch, cut into its hunks and put together again: a selection of it, or one that a person has edited.

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

// Select returns the text of the parts that keep chooses; n counts from 0 and is as in PathPatch. The patch must be
// one that Parse takes.
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

// Recount corrects what a person who edits a patch leaves wrong: how many lines a hunk has and where its new ones
// begin. Hunks in which nothing changes any more are left out, and files of which nothing is left; so are lines
// before the first file. Where the old lines of a hunk begin must be right.
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
			return !slices.ContainsFunc(c.lines,
				func(l string) bool { return strings.HasPrefix(l, "+") || strings.HasPrefix(l, "-") })
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

// sectionsOf reads no more of a patch than where its files and hunks begin. A line of a hunk begins with a space,
// +, - or \, and one of a binary block holds no space, so both ends are plain.
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

// whole reports that the file comes or goes: its one hunk is all of it.
func (s *section) whole() bool { return s.begins("new file mode ") || s.begins("deleted file mode ") }

// modes reports that the head alone changes something.
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
		before := max(0, c.old-1) // 0 for lines of context in a new file, which Parse refuses
		if old == 0 {
			before = c.old
		}
		w.line("@@ -", span(before, before+old), " +", span(before+shift, before+shift+now), " @@")
		for _, l := range c.lines {
			w.line(l)
		}
		shift += now - old
	}
}
