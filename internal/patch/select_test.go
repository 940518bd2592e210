package patch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func textOf(edits map[int]string) *File {
	var b strings.Builder
	for i := 1; i <= 40; i++ {
		line, ok := edits[i]
		if !ok {
			line = fmt.Sprint("line ", i, "\n")
		}
		b.WriteString(line)
	}
	return &File{Mode: 0o644, Data: []byte(b.String())}
}

// encoded returns a patch, parsed and as text.
func encoded(t testing.TB, changes ...Change) (*Patch, []byte) {
	t.Helper()
	b, err := Encode(changes)
	must(t, err)
	p, err := Parse(b)
	must(t, err)
	return p, b
}

// From any set of hunks to any other, and the set that a text holds is found.
func TestSplice(t *testing.T) {
	t.Parallel()
	edits := map[int]string{1: "", 12: "twelve\nmore\n", 25: "", 40: "the end, without a line end"}
	base := textOf(nil)
	whole := textOf(edits)
	whole.Mode = 0o755
	p, _ := encoded(t, Change{Path: "f", Before: base, After: whole})
	g := p.Paths()[0]
	if n := len(g.Parts()); n != 4 {
		t.Fatalf("%d hunks", n)
	}
	set := func(bits int) []bool {
		return []bool{bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0}
	}
	state := func(bits int) *File {
		some := map[int]string{}
		for i, line := range []int{1, 12, 25, 40} {
			if bits&(1<<i) > 0 {
				some[line] = edits[line]
			}
		}
		f := textOf(some)
		if bits&1 > 0 {
			f.Mode = 0o755
		}
		return f
	}
	for from := range 16 {
		for to := range 16 {
			got, err := g.Splice(state(from), set(from), set(to))
			if err != nil || !Equal(got, state(to)) {
				t.Errorf("from %04b to %04b: %v %v", from, to, got, err)
			}
		}
		has, ok := g.Holds(state(from), func(f *File) bool { return Equal(f, base) })
		if !ok || !slices.Equal(has, set(from)) {
			t.Errorf("%04b holds %v %v", from, has, ok)
		}
		wrong := state(from)
		wrong.Data = append([]byte("more\n"), wrong.Data...)
		if _, err := g.Splice(wrong, set(from), set(15-from)); !errors.Is(err, ErrConflict) {
			t.Errorf("%04b of another text: %v", from, err)
		}
		if has, ok := g.Holds(wrong, func(f *File) bool { return Equal(f, base) }); ok {
			t.Errorf("another text holds %v", has)
		}
	}
	if _, err := g.Splice(nil, set(0), set(1)); !errors.Is(err, ErrConflict) {
		t.Errorf("nothing there: %v", err)
	}
}

// What is not hunks is one part, there and back.
func TestSpliceOfTheWhole(t *testing.T) {
	t.Parallel()
	text, other := &File{Mode: 0o644, Data: []byte("a\n")}, &File{Mode: 0o644, Data: []byte("b\n")}
	link := &File{Mode: fileMode("120000"), Data: []byte("to")}
	program := &File{Mode: 0o755, Data: []byte("a\n")}
	block, next := &File{Mode: 0o644, Data: []byte("\x00a")}, &File{Mode: 0o755, Data: []byte("\x00b")}
	for name, c := range map[string]struct {
		before, after *File
		part          string
	}{
		"added": {nil, text, "added"}, "deleted": {text, nil, "deleted"}, "mode": {text, program, "mode"}, "binary": {block, next, "binary"},
		"a block deleted": {block, nil, "deleted"}, "a block added": {nil, next, "added"}, "a link": {text, link, "another type"}, "no link": {link, text, "another type"},
		"empty": {nil, &File{Mode: 0o644, Data: nil}, "added"}, "empty deleted": {&File{Mode: 0o644, Data: nil}, nil, "deleted"},
	} {
		p, _ := encoded(t, Change{Path: "f", Before: c.before, After: c.after})
		g := p.Paths()[0]
		if parts := g.Parts(); len(parts) != 1 || parts[0] != c.part {
			t.Errorf("%s: %q", name, parts)
		}
		no, yes := []bool{false}, []bool{true}
		if got, err := g.Splice(c.before, no, yes); err != nil || !Equal(got, c.after) {
			t.Errorf("%s: %v %v", name, got, err)
		}
		if got, err := g.Splice(c.after, yes, no); err != nil || !Equal(got, c.before) {
			t.Errorf("%s, back: %v %v", name, got, err)
		}
		for _, wrong := range []*File{other, nil} {
			if !Equal(wrong, c.after) {
				if got, err := g.Splice(wrong, yes, no); err == nil && c.part != "mode" {
					t.Errorf("%s, back from %v: %v", name, wrong, got)
				}
			}
		}
	}
}

