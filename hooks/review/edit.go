package review

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// Classes of check files, as checkfile.Checks.Class has them.
const (
	none       = iota
	protected  // named by protect, or PIPELINE.hcl
	testFile   // a test, or what only tests use
	testData   // what tests read
	namedFile  // what the command names or loads
	loadedFile // what the runner loads by itself
)

// A proposal is the patch under review: its changes by path, and what belongs to the check.
type proposal struct {
	checks  *checkfile.Checks
	changes []patch.Change
	edits   []*edit
	gone    map[classed]bool          // names of deleted files
	shared  map[string]*sharedLiteral // by their text; see sharedLiterals
	tests   func() []testSource       // that failed; they are read once
	wanted  func() []wantedName       // see findWanted
	marks   func() []string           // of comments that speak to scripts of the check; see checkfile.Checks.Marks
	says    map[string]bool           // see checkSays
	members map[string]bool           // by their names; see loses
	code    func() string             // of the check's scripts and settings, in small letters

	production    func() []source // of the base, that belong to no check; they are read once
	looked        int             // bytes of texts that were searched
	sentinelCalls int             // of standsForAll
	besideCalls   int             // of losesBeside
}

const (
	maxProduction = 128 << 20 // bytes of production that are kept
	maxLooked     = 8 << 30   // bytes that are searched for what is new: what a test has, what production had
)

// A source is a file of production.
type source struct{ path, text string }

// mayLook counts the bytes of a text that is about to be searched. It returns false where too much was searched before:
// see unsearched.
func (p *proposal) mayLook(text string) bool { return p.mayLookAt(len(text)) }

func (p *proposal) mayLookAt(size int) bool {
	p.looked += size + 256
	return p.looked <= maxLooked
}

// unsearched reports a patch with more that is new than was compared with the failing tests: special_case.
func (p *proposal) unsearched() (found findings) {
	for _, e := range p.edits {
		if p.looked > maxLooked && e.class == none && e.exists() {
			found.add(e, rules.SpecialCase, -1, true, "too much is new to compare all of it with the failing tests")
		}
	}
	return found
}

// A testSource is the source of a test.
type testSource struct {
	path, text string
	unescaped  string // text, with what \u means
	lists      func() listText
	pairs      func() []testPair
}

// A classed is a name of files in any folder, and their class.
type classed struct {
	base  string
	class int
}

// An edit is one change of a proposal, with its lines. Nothing of it changes after newProposal.
type edit struct {
	of            *proposal
	path          string
	class         int
	restored      bool   // the second check runs without the change
	stays         bool   // a shell library of the check that the second check runs with
	language      string // of its text, "" for prose and data
	opaque        bool   // a symbolic link or binary: there is no text
	places        rules.Place
	change        patch.Change
	before, after *side
	added         []int   // lines of after, from 0
	removed       []int   // lines of before, from 0
	blocks        []block // stretches of both
	fresh         []int   // added lines that were not removed elsewhere: what is left out only moved
	paired        *[]pair // see pairs
	listed        [2]*[]testCase
	headers       int // calls of isWritten
}

// A block is a stretch of lines that was replaced: before[i:iEnd] became after[j:jEnd]; one may be empty.
type block struct{ i, iEnd, j, jEnd int }

// newProposal prepares changes, which start from the tree that c was made of.
func newProposal(c *checkfile.Checks, changes []patch.Change) *proposal {
	p := &proposal{checks: c, changes: changes, gone: map[classed]bool{}, says: map[string]bool{}, members: map[string]bool{}, marks: sync.OnceValue(c.Marks)}
	p.code = sync.OnceValue(func() string { return strings.ToLower(strings.Join(c.Code(), "\n")) })
	p.tests = sync.OnceValue(func() (all []testSource) {
		for _, path := range c.FailingTests() {
			text := c.Text(path)
			lists := sync.OnceValue(func() listText { return newListText(lang.Of(path, ""), text) })
			t := testSource{path: path, text: text, unescaped: unescaped(text), lists: lists}
			t.pairs = sync.OnceValue(t.readPairs)
			all = append(all, t)
		}
		return all
	})
	p.production = sync.OnceValue(func() (all []source) {
		size := 0
		for _, path := range c.Production() {
			if text := c.Text(path); size+len(text) <= maxProduction {
				size += len(text)
				all = append(all, source{path, text})
			}
		}
		return all
	})
	p.wanted = sync.OnceValue(p.findWanted)
	for _, change := range changes {
		if change.Before == nil && change.After == nil {
			continue
		}
		e := newEdit(p, change)
		p.edits = append(p.edits, e)
		if !e.exists() {
			p.gone[classed{path.Base(e.path), e.class}] = true
		}
	}
	slices.SortStableFunc(p.edits, func(a, b *edit) int { return strings.Compare(a.path, b.path) })
	findFresh(p.edits)
	return p
}

