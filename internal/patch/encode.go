// Writing a patch.

package patch

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git's object names are SHA-1; nothing is protected by it
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Encode writes a unified diff in git's format: a/ b/ prefixes, full index lines, no renames, deletions before
// additions that need their place, paths quoted as git quotes them. The same changes always give the same bytes;
// changes that change nothing give none. A path that CheckPath refuses, a path given twice and what is neither file
// nor symlink are errors.
func Encode(changes []Change) ([]byte, error) {
	entries, err := entries(changes)
	if err != nil {
		return nil, err
	}
	var w writer
	for _, e := range entries {
		if err := w.entry(e); err != nil {
			return nil, fmt.Errorf("%s: %w", quote(e.path), err)
		}
	}
	return w.Bytes(), nil
}

// An entry is one file's part of the patch. A change of type is two.
type entry struct {
	path          string
	place         string // sorted by this
	before, after *File
}

// order puts deletions before what needs their place.
func (e entry) order() int {
	if e.after == nil {
		return 0
	}
	return 1
}

func entries(changes []Change) ([]entry, error) {
	var list []entry
	added, seen := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		if err := checkChange(c); err != nil {
			return nil, err
		}
		if seen[c.Path] {
			return nil, fmt.Errorf("%s: two changes of one path", quote(c.Path))
		}
		seen[c.Path] = true
		switch {
		case Equal(c.Before, c.After):
		case c.Before != nil && c.After != nil && isLink(c.Before) != isLink(c.After):
			list = append(list, entry{c.Path, c.Path, c.Before, nil}, entry{c.Path, c.Path, nil, c.After})
			added[c.Path] = true
		default:
			list = append(list, entry{c.Path, c.Path, c.Before, c.After})
			added[c.Path] = c.Before == nil
		}
	}
	for i, e := range list {
		if e.after != nil {
			continue
		}
		for j := range len(e.path) { // a deletion below a path that becomes a file goes before it
			if e.path[j] == '/' && added[e.path[:j]] {
				list[i].place = e.path[:j]
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.place, b.place), a.order()-b.order(), strings.Compare(a.path, b.path))
	})
	return list, nil
}

func checkChange(c Change) error {
	if err := CheckPath(c.Path); err != nil {
		return err
	}
	for _, f := range []*File{c.Before, c.After} {
		switch {
		case f == nil:
		case isLink(f):
			if err := checkLink(c.Path); err != nil {
				return err
			}
			if len(f.Data) == 0 || bytes.IndexByte(f.Data, 0) >= 0 {
				return fmt.Errorf("%s: a symlink needs a text without NUL", quote(c.Path))
			}
		case !f.Mode.IsRegular():
			return fmt.Errorf("%s: neither file nor symlink: %v", quote(c.Path), f.Mode)
		}
	}
	return nil
}

// Equal reports whether two files are the same to git: type, executable bit and content. nil equals only nil.
func Equal(a, b *File) bool {
	if a == nil || b == nil {
		return a == b
	}
	return gitMode(a.Mode) == gitMode(b.Mode) && bytes.Equal(a.Data, b.Data)
}

func isLink(f *File) bool { return f.Mode&fs.ModeSymlink != 0 }

