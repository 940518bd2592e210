package audit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

func TestCopyRun(t *testing.T) {
	t.Parallel()
	link := func(to, name string) func(string) error {
		return func(dir string) error { return os.Symlink(to, filepath.Join(dir, name)) }
	}
	empty := func(name string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o600) }
	}
	for name, c := range map[string]struct {
		make func(dir string) error
		want string // in the error; empty: it is taken in
	}{
		"a link":            {link("/etc/passwd", "logs/x"), "is a link"},
		"a linked folder":   {link("/etc", "context"), "is a link"},
		"an odd name":       {empty("a b"), "no record of ours has"},
		"a name of control": {empty("a\x1b[1m"), "no record of ours has"},
		"long escape":       {empty("logs/%5B@2.log"), ""},
		"too deep": {
			func(d string) error { return os.MkdirAll(filepath.Join(d, "1/2/3/4/5/6/7"), 0o700) },
			"no record of ours has",
		},
		"too large": {func(d string) error {
			return errors.Join(os.WriteFile(filepath.Join(d, "large"), nil, 0o600),
				os.Truncate(filepath.Join(d, "large"), mostImported+1))
		}, "has more than 2 GiB"},
		"what stays": {func(d string) error {
			return errors.Join(os.WriteFile(filepath.Join(d, ".hidden"), nil, 0o600),
				os.Mkdir(filepath.Join(d, ".folder"), 0o700))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
			for _, f := range []string{
				"logs/t.log", "maker.json", "imported.json", "fixes/t.state.jsonl",
				"fixes/t.state.jsonl.end", "fixes/t/applied/abc",
			} {
				fixtest.Check(t, os.MkdirAll(filepath.Join(from, filepath.Dir(f)), 0o700))
				fixtest.Check(t, os.WriteFile(filepath.Join(from, f), []byte(f), 0o600))
			}
			fixtest.Check(t, c.make(from))
			hidden, err := CopyRun(from, to)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				return
			}
			fixtest.Check(t, err)
			if dot := name == "what stays"; dot != slices.Equal(hidden, []string{".folder/", ".hidden"}) || !dot &&
				len(hidden) > 0 {
				t.Errorf("hidden: %q", hidden)
			}
			if b, err := os.ReadFile(filepath.Join(to, "logs", "t.log")); err != nil || string(b) != "logs/t.log" {
				t.Errorf("%q, %v", b, err)
			}
			for _, f := range []string{
				"maker.json", "imported.json", "fixes/t.state.jsonl", "fixes/t.state.jsonl.end",
				"fixes/t/applied/abc", ".hidden",
			} {
				if recordfile.Exists(filepath.Join(to, f)) {
					t.Errorf("%s was taken in", f)
				}
			}
		})
	}
}

// The mark tells where a run came from, and a byte of it that is flipped is found.
func TestMarkImported(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1\n"}
	s := fixtest.NewStore(t, before)
	p := fixtest.Sealed(t, s, "test", before, fixtest.Files{"a": "f:2\n"}, nil)
	if p.Imported() != nil {
		t.Error("it was made here")
	}
	fixtest.Check(t, MarkImported(p.Dir, "artifact", "me"))
	if i := p.Imported(); i == nil || i.From != "artifact" || *i.By != "me" || i.At == "" {
		t.Errorf("%+v", i)
	}
	if r := audited(t, s, fixtest.RunID); len(r.Faults) > 0 {
		t.Fatalf("%+v", r.Faults)
	}
	path := filepath.Join(p.Dir, fix.ImportedFile)
	text := fixtest.Read(t, path)
	for i := range text {
		flipped := append([]byte{}, text...)
		flipped[i] ^= 1
		fixtest.Check(t, os.WriteFile(path, flipped, 0o600))
		if r := audited(t, s, fixtest.RunID); len(r.Faults) == 0 || r.Faults[len(r.Faults)-1].File != fix.ImportedFile {
			t.Errorf("byte %d (%q): %+v", i, text[i], r.Faults)
		}
	}
}

// A run that is here already may have gone on with decisions and fixes; in all else it must be the same.
func TestSameRun(t *testing.T) {
	t.Parallel()
	before := fixtest.Files{"a": "f:1\n"}
	s := fixtest.NewStore(t, before)
	p := fixtest.Sealed(t, s, "test", before, fixtest.Files{"a": "f:2\n"}, nil)
	there := filepath.Join(t.TempDir(), "there")
	fixtest.OK(t)(CopyRun(p.Dir, there))
	fixtest.Check(t, MarkImported(p.Dir, "x", ""))
	same := func(want bool, what string) {
		t.Helper()
		if got, err := SameRun(there, p.Dir); err != nil || got != want {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	same(true, "nothing happened since")
	fixtest.OK(t)(apply.Tree{Fixes: s}.Apply(t.Context(), p, apply.Options{}))
	fixtest.Sealed(t, s, "other", before, fixtest.Files{"a": "f:3\n"}, nil)
	same(true, "it was applied, and another task got a fix")
	fixtest.Check(t, os.WriteFile(filepath.Join(p.Dir, "fixes", "test.patch"), []byte("x"), 0o600))
	same(false, "a patch changed")
	fixtest.Check(t, os.Remove(filepath.Join(p.Dir, "fixes", "test.patch")))
	same(false, "a patch is gone")
}