// checkSays reports whether the commands, scripts and settings of the check have a word outside of comments, which is
// given in small letters.
func (p *proposal) checkSays(word string) bool {
	says, ok := p.says[word]
	if !ok {
		says = strings.Contains(p.code(), word)
		p.says[word] = says
	}
	return says
}

// edit returns the change of a path, nil where it is not touched.
func (p *proposal) edit(name string) *edit {
	i, ok := slices.BinarySearchFunc(p.edits, name, func(e *edit, n string) int { return strings.Compare(e.path, n) })
	if !ok {
		return nil
	}
	return p.edits[i]
}

func newEdit(p *proposal, change patch.Change) *edit {
	e := &edit{of: p, path: change.Path, change: change, class: p.checks.Class(change.Path)}
	e.stays = e.class == namedFile && p.checks.OnlyTested(change)
	e.restored = e.class != none && !e.stays || checkfile.IsManifest(e.path) // the check parts of a manifest are
	e.opaque = opaque(change.Before) || opaque(change.After)
	before, after := text(change.Before), text(change.After)
	e.language = lang.Of(change.Path, before)
	if e.language == "" {
		e.language = lang.Of(change.Path, after)
	}
	e.before, e.after = newSide(e.language, before), newSide(e.language, after)
	e.places = placesOf(e)
	if !e.opaque {
		e.compare()
	}
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

// link reports whether f is a symbolic link.
func link(f *patch.File) bool { return f != nil && f.Mode&fs.ModeSymlink != 0 }

// compare finds the lines that differ.
func (e *edit) compare() {
	old, now := text(e.change.Before), text(e.change.After)
	hunks, ok := hunksOf(old, now)
	if !ok { // the whole file, where no patch can be written
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

// findFresh finds the added lines for which no equal line was removed from any file. Check files are compared with
// each other only, and so are the rest.
func findFresh(edits []*edit) {
	type line struct {
		restored bool
		text     string
	}
	gone := map[line]int{}
	for _, e := range edits {
		for _, i := range e.removed {
			gone[line{e.restored, e.before.trimmed(i)}]++
		}
	}
	for _, e := range edits {
		for _, j := range e.added {
			at := line{e.restored, e.after.trimmed(j)}
			if gone[at]--; gone[at] < 0 {
				e.fresh = append(e.fresh, j)
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
	for i := range hunks { // "0,0" means no line at all
		hunks[i].OldLine = max(hunks[i].OldLine, 1)
		hunks[i].NewLine = max(hunks[i].NewLine, 1)
	}
	return hunks, true
}

// at returns the line of the file after the change that corresponds to line i before it; i for a file that is gone.
func (e *edit) at(i int) int {
	if !e.exists() {
		return i
	}
	shift := 0
	k := sort.Search(len(e.blocks), func(k int) bool { return i < e.blocks[k].i }) // the first block behind the line
	if k > 0 {
		b := e.blocks[k-1]
		if i < b.iEnd {
			return max(0, min(b.j+min(i-b.i, max(0, b.jEnd-b.j-1)), len(e.after.lines)-1))
		}
		shift = b.jEnd - b.iEnd
	}
	return max(0, min(i+shift, len(e.after.lines)-1))
}

// production reports whether e is code that is neither a check's nor the configuration of a tool.
func (e *edit) production() bool {
	return (e.class == none || e.stays) && lang.IsCode(e.language) && !lang.Tooling(e.path)
}

// kind returns the kind of finding by which a check file of e's class is reported.
func (e *edit) kind() string {
	switch e.class {
	case protected:
		return rules.ProtectedFile
	case loadedFile:
		return rules.CheckConfig
	}
	return rules.CheckFile
}

// valid reports whether the text is UTF-8. The bytes of older encodings mean nothing here.
func (e *edit) valid() bool { return utf8.ValidString(text(e.change.After)) }

// isAdded reports whether line j of the file after the change is none of those before.
func (e *edit) isAdded(j int) bool { return contains(e.added, j) }

// isFresh reports whether line j of the file after the change is new, and did not only move.
func (e *edit) isFresh(j int) bool { return contains(e.fresh, j) }

// contains reports whether a sorted list has j.
func contains(list []int, j int) bool {
	_, ok := slices.BinarySearch(list, j)
	return ok
}