// The text of a selection is the patch of the selection.
func TestSelect(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var changes []Change
		before, after := map[string]*File{}, map[string]*File{}
		for _, name := range []string{"a", "b c", "d/e"} {
			edits, base := map[int]string{}, map[int]string{}
			for range rng.IntN(5) {
				edits[1+rng.IntN(40)] = []string{"", "x\n", "-- y\n+++ z\n", "@@ -1 +1 @@\n"}[rng.IntN(4)]
			}
			if rng.IntN(4) == 0 {
				base[40] = "no end"
			}
			before[name], after[name] = textOf(base), textOf(edits)
			switch rng.IntN(6) {
			case 0:
				before[name] = nil
			case 1:
				after[name] = nil
			case 2:
				after[name].Mode = 0o755
			}
			changes = append(changes, Change{Path: name, Before: before[name], After: after[name]})
		}
		p, text := encoded(t, changes...)
		chosen := map[string][]bool{}
		for _, g := range p.Paths() {
			parts := make([]bool, len(g.Parts()))
			for i := range parts {
				parts[i] = rng.IntN(2) == 0
			}
			chosen[g.Path] = parts
		}
		some, err := Select(text, func(path string, n int) bool { return chosen[path][n] })
		must(t, err)
		if again, err := Recount(some); err != nil || string(again) != string(some) {
			t.Fatalf("counted again: %v\n%s\nwas\n%s", err, again, some)
		}
		selected, err := Parse(some)
		if err != nil {
			t.Fatalf("%v\n%s", err, some)
		}
		got := map[string]*File{}
		made, err := selected.Apply(func(path string) (*File, error) { return before[path], nil })
		if err != nil {
			t.Fatalf("%v\n%s", err, some)
		}
		for _, c := range made {
			got[c.Path] = c.After
		}
		for _, g := range p.Paths() {
			want, err := g.Splice(before[g.Path], make([]bool, len(chosen[g.Path])), chosen[g.Path])
			must(t, err)
			have, ok := got[g.Path]
			if !ok {
				have = before[g.Path]
			}
			if !Equal(have, want) {
				t.Fatalf("%s %v: %v, want %v\n%s", g.Path, chosen[g.Path], have, want, some)
			}
		}
	}
}

// A person who edits a patch does not count.
func TestRecount(t *testing.T) {
	t.Parallel()
	_, text := encoded(t, Change{Path: "f", Before: textOf(nil), After: textOf(map[int]string{5: "five\n", 30: "thirty\n"})}, Change{Path: "g", Before: nil, After: textOf(nil)},
		Change{Path: "x", Before: textOf(nil), After: &File{Mode: 0o755, Data: textOf(map[int]string{9: "nine\n"}).Data}})
	for name, c := range map[string]struct{ from, to, has, hasNot string }{
		"a line more":         {"+five\n", "+five\n+and more\n", "@@ -2,7 +2,8 @@", ""},
		"what follows moves":  {"+five\n", "+five\n+and more\n", "@@ -27,7 +28,7 @@", ""},
		"a line less":         {"-line 5\n", " line 5\n", "@@ -2,7 +2,8 @@", "-line 5"},
		"a hunk without":      {"-line 30\n+thirty\n", " line 30\n", "@@ -2,7", "@@ -27,7"},
		"a hunk gone":         {"-line 5\n+five\n", " line 5\n", "@@ -27,7 +27,7 @@", "five"},
		"the mode alone":      {"-line 9\n+nine\n", " line 9\n", "new mode 100755", "nine"},
		"less of a new file":  {"+line 40\n", "", "@@ -0,0 +1,39 @@", ""},
		"words above":         {"diff --git a/f b/f\n", "# words\n\nthat are dropped\ndiff --git a/f b/f\n", "diff --git a/f", "words"},
		"empty context lines": {" line 4\n", "\n", "@@ -2,7 +2,7 @@", ""},
	} {
		edited := strings.Replace(string(text), c.from, c.to, 1)
		if edited == string(text) {
			t.Fatalf("%s: nothing is edited", name)
		}
		got, err := Recount([]byte(edited + "\n\n"))
		if err != nil || !strings.Contains(string(got), c.has) || c.hasNot != "" && strings.Contains(string(got), c.hasNot) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		if _, err := Parse(got); err != nil {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	for _, nothing := range []string{"", "\n\n", "# words\n", "no patch"} {
		if got, err := Recount([]byte(nothing)); err != nil || len(got) > 0 {
			t.Errorf("%q: %q %v", nothing, got, err)
		}
	}
	for _, bad := range []string{"diff --git a/f b/g\n", "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ what @@\n"} {
		if got, err := Recount([]byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %q %v", bad, got, err)
		}
	}
}

// Hostile text neither hangs nor passes for a patch.
func FuzzRecount(f *testing.F) {
	_, text := encoded(f, Change{Path: "f", Before: textOf(nil), After: textOf(map[int]string{5: "five\n"})})
	f.Add(text)
	f.Add([]byte("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := Recount(b)
		if err != nil {
			return
		}
		twice, err := Recount(once)
		if err != nil || string(once) != string(twice) {
			t.Errorf("%v\n%q\n%q", err, once, twice)
		}
	})
}