// gitMode returns the mode as git writes it.
func gitMode(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "120000"
	case m&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// looksBinary reports whether f is written as a binary block: by git's rule, a NUL in the first 8,000 bytes, or
// because it has more lines than Parse takes.
func looksBinary(f *File) bool {
	if f == nil || isLink(f) {
		return false
	}
	return hasNUL(f.Data) || bytes.Count(f.Data, []byte("\n")) > maxLines/4
}

type writer struct{ bytes.Buffer }

func (w *writer) line(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
	w.WriteByte('\n')
}

func (w *writer) entry(e entry) error {
	old, now := quote("a/"+e.path), quote("b/"+e.path)
	if strings.Contains(e.path, " /") && old[0] != '"' {
		// git apply does not find the end of such a name here (it looks for the space before "b/"), though git diff
		// writes it.
		w.line(`diff --git "`, old, `" "`, now, `"`)
	} else {
		w.line("diff --git ", old, " ", now)
	}
	var before, after []byte
	mode := ""
	switch {
	case e.before == nil:
		w.line("new file mode ", gitMode(e.after.Mode))
		old, after = "/dev/null", e.after.Data
	case e.after == nil:
		w.line("deleted file mode ", gitMode(e.before.Mode))
		now, before = "/dev/null", e.before.Data
	default:
		before, after = e.before.Data, e.after.Data
		if o, n := gitMode(e.before.Mode), gitMode(e.after.Mode); o != n {
			w.line("old mode ", o)
			w.line("new mode ", n)
		} else {
			mode = " " + o
		}
		if bytes.Equal(before, after) {
			return nil
		}
	}
	w.line("index ", blobOf(e.before), "..", blobOf(e.after), mode)
	if looksBinary(e.before) || looksBinary(e.after) {
		w.line("GIT binary patch")
		return w.binary(after, before)
	}
	if len(before) == 0 && len(after) == 0 {
		return nil // a new or deleted empty file has no hunks
	}
	w.line("--- ", ended(old))
	w.line("+++ ", ended(now))
	w.hunks(diffLines(string(before), string(after)))
	return nil
}

// ended returns a name with a tab behind it if it contains a space: some readers take the rest for a time.
func ended(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// Writing the hunks of a unified diff.

// context is the number of equal lines around a difference.
const context = 3

const noNewline = "\\ No newline at end of file"

// A block is a stretch of differing lines: old[i:iEnd] became new[j:jEnd]. One of the two may be empty.
type block struct{ i, iEnd, j, jEnd int }

func (s *script) blocks() []block {
	var list []block
	i, j := 0, 0
	for i < len(s.old) || j < len(s.new) {
		b := block{i: i, j: j}
		for i < len(s.old) && s.removed[i] {
			i++
		}
		for j < len(s.new) && s.written[j] {
			j++
		}
		if b.iEnd, b.jEnd = i, j; i > b.i || j > b.j {
			list = append(list, b)
			continue
		}
		i, j = i+1, j+1
	}
	return list
}

// hunks writes the blocks, those less than two contexts apart together.
func (w *writer) hunks(s *script) {
	blocks := s.blocks()
	for len(blocks) > 0 {
		n := 1
		for n < len(blocks) && blocks[n].i-blocks[n-1].iEnd <= 2*context {
			n++
		}
		w.hunk(s, blocks[:n])
		blocks = blocks[n:]
	}
}

func (w *writer) hunk(s *script, blocks []block) {
	first, last := blocks[0], blocks[len(blocks)-1]
	lead := min(context, first.i)
	trail := min(context, len(s.old)-last.iEnd)
	w.line("@@ -", span(first.i-lead, last.iEnd+trail), " +", span(first.j-lead, last.jEnd+trail), " @@")
	at := first.i - lead
	for _, b := range blocks {
		w.lines(' ', s.old[at:b.i])
		w.lines('-', s.old[b.i:b.iEnd])
		w.lines('+', s.new[b.j:b.jEnd])
		at = b.iEnd
	}
	w.lines(' ', s.old[at:at+trail])
}

// span writes the lines [from, to), counted from 0, as a hunk's header has them.
func span(from, to int) string {
	switch to - from {
	case 0:
		return strconv.Itoa(from) + ",0" // the line before
	case 1:
		return strconv.Itoa(from + 1)
	}
	return strconv.Itoa(from+1) + "," + strconv.Itoa(to-from)
}

func (w *writer) lines(op byte, lines []string) {
	for _, l := range lines {
		w.WriteByte(op)
		w.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			w.line("")
			w.line(noNewline)
		}
	}
}

// git's binary patches: literal contents, deflated, in base 85. And the object names of index lines.

const (
	nullBlob  = "0000000000000000000000000000000000000000"
	emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

	// in a repository of SHA-256 names
	emptyBlob256 = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
)

// blobOf returns git's object name of a content; zeros for a file that does not exist.
func blobOf(f *File) string {
	if f == nil {
		return nullBlob
	}
	h := sha1.New() //nolint:gosec // as above
	_, _ = h.Write([]byte("blob " + strconv.Itoa(len(f.Data)) + "\x00"))
	_, _ = h.Write(f.Data)
	return hex.EncodeToString(h.Sum(nil))
}

// binary writes both directions, as git does.
func (w *writer) binary(forward, reverse []byte) error {
	for _, data := range [][]byte{forward, reverse} {
		var deflated bytes.Buffer
		z := zlib.NewWriter(&deflated)
		if _, err := z.Write(data); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		w.line("literal ", strconv.Itoa(len(data)))
		w.base85(deflated.Bytes())
		w.line("")
	}
	return nil
}

// digits85 is git's alphabet (base85.c).
const digits85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85 writes lines of at most 52 bytes, each led by a letter for its length (A = 1 … Z = 26, a = 27 … z = 52).
func (w *writer) base85(data []byte) {
	for len(data) > 0 {
		part := data[:min(52, len(data))]
		data = data[len(part):]
		if n := byte(len(part)); n <= 26 { //nolint:gosec // at most 52
			w.WriteByte('A' + n - 1)
		} else {
			w.WriteByte('a' + n - 27)
		}
		for len(part) > 0 {
			var v uint32
			for i := range 4 { // missing bytes at the end are zeros
				v <<= 8
				if i < len(part) {
					v |= uint32(part[i])
				}
			}
			part = part[min(4, len(part)):]
			var five [5]byte
			for i := 4; i >= 0; i-- {
				five[i] = digits85[v%85]
				v /= 85
			}
			w.Write(five[:])
		}
		w.line("")
	}
}
