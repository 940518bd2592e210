package patch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// check reports whether the script leads from one text to the other: what is not marked is equal, in order.
func (s *script) check() error {
	var kept []string
	for i, line := range s.old {
		if !s.removed[i] {
			kept = append(kept, line)
		}
	}
	for j, line := range s.new {
		switch {
		case s.written[j]:
		case len(kept) == 0 || kept[0] != line:
			return fmt.Errorf("line %d of the new text, %q, has no partner", j+1, line)
		default:
			kept = kept[1:]
		}
	}
	if len(kept) > 0 {
		return fmt.Errorf("%d old lines have no partner", len(kept))
	}
	return nil
}

func (s *script) marks() int {
	n := 0
	for _, m := range slices.Concat(s.removed, s.written) {
		if m {
			n++
		}
	}
	return n
}

// shortest returns the number of marks of the shortest script, by the textbook.
func shortest(a, b []string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		last := row[0]
		row[0] = i + 1
		for j := range b {
			here := min(row[j], row[j+1]) + 1
			if a[i] == b[j] {
				here = last
			}
			last, row[j+1] = row[j+1], here
		}
	}
	return row[len(b)]
}

func TestDiffLinesIsShortest(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(7, 7))} //nolint:gosec // a test
	for range 3000 {
		text := func(letters int) string {
			var b strings.Builder
			for range g.IntN(40) {
				b.WriteString(pick(g, "", "x") + string(rune('a'+g.IntN(letters))) + "\n")
			}
			return strings.TrimSuffix(b.String(), pick(g, "", "\n"))
		}
		letters := 1 + g.IntN(12)
		before, after := text(letters), text(letters)
		s := diffLines(before, after)
		if err := s.check(); err != nil {
			t.Fatalf("%v\n%q\n%q", err, before, after)
		}
		if got, want := s.marks(), shortest(s.old, s.new); got != want {
			t.Fatalf("%d marks, %d suffice\n%q\n%q", got, want, before, after)
		}
	}
}

// Over myersLines the texts are cut at lines that are unique; what comes out is still right, and small where the
// edit is.
func TestDiffLinesLarge(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(8, 8))} //nolint:gosec // a test
	var lines []string
	for i := range 60_000 {
		lines = append(lines, pick(g, fmt.Sprintf("unique %d\n", i), "}\n", "\n", "return nil\n"))
	}
	edited := slices.Clone(lines)
	for range 300 {
		at := g.IntN(len(edited))
		edited = pick(g, slices.Insert(edited, at, "}\n", "\n"), slices.Delete(edited, at, min(len(edited), at+3)))
	}
	shuffled := slices.Clone(lines)
	g.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	coins := make([]string, 60_000) // no anchors at all
	for i := range coins {
		coins[i] = pick(g, "0\n", "1\n")
	}
	turned := slices.Clone(coins)
	slices.Reverse(turned)
	for _, tt := range []struct {
		name          string
		before, after []string
		most          int // marks
	}{
		{"edits", lines, edited, 300 * 3},
		{"shuffled", lines, shuffled, 120_000},
		{"no anchors", coins, turned, 120_000},
		{"nothing in common", lines, coins, 120_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			s := diffLines(strings.Join(tt.before, ""), strings.Join(tt.after, ""))
			if err := s.check(); err != nil {
				t.Error(err)
			}
			if s.marks() > tt.most {
				t.Errorf("%d marks, want at most %d", s.marks(), tt.most)
			}
			t.Log(s.marks(), time.Since(start))
		})
	}
}

// Lines whose letters would be surrogates, which a string cannot hold, were they not left out.
func TestDiffLinesManyLetters(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	g := generator{rand.New(rand.NewPCG(10, 10))} //nolint:gosec // a test
	lines := make([]string, 60_000)
	for i := range lines {
		lines[i] = fmt.Sprintln(i)
	}
	part := slices.Clone(lines[54_000:58_000])
	g.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
	before := slices.Concat(lines, lines[54_000:58_000]) // twice, so that none is an anchor
	after := slices.Concat(lines[:54_000], part, lines[58_000:], lines[54_000:58_000])
	s := diffLines(strings.Join(before, "")+"x", "y\n"+strings.Join(after, ""))
	if err := s.check(); err != nil || s.marks() > 2*len(part)+2 {
		t.Error(s.marks(), err)
	}
}

