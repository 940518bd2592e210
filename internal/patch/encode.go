// Writing a patch.

package patch

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Encode writes a unified diff in git's format: a/ b/ prefixes, full index lines, no renames, deletions before additions that need their place,
// paths quoted as git quotes them. The same changes always give the same bytes; changes that change nothing give none.
// A path that CheckPath refuses, a path given twice and what is neither file nor symlink are errors.
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
		case same(c.Before, c.After):
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
		if n := strings.Compare(a.place, b.place); n != 0 {
			return n
		}
		if d := (a.after == nil) != (b.after == nil); d && a.after == nil {
			return -1
		} else if d {
			return 1
		}
		return strings.Compare(a.path, b.path)
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

func same(a, b *File) bool {
	if a == nil || b == nil {
		return a == b
	}
	return gitMode(a.Mode) == gitMode(b.Mode) && bytes.Equal(a.Data, b.Data)
}

func isLink(f *File) bool { return f.Mode&fs.ModeSymlink != 0 }

// gitMode is the mode as git writes it.
func gitMode(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "120000"
	case m&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// looksBinary is git's rule, a NUL in the first 8,000 bytes; and what has too many lines for anybody, Parse included, goes as a block too.
func looksBinary(f *File) bool {
	if f == nil || isLink(f) {
		return false
	}
	return bytes.IndexByte(f.Data[:min(len(f.Data), 8000)], 0) >= 0 || bytes.Count(f.Data, []byte("\n")) > maxLines/4
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
		// git apply does not find the end of such a name here (it looks for the space before "b/"), though git diff writes it.
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
	tab := ""
	if strings.Contains(e.path, " ") {
		tab = "\t" // else some readers take the rest for a time
	}
	w.line("--- ", old, tabUnlessNull(old, tab))
	w.line("+++ ", now, tabUnlessNull(now, tab))
	w.hunks(diffLines(string(before), string(after)))
	return nil
}

func tabUnlessNull(name, tab string) string {
	if name == "/dev/null" {
		return ""
	}
	return tab
}
