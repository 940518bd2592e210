package review

// A change as the rules of the report see it: its lines, and which of them are new.

import (
	"bytes"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// An edit is one change.
type edit struct {
	path          string
	class         int
	rule          string // of its class
	putBack       bool   // the second half of verification runs without it
	stays         bool   // a shell library that the second half of verification runs with
	language      string // what its text is written in, "" for prose and data
	opaque        bool   // a symlink or binary: there is no text to look into
	change        patch.Change
	before, after *side
	added         []int   // lines of after, from 0
	removed       []int   // lines of before, from 0
	blocks        []block // stretches of both
	testLines     []bool  // of after: see inTests
	paired        *[]pair
	moved         map[int]bool // added lines that were removed elsewhere: code that only moved
	listed        [2]*[]testCase
}

// A block is a stretch of lines that was replaced: before[i:iEnd] became after[j:jEnd]; one may be empty.
type block struct{ i, iEnd, j, jEnd int }

// newEdit is nil where nothing changes.
func newEdit(c *checkfile.Checks, change patch.Change) *edit {
	if change.Before == nil && change.After == nil {
		return nil
	}
	e := &edit{path: change.Path, change: change}
	e.class = c.Class(change.Path)
	e.rule = ruleOf(e.class)
	e.stays = e.class == 4 && c.OnlyTried(change)
	e.putBack = e.class > 0 && !e.stays || checkfile.ManifestOf(e.path) != nil // a manifest's check parts are
	e.opaque = opaque(change.Before) || opaque(change.After)
	before, after := text(change.Before), text(change.After)
	e.language = lang.Of(change.Path, before)
	if e.language == "" {
		e.language = lang.Of(change.Path, after)
	}
	e.before, e.after = newSide(e.language, before), newSide(e.language, after)
	if e.opaque {
		return e
	}
	e.compare()
	return e
}

func opaque(f *patch.File) bool {
	return f != nil && (f.Mode.Type() != 0 || bytes.IndexByte(f.Data[:min(len(f.Data), 8000)], 0) >= 0)
}

func text(f *patch.File) string {
	if f == nil || opaque(f) {
		return ""
	}
	return string(f.Data)
}

func (e *edit) exists() bool { return e.change.After != nil }
func (e *edit) isNew() bool  { return e.change.Before == nil }

// link says whether f is a symbolic link.
func link(f *patch.File) bool { return f != nil && f.Mode&fs.ModeSymlink != 0 }

// compare finds the lines that differ.
func (e *edit) compare() {
	old, now := text(e.change.Before), text(e.change.After)
	hunks, ok := hunksOf(old, now)
	if !ok { // more than a patch can say: all of it
		e.blocks = []block{{0, len(e.before.lines), 0, len(e.after.lines)}}
	}
	for _, h := range hunks {
		i, j := h.OldLine-1, h.NewLine-1
		for k := 0; k < len(h.Lines); {
			b := block{i: i, j: j}
			for k < len(h.Lines) && h.Lines[k].Op != ' ' {
				if h.Lines[k].Op == '-' {
					i++
				} else {
					j++
				}
				k++
			}
			if b.iEnd, b.jEnd = i, j; i > b.i || j > b.j {
				e.blocks = append(e.blocks, b)
			}
			for k < len(h.Lines) && h.Lines[k].Op == ' ' {
				i, j, k = i+1, j+1, k+1
			}
		}
	}
	for _, b := range e.blocks {
		for i := b.i; i < b.iEnd; i++ {
			e.removed = append(e.removed, i)
		}
		for j := b.j; j < b.jEnd; j++ {
			e.added = append(e.added, j)
		}
	}
}

// markMoved pairs added lines with equal ones that were removed anywhere, check files and others apart: what moves is not new.
func markMoved(edits []*edit) {
	type line struct {
		putBack bool
		text    string
	}
	gone := map[line]int{}
	for _, e := range edits {
		for _, i := range e.removed {
			gone[line{e.putBack, strings.TrimSpace(e.before.lines[i])}]++
		}
	}
	for _, e := range edits {
		e.moved = map[int]bool{}
		for _, j := range e.added {
			if at := (line{e.putBack, strings.TrimSpace(e.after.lines[j])}); gone[at] > 0 {
				gone[at]--
				e.moved[j] = true
			}
		}
	}
}

// hunksOf compares two texts, under a name that every patch can have.
func hunksOf(before, after string) ([]patch.Hunk, bool) {
	change := patch.Change{Path: "f"}
	if before != "" {
		change.Before = &patch.File{Mode: 0o644, Data: []byte(before)}
	}
	if after != "" {
		change.After = &patch.File{Mode: 0o644, Data: []byte(after)}
	}
	diff, err := patch.Encode([]patch.Change{change})
	if err != nil {
		return nil, false
	}
	p, err := patch.Parse(diff)
	if err != nil || len(p.Files) > 1 || len(p.Files) == 1 && p.Files[0].Binary {
		return nil, false
	}
	if len(p.Files) == 0 {
		return nil, true
	}
	hunks := p.Files[0].Hunks
	for i := range hunks { // "0,0" stands for no line at all
		hunks[i].OldLine = max(hunks[i].OldLine, 1)
		hunks[i].NewLine = max(hunks[i].NewLine, 1)
	}
	return hunks, true
}

// at is the line of the changed file where line i of the one before stood; for a file that is gone, i.
func (e *edit) at(i int) int {
	if !e.exists() {
		return i
	}
	shift := 0
	for _, b := range e.blocks {
		if i < b.i {
			break
		}
		if i < b.iEnd {
			return max(0, min(b.j+min(i-b.i, max(0, b.jEnd-b.j-1)), len(e.after.lines)-1))
		}
		shift = b.jEnd - b.iEnd
	}
	return max(0, min(i+shift, len(e.after.lines)-1))
}

// production says whether e is code that is neither a check nor a tool's configuration.
func (e *edit) production() bool {
	return (e.class == 0 || e.stays) && lang.IsCode(e.language) && !lang.Tooling(e.path)
}

// valid says whether a text is UTF-8; others are older encodings, whose bytes mean nothing here.
func (e *edit) valid() bool { return utf8.ValidString(text(e.change.After)) }

// ruleOf returns the rule by which a check file of a class is reported.
func ruleOf(class int) string {
	switch class {
	case 0:
		return ""
	case 1:
		return ProtectedFile
	case 5:
		return CheckConfig
	}
	return CheckFile
}
