// Which lines of two texts differ.

package patch

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// wholeFile is the number of lines above which a file is replaced as a whole: a diff nobody reads need not be
	// small (and go-diff has a letter for a million different lines only).
	wholeFile = 500_000

	// myersLines bounds the lines, of both sides together, that go to go-diff at once: with many differences it
	// needs time by their square.
	myersLines = 10_000

	// myersWork bounds the sum of those squares for one file; about three seconds.
	myersWork = 10 * myersLines * myersLines

	// anchorDepth bounds how often a stretch is cut at lines that are unique in it.
	anchorDepth = 8
)

// A script marks the lines of each side that have no partner on the other.
type script struct {
	old, new         []string // lines with their ends
	removed, written []bool
	work             int // squares of lines given to go-diff so far
}

// splitLines cuts after every LF; only the last line may be without.
func splitLines(s string) []string {
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	for s != "" {
		i := strings.IndexByte(s, '\n') + 1
		if i == 0 {
			i = len(s)
		}
		lines, s = append(lines, s[:i]), s[i:]
	}
	return lines
}

// diffLines compares two texts. The same texts always give the same script, on every machine: no clock is asked.
func diffLines(before, after string) *script {
	s := &script{old: splitLines(before), new: splitLines(after)}
	if len(s.old) > wholeFile || len(s.new) > wholeFile {
		s.removed, s.written = slices.Repeat([]bool{true}, len(s.old)), slices.Repeat([]bool{true}, len(s.new))
		return s
	}
	s.removed, s.written = make([]bool, len(s.old)), make([]bool, len(s.new))
	top := commonTop(s.old, s.new)
	end := commonEnd(s.old[top:], s.new[top:])
	a, b := s.tokens(top, end)
	s.align(a, b, 0)
	slide(s.old, s.removed, s.written)
	slide(s.new, s.written, s.removed)
	return s
}

// A token is a line that is on both sides: the number of its text, and its place.
type token struct{ text, line int32 }

// tokens returns the lines between the common top and end that are on both sides. It marks the others, which does not
// change the longest common subsequence.
func (s *script) tokens(top, end int) (a, b []token) {
	old, written := s.old[top:len(s.old)-end], s.new[top:len(s.new)-end]
	ids := make(map[string]int32, len(old))
	shared := make([]bool, 0, len(old)) // by id
	oldIDs := make([]int32, len(old))
	for i, line := range old {
		id, ok := ids[line]
		if !ok {
			id = int32(len(shared)) //nolint:gosec // at most wholeFile
			ids[line] = id
			shared = append(shared, false)
		}
		oldIDs[i] = id
	}
	for i, line := range written {
		id, ok := ids[line]
		if !ok {
			s.written[top+i] = true
			continue
		}
		shared[id] = true
		b = append(b, token{id, int32(top + i)}) //nolint:gosec // at most wholeFile
	}
	for i, id := range oldIDs {
		if !shared[id] {
			s.removed[top+i] = true
			continue
		}
		a = append(a, token{id, int32(top + i)}) //nolint:gosec // at most wholeFile
	}
	return a, b
}

// align marks what differs between two stretches: by go-diff where they are short, else cut at the lines that are
// unique in both (patience diff), else as replaced.
func (s *script) align(a, b []token, depth int) {
	for len(a) > 0 && len(b) > 0 && a[0].text == b[0].text {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].text == b[len(b)-1].text {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		s.mark(a, b)
		return
	}
	if n := len(a) + len(b); n <= myersLines {
		if s.work += n * n; s.work > myersWork {
			s.mark(a, b)
		} else {
			s.myers(a, b)
		}
		return
	}
	cuts := anchors(a, b)
	if len(cuts) == 0 || depth == anchorDepth {
		s.mark(a, b)
		return
	}
	i, j := 0, 0
	for _, c := range cuts {
		s.align(a[i:c.i], b[j:c.j], depth+1)
		i, j = c.i+1, c.j+1
	}
	s.align(a[i:], b[j:], depth+1)
}

