package scratch

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Whatever make an index is of, git finds a copy as clean as the tree, and reads no file that was unchanged there:
// a filter that is not to be had cannot make one look changed.
func TestRestat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		init   []string
		config []string
		do     func(t *testing.T, top string)
		known  bool // the index is understood
	}{
		{"version 2", nil, nil, nil, true},
		{"version 3", nil, nil, func(t *testing.T, top string) { run(t, top, "add", "-N", "new") }, true},
		{"version 4", nil, []string{"index.version=4"}, nil, true},
		{"sha256", []string{"--object-format=sha256"}, nil, nil, true},
		{"sha256, version 4", []string{"--object-format=sha256"}, []string{"index.version=4"}, nil, true},
		{"no checksum", nil, nil, func(t *testing.T, top string) {
			text, err := os.ReadFile(top + "/.git/index")
			must(t, err)
			info, err := os.Stat(top + "/.git/index")
			must(t, err)
			copy(text[len(text)-20:], make([]byte, 20))
			must(t, os.WriteFile(top+"/.git/index", text, 0o644), os.Chtimes(top+"/.git/index", info.ModTime(), info.ModTime()))
		}, true},
		{"split", nil, nil, func(t *testing.T, top string) { run(t, top, "update-index", "--split-index") }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			top := newRepo(t, nil, test.init...)
			for _, kv := range test.config {
				k, v, _ := strings.Cut(kv, "=")
				run(t, top, "config", k, v)
			}
			run(t, top, "config", "filter.x.clean", "tr a-z b-za")
			run(t, top, "config", "filter.x.smudge", "tr b-za a-z")
			write(t, top, map[string]string{".gitattributes": "*.x filter=x\n", "a": "1", "dir/b": "1", "dir/deep/c.x": "abc\n", "dirty.x": "abc\n", "dirty": "1", "new": "1"})
			must(t, os.Symlink("a", top+"/link"))
			run(t, top, "add", ".gitattributes", "a", "dir", "dirty.x", "dirty", "link")
			run(t, top, "commit", "-q", "-m", "one")
			write(t, top, map[string]string{"dirty.x": "xyz\n", "dirty": "2"})
			aged(t, top, "a", "dir/b", "dir/deep/c.x", ".gitattributes", "link")
			run(t, top, "update-index", "-q", "--refresh", "a") // and the index knows it
			run(t, top, "add", "-u", "dir", ".gitattributes", "a", "link")
			if test.do != nil {
				test.do(t, top)
			}
			want := run(t, top, "--no-optional-locks", "diff-files", "--name-only")
			if !strings.HasPrefix(want, "dirty\ndirty.x") {
				t.Fatalf("the tree: %q", want)
			}
			c := makeCopy(t, makeBase(t, Source{Root: top}))
			if test.known {
				if got := run(t, c.Dir, "diff-files", "--name-only"); got != want {
					t.Errorf("the copy: %q, the tree: %q", got, want)
				}
			} else if got := run(t, c.Dir, "diff-files", "--name-only", "--", "a", "dir/b", "link"); got != "" {
				t.Errorf("the copy: %q", got)
			}
			if test.name != "no checksum" { // only newer ones of git know that
				run(t, c.Dir, "fsck", "--strict")
			}
			if got, want := run(t, c.Dir, "ls-files", "-s", "-t", "-v"), run(t, top, "ls-files", "-s", "-t", "-v"); got != want {
				t.Errorf("the index of the copy\n%s\nthat of the tree\n%s", got, want)
			}
		})
	}
}

// An index that is broken or of another make changes nothing and breaks nothing.
func FuzzEachEntry(f *testing.F) {
	for _, args := range [][]string{nil, {"--object-format=sha256"}} {
		top := newRepo(f, map[string]string{"a": "1", "dir/b": "1"}, args...)
		for _, version := range []string{"2", "4"} {
			run(f, top, "update-index", "--index-version", version)
			text, err := os.ReadFile(top + "/.git/index")
			must(f, err)
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) < 40 {
			return
		}
		before := bytes.Clone(text)
		size := 20
		if sum := newSum(text); sum != nil {
			size = sum.Size()
		}
		n := uint32(0)
		if eachEntry(text, size, func(string, uint16, uint16, []byte) { n++ }) && n != binary.BigEndian.Uint32(text[8:]) {
			t.Error("not all entries were given")
		}
		if changed, _, _ := patchIndex(text, size, time.Now(), func(string) *copied { return &copied{} }); changed || !bytes.Equal(text, before) {
			t.Error("it was changed for a file that nothing is known of")
		}
	})
}

// What git cannot give back by the commit: changed and new files, what git was told not to look at, files of other
// repositories.
func TestLoose(t *testing.T) {
	t.Parallel()
	inner := newRepo(t, map[string]string{"i": "1"})
	top := newRepo(t, map[string]string{".gitignore": "*.o\nnode_modules\n", "a": "1", "changed": "1", "assumed": "1", "skipped": "1", "untouched": "1"})
	run(t, top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "sub")
	run(t, top, "commit", "-q", "-m", "sub")
	run(t, top, "update-index", "--assume-unchanged", "assumed", "untouched")
	run(t, top, "update-index", "--skip-worktree", "skipped")
	write(t, top, map[string]string{"changed": "2", "new": "1", "x.o": "1", "node_modules/m": "1", "assumed": "2", "skipped": "2", "nested/n": "1"})
	run(t, top+"/nested", "init", "-q")
	b := makeBase(t, Source{Root: top})
	got, err := b.Loose(t.Context())
	must(t, err)
	if want := []string{"assumed", "changed", "nested/n", "new", "skipped", "sub/i", "untouched"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
