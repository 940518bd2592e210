package patch

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse: whatever the bytes, Parse does not panic and no unsafe path comes out; what it takes is applied or
// refused, and what is applied can be written again with the same effect.
func FuzzParse(f *testing.F) {
	for i := range 40 {
		g := generator{rand.New(rand.NewPCG(3, uint64(i)))} //nolint:gosec // a test
		before, after := g.pair()
		if diff, err := Encode(before.changes(after)); err == nil && len(diff) < 4000 {
			f.Add(diff, []byte("1\n2\n"))
		}
	}
	f.Add([]byte("diff --git a/../x b/../x\nnew file mode 100644\n"), []byte(nil))
	f.Add([]byte("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+3\n 2\n"), []byte("1\n2\n"))
	f.Add([]byte("--- a/a\n+++ b/a\n@@ -2 +2,2 @@\n 2\n\\ No newline at end of file\n"), []byte("1\n2"))
	f.Fuzz(func(t *testing.T, diff, base []byte) {
		p, err := Parse(diff)
		if err != nil {
			if p != nil {
				t.Error("a patch and an error")
			}
			return
		}
		for _, file := range p.Files {
			if !filepath.IsLocal(file.Path) || strings.Contains(strings.ToLower("/"+file.Path+"/"), "/.git/") || strings.Contains("/"+file.Path+"/", "/.async/") {
				t.Errorf("unsafe path %q", file.Path)
			}
		}
		changed := map[string]bool{}
		for _, file := range p.Files {
			changed[file.Path] = file.Change != "added"
		}
		for _, read := range []func(string) (*File, error){
			treeModel{}.read,
			func(p string) (*File, error) {
				if changed[p] {
					return &File{Mode: 0o644, Data: base}, nil
				}
				return nil, nil
			},
		} {
			changes, err := p.Apply(read)
			if err != nil {
				continue
			}
			again, err := Encode(changes)
			if err != nil {
				t.Fatalf("cannot be written again: %v", err)
			}
			q, err := Parse(again)
			if err != nil {
				t.Fatalf("cannot be read again: %v\n%s", err, again)
			}
			second, err := q.Apply(read)
			if err != nil {
				t.Fatalf("cannot be applied again: %v\n%s", err, again)
			}
			final := map[string]*File{}
			for _, c := range second {
				final[c.Path] = c.After
			}
			for _, c := range changes {
				if after, ok := final[c.Path]; ok && !Equal(after, c.After) || !ok && !Equal(c.Before, c.After) {
					t.Errorf("%q: another result the second time", c.Path)
				}
			}
		}
	})
}

// FuzzLines: the script always leads from one text to the other.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("b\na"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if err := diffLines(string(before), string(after)).check(); err != nil {
			t.Error(err)
		}
		if bytes.Equal(before, after) != (diffLines(string(before), string(after)).marks() == 0) {
			t.Error("marks without a difference, or none with one")
		}
	})
}