func (s *script) mark(a, b []token) {
	for _, t := range a {
		s.removed[t.line] = true
	}
	for _, t := range b {
		s.written[t.line] = true
	}
}

// myers asks go-diff, with one letter for one text. DiffTimeout is 0: else the result would depend on the machine's
// speed.
func (s *script) myers(a, b []token) {
	dmp := diffmatchpatch.DiffMatchPatch{}
	for _, d := range dmp.DiffMainRunes(letters(a), letters(b), false) {
		n := utf8.RuneCountInString(d.Text)
		switch d.Type {
		case diffmatchpatch.DiffEqual:
			a, b = a[n:], b[n:]
		case diffmatchpatch.DiffDelete:
			s.mark(a[:n], nil)
			a = a[n:]
		case diffmatchpatch.DiffInsert:
			s.mark(nil, b[:n])
			b = b[n:]
		}
	}
}

// letters leaves out the surrogates, which a string cannot hold.
func letters(tokens []token) []rune {
	rs := make([]rune, len(tokens))
	for i, t := range tokens {
		rs[i] = t.text + 1
		if rs[i] >= 0xd800 {
			rs[i] += 0x800
		}
	}
	return rs
}

// slide moves every stretch that only one side has down as far as it goes: of the equally short scripts this is the
// one in which an added function begins with its own first line. mine are the marks of lines, other those of the
// other side.
func slide(lines []string, mine, other []bool) {
	j := 0 // the partner of lines[i], were it unmarked
	for i := 0; i < len(lines); {
		if !mine[i] {
			for j < len(other) && other[j] {
				j++
			}
			i, j = i+1, j+1
			continue
		}
		end := i
		for end < len(lines) && mine[end] {
			end++
		}
		if j < len(other) && other[j] {
			i = end // a replacement stays
			continue
		}
		// The line after the stretch has the partner other[j]; it may move up when it equals the first of the stretch.
		for end < len(lines) && lines[i] == lines[end] && !mine[end] && (j+1 >= len(other) || !other[j+1]) {
			mine[i], mine[end] = false, true
			i, end, j = i+1, end+1, j+1
		}
		for end < len(lines) && mine[end] {
			end++
		}
		i = end
	}
}

func commonTop(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// Anchors of the patience diff: lines that are exactly once on both sides, as many of them as keep their order.

// A cut is one anchor: index in a, index in b.
type cut struct{ i, j int }

// anchors returns the longest run of common unique lines that is in order on both sides.
func anchors(a, b []token) []cut {
	type seen struct{ inA, inB, j int }
	at := make(map[int32]*seen, len(a))
	for _, t := range a {
		if at[t.text] == nil {
			at[t.text] = &seen{}
		}
		at[t.text].inA++
	}
	for j, t := range b {
		if u := at[t.text]; u != nil {
			u.inB++
			u.j = j
		}
	}
	var unique []cut // in order of a
	for i, t := range a {
		if u := at[t.text]; u.inA == 1 && u.inB == 1 {
			unique = append(unique, cut{i, u.j})
		}
	}
	return rising(unique)
}

// rising returns the longest subsequence with rising j (patience sorting).
func rising(cuts []cut) []cut {
	var tops []int // index of the last cut of the best run of each length
	before := make([]int, len(cuts))
	for k, c := range cuts {
		n := sort.Search(len(tops), func(x int) bool { return cuts[tops[x]].j >= c.j })
		before[k] = -1
		if n > 0 {
			before[k] = tops[n-1]
		}
		if n == len(tops) {
			tops = append(tops, k)
		} else {
			tops[n] = k
		}
	}
	if len(tops) == 0 {
		return nil
	}
	run := make([]cut, 0, len(tops))
	for k := tops[len(tops)-1]; k >= 0; k = before[k] {
		run = append(run, cuts[k])
	}
	slices.Reverse(run)
	return run
}
