package checkfile

// Tests inside sources of production, which are judged by their parts as manifests are: what only tests compile of
// Rust, examples in documentation that are run as tests, and what a Python program asserts of itself when it is the
// check's command.

import (
	"path"
	"strings"
)

// partsOf returns how p is judged by its parts; nil: it is not.
func (c *Checks) partsOf(p string) *manifestKind {
	switch kind := manifestOf(p); {
	case kind != nil && isCMake(p):
		return &manifestKind{split: c.cmakeAt(path.Dir(p)).split}
	case kind != nil && path.Base(p) == "Cargo.toml":
		return c.cargoAt(path.Dir(p))
	case kind != nil || foreign(p):
		return kind
	}
	switch path.Ext(p) {
	case ".rs":
		return testsKind(splitRust)
	case ".py":
		if doctests, main := c.refs.doctests, c.refs.mains[p]; doctests || main {
			if c.refs.examples[p] {
				return testsKind(splitExamples)
			}
			return testsKind(func(src string) ([]piece, bool) { return splitPython(src, doctests, main) })
		}
	}
	return nil
}

func testsKind(split func(string) ([]piece, bool)) *manifestKind {
	kind := lineKind(split)
	kind.tests = true
	return kind
}

// An extent is a part of a source that is a test: bytes of whole lines.
type extent struct {
	from, to int
	in       string // the blocks around it; empty: none
	name     string
	value    string
}

// pieces returns the lines of src as pieces, of which those in extents decide. Extents are in order and do not
// overlap.
func pieces(src string, extents []extent) []piece {
	var list []piece
	at := 0
	for _, e := range extents {
		if at < e.from {
			list = append(list, piece{text: src[at:e.from]})
		}
		// What is gone is put back behind another test of its section, or at the end of the file: see insertAt.
		list = append(list, piece{section: "tests " + e.in, name: e.name, text: src[e.from:e.to], value: e.value, is: decides})
		at = e.to
	}
	if at < len(src) {
		list = append(list, piece{text: src[at:]})
	}
	return list
}

// lineStart returns where the line of src[at] begins. ok is false where something but blanks is before it.
func lineStart(src string, at int) (start int, ok bool) {
	start = strings.LastIndexByte(src[:at], '\n') + 1
	return start, strings.TrimSpace(src[start:at]) == ""
}

// lineAfter returns where the line after src[at] begins, or the end.
func lineAfter(src string, at int) int {
	if i := strings.IndexByte(src[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(src)
}
