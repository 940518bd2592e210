// Merging three states of one path, decided as `git apply --3way` decides it. Texts are merged by git itself: see
// internal/git.

package patch

import (
	"bytes"
	"io/fs"
	"strings"
)

// A Merge is the result for one path, one of three: Refused is the reason why it cannot be merged; Texts means that
// the texts must be merged, and the result gets Mode; otherwise it is Result.
type Merge struct {
	Result  *File // nil: the path is not there
	Texts   bool
	Mode    fs.FileMode
	Refused string
}

// Three merges ours, the file as it is now, with theirs, the file after the patch. Both were base once; nil is a path
// that does not exist.
func Three(base, ours, theirs *File) Merge {
	switch {
	case Equal(ours, theirs):
		return Merge{Result: ours}
	case theirs == nil:
		if base != nil && isLink(ours) == isLink(base) && bytes.Equal(ours.Data, base.Data) {
			return Merge{}
		}
		return Merge{Refused: "the fix deletes it, and it was edited since"}
	case base == nil && ours == nil:
		return Merge{Result: theirs}
	case ours == nil:
		return Merge{Refused: "it is gone, and the fix changes it"}
	case base != nil && isLink(base) != isLink(theirs):
		if isLink(ours) == isLink(base) && bytes.Equal(ours.Data, base.Data) {
			return Merge{Result: theirs}
		}
		return Merge{Refused: "the fix makes " + typeName(theirs) + " of it, and it was edited since"}
	case isLink(ours) != isLink(theirs):
		return Merge{Refused: "it is " + typeName(ours) + " now, and the fix changes " + typeName(theirs)}
	}
	m := Merge{Mode: theirs.Mode}
	var before []byte
	if base != nil {
		before = base.Data
		if gitMode(base.Mode) == gitMode(theirs.Mode) { // the patch says nothing of it
			m.Mode = ours.Mode
		}
	}
	switch {
	case bytes.Equal(before, ours.Data):
		m.Result = &File{Mode: m.Mode, Data: theirs.Data}
	case bytes.Equal(before, theirs.Data), bytes.Equal(ours.Data, theirs.Data):
		m.Result = &File{Mode: m.Mode, Data: ours.Data}
	case isLink(ours):
		m.Refused = "the fix and somebody since made it point elsewhere"
	case hasNUL(before), hasNUL(ours.Data), hasNUL(theirs.Data):
		m.Refused = "binary, and changed on both sides"
	default:
		m.Texts = true
	}
	return m
}

func typeName(f *File) string {
	if isLink(f) {
		return "a symlink"
	}
	return "a file"
}

// hasNUL reports whether git takes b for binary.
func hasNUL(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 }

// A Clash is one conflict of a merge, as git marks it.
type Clash struct {
	Line int // where it begins in ours, from 1
	Text string
}

// Clashes finds the conflicts in a merged text with git's markers of seven.
func Clashes(ours, merged []byte) []Clash {
	var all []Clash
	var places []int // lines of plain at which they begin
	var plain []string
	var text strings.Builder
	const outside, inOurs, inTheirs = 0, 1, 2
	at := outside
	for line := range strings.Lines(string(merged)) {
		switch {
		case at == outside && strings.HasPrefix(line, "<<<<<<< "):
			at = inOurs
			places = append(places, len(plain))
			text.Reset()
		case at == inOurs && (strings.HasPrefix(line, "||||||| ") || strings.TrimRight(line, "\r\n") == "======="):
			at = inTheirs
		case at != inTheirs:
			plain = append(plain, line)
		}
		if at != outside {
			text.WriteString(line)
		}
		if at == inTheirs && strings.HasPrefix(line, ">>>>>>> ") {
			at = outside
			all = append(all, Clash{Text: text.String()})
		}
	}
	s := diffLines(string(ours), strings.Join(plain, ""))
	for i := range all {
		all[i].Line = s.oldLine(places[i]) + 1
	}
	return all
}

// oldLine returns the number of old lines before new line n, those that have no partner left out of what follows them.
func (s *script) oldLine(n int) int {
	i, j := 0, 0
	for {
		for i < len(s.removed) && s.removed[i] {
			i++
		}
		for j < n && s.written[j] {
			j++
		}
		if j >= n || i >= len(s.removed) {
			return i
		}
		i, j = i+1, j+1
	}
}
