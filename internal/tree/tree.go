// Package tree makes, stores and compares manifests of a tree. It walks the tree itself and does not need git. Nothing
// is executed and no symlink is followed. Names are bytes, any but / and NUL.
package tree

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/digest"
)

// An Entry is one file, folder or symlink.
type Entry struct {
	Path   string      // slash-separated, relative to the walk's root; bytes, perhaps no valid UTF-8
	Mode   fs.FileMode // type and permission bits (encoded by EncodeMode where it is stored)
	Size   int64       // bytes; of a symlink, of its text; 0 for a folder
	Digest string      // sha256:<hex> of the content; of a symlink, of its text; empty for a folder
	Link   string      // text of a symlink
}

// Omitted is a path that is not in the manifest, and why.
type Omitted struct {
	Path string
	Why  string // ignored | excluded | special | secret | oversize | unreadable
}

// A Manifest lists what is in a tree, sorted by path, bytewise. The root itself is not in it.
type Manifest struct {
	Entries []Entry
	Omitted []Omitted // sorted by path
	Repos   []string  // of a walk: folders below the root that have a .git, sorted
	Anew    []int     // of a walk: places in Entries of what was read anew, as Options.Known does not have it like that; ascending

	facts []fact // stat facts of Entries, same order; nil when the manifest was read from JSON. For Options.Known
	start int64  // when the walk began, ns since 1970

	starts []int64 // of each entry, when entries are of several walks; nil: start
}

// startOf returns when the walk began that found the i-th entry.
func (m *Manifest) startOf(i int) int64 {
	if m.starts == nil {
		return m.start
	}
	return m.starts[i]
}

// Update replaces what m has of paths by what part has: a later walk with Only. It reports whether anything differs
// but the times of the walks.
func (m *Manifest) Update(part *Manifest, paths []string) (changed bool) {
	if len(m.facts) != len(m.Entries) || len(part.facts) != len(part.Entries) {
		panic("Update of a manifest without stat data")
	}
	for _, p := range outermost(paths) {
		changed = m.replace(part, p, p+"\x00") || changed
		changed = m.replace(part, p+"/", p+"0") || changed // 0 follows /
	}
	return changed
}

// replace replaces the entries from one path to before another, if any differs.
func (m *Manifest) replace(part *Manifest, from, to string) bool {
	a, _ := m.index(from)
	b, _ := m.index(to)
	c, _ := part.index(from)
	d, _ := part.index(to)
	if slices.Equal(m.Entries[a:b], part.Entries[c:d]) && slices.Equal(m.facts[a:b], part.facts[c:d]) {
		return false
	}
	if m.starts == nil { // another manifest may have the same entries: see Options.Known
		m.Entries, m.facts = slices.Clone(m.Entries), slices.Clone(m.facts)
		m.starts = slices.Repeat([]int64{m.start}, len(m.Entries))
	}
	m.Entries = slices.Replace(m.Entries, a, b, part.Entries[c:d]...)
	m.facts = slices.Replace(m.facts, a, b, part.facts[c:d]...)
	m.starts = slices.Replace(m.starts, a, b, slices.Repeat([]int64{part.start}, d-c)...)
	return true
}

// Digest returns one sha256:<hex> over the files and symlinks: for each, in order of path,
//
//	kind NUL path NUL digest LF
//
// with kind f (file), x (executable file) or l (symlink) and digest as in Entry. Folders do not count, nor do
// permission bits other than the owner's executable bit, so two manifests have one digest exactly when Compare
// finds no difference.
func (m *Manifest) Digest() string {
	h := sha256.New()
	for i := range m.Entries {
		e := &m.Entries[i]
		if k := kind(e); k != 'd' {
			_, _ = io.WriteString(h, string(k)+"\x00"+e.Path+"\x00"+e.Digest+"\n") // a hash never fails
		}
	}
	return digest.Text(h.Sum(nil))
}

// kind returns the type of an entry, as Digest and Compare use it.
func kind(e *Entry) rune {
	switch {
	case e.Mode.IsDir():
		return 'd'
	case e.Mode&fs.ModeSymlink != 0:
		return 'l'
	case e.Mode&0o100 != 0:
		return 'x'
	}
	return 'f'
}

// Find returns the entry of path.
func (m *Manifest) Find(path string) (Entry, bool) {
	if i, ok := m.index(path); ok {
		return m.Entries[i], true
	}
	return Entry{}, false
}

// HasBelow reports whether something is in a folder.
func (m *Manifest) HasBelow(dir string) bool {
	i, _ := m.index(dir + "/")
	return i < len(m.Entries) && strings.HasPrefix(m.Entries[i].Path, dir+"/")
}

// count returns how many entries are below paths. What is below two of them counts twice.
func (m *Manifest) count(paths []string) (n int) {
	for _, p := range paths {
		from, _ := m.index(p + "/")
		to, _ := m.index(p + "0") // 0 follows /
		n += to - from
	}
	return n
}

func (m *Manifest) index(path string) (int, bool) {
	return slices.BinarySearchFunc(m.Entries, path, func(e Entry, p string) int { return strings.Compare(e.Path, p) })
}

// Changed returns when the i-th entry was last changed in any way (ctime, ns since 1970), or 0 where it is not known: of
// folders, of links, and of a manifest that was read from JSON.
func (m *Manifest) Changed(i int) int64 {
	if i >= len(m.facts) {
		return 0
	}
	return m.facts[i].Ctime
}

// A Change is one path that two manifests differ in; Before or After is nil where it is absent. Folders do not
// change by themselves: only files and symlinks are listed (an executable bit counts as a change of mode, other
// permission bits do not).
type Change struct {
	Path          string
	Before, After *Entry
}

// Compare lists what differs, sorted by path. The entries it points to belong to the manifests.
func Compare(before, after *Manifest) []Change {
	var changes []Change
	b, a := files(before), files(after)
	for len(b) > 0 || len(a) > 0 {
		switch order := compareHeads(b, a); {
		case order < 0:
			changes = append(changes, Change{Path: b[0].Path, Before: b[0]})
			b = b[1:]
		case order > 0:
			changes = append(changes, Change{Path: a[0].Path, After: a[0]})
			a = a[1:]
		default:
			if kind(b[0]) != kind(a[0]) || b[0].Digest != a[0].Digest {
				changes = append(changes, Change{Path: b[0].Path, Before: b[0], After: a[0]})
			}
			b, a = b[1:], a[1:]
		}
	}
	return changes
}

func files(m *Manifest) []*Entry {
	if m == nil {
		return nil
	}
	list := make([]*Entry, 0, len(m.Entries))
	for i := range m.Entries {
		if !m.Entries[i].Mode.IsDir() {
			list = append(list, &m.Entries[i])
		}
	}
	return list
}

func compareHeads(b, a []*Entry) int {
	switch {
	case len(b) == 0:
		return 1
	case len(a) == 0:
		return -1
	}
	return strings.Compare(b[0].Path, a[0].Path)
}