// Over wholeFile lines (go-diff would run out of letters at a million different ones) the file is replaced, quickly
// and truly.
func TestDiffLinesHuge(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	var b strings.Builder
	for i := range wholeFile + 1 {
		fmt.Fprintln(&b, i)
	}
	before, after := treeModel{"f": regular(b.String())}, treeModel{"f": regular("0\n1\n")}
	diff, err := roundTrip(t, before, after)
	if err != nil {
		t.Fatalf("%v\n%.500s", err, diff)
	}
	if !strings.Contains(string(diff[:200]), fmt.Sprintf("@@ -1,%d +1,2 @@\n-0\n", wholeFile+1)) {
		t.Errorf("want a replacement, got\n%.300s", diff)
	}
}

// A file with more lines than Parse reads goes as a binary block, so that Parse reads it.
func TestTooManyLinesGoAsBinary(t *testing.T) {
	t.Parallel()
	before, after := treeModel{}, treeModel{"f": regular(strings.Repeat("\n", maxLines/4+1))}
	diff, err := roundTrip(t, before, after)
	if err != nil || !strings.Contains(string(diff), "GIT binary patch") {
		t.Errorf("%v\n%.500s", err, diff)
	}
}

// An added function begins with its own first line, not with the end of the one before.
func TestSlide(t *testing.T) {
	t.Parallel()
	f := func(n string) string { return "func " + n + "() {\n\tbody\n}\n\n" }
	for name, tt := range map[string][3]string{
		"insert": {f("a") + f("z"), f("a") + f("b") + f("z"), "+func b() {\n+\tbody\n+}\n+\n func z"},
		"delete": {f("a") + f("b") + f("z"), f("a") + f("z"), "-func b() {\n-\tbody\n-}\n-\n func z"},
		"repeat": {"x\nx\n", "x\nx\nx\n", "@@ -1,2 +1,3 @@\n x\n x\n+x\n"},
	} {
		diff, err := Encode(treeModel{"f": regular(tt[0])}.changes(treeModel{"f": regular(tt[1])}))
		if err != nil || !strings.Contains(string(diff), tt[2]) {
			t.Errorf("%s: %v, want %q in\n%s", name, err, tt[2], diff)
		}
	}
}

// BenchmarkDiff100k compares a file of 100,000 lines with 200 edits; the limit, in the same run, is `git diff
// --no-index` of the same two files. The best round of each counts.
func BenchmarkDiff100k(b *testing.B) {
	g := generator{rand.New(rand.NewPCG(9, 9))} //nolint:gosec // a test
	lines := make([]string, 100_000)
	for i := range lines {
		lines[i] = pick(g, "}\n", "\n", "\treturn nil\n", fmt.Sprintf("\tcall(%d, some, arguments)\n", g.IntN(50_000)), fmt.Sprintf("\tother(%d)\n", i))
	}
	edited := slices.Clone(lines)
	for i := range 200 {
		edited[g.IntN(len(edited))] = fmt.Sprintf("\tedited %d\n", i)
	}
	top := b.TempDir()
	gitDir(b, top)
	for name, l := range map[string][]string{"before": lines, "after": edited} {
		must(b, os.WriteFile(top+"/"+name, []byte(strings.Join(l, "")), 0o600))
	}
	changes := treeModel{"f": regular(strings.Join(lines, ""))}.changes(treeModel{"f": regular(strings.Join(edited, ""))})
	ours, limit := time.Hour, time.Hour
	for b.Loop() {
		start := time.Now()
		if out, err := git(b, top, nil, "diff", "--no-index", "before", "after"); err == nil || len(out) == 0 {
			b.Fatal("git sees no difference")
		}
		limit = min(limit, time.Since(start))
		start = time.Now()
		if diff, err := Encode(changes); err != nil || len(diff) == 0 {
			b.Fatal(err)
		}
		ours = min(ours, time.Since(start))
	}
	b.ReportMetric(float64(ours)/float64(limit), "×git-diff")
}
