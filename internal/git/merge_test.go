package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir := t.TempDir()
	base := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for name, c := range map[string]struct {
		ours, theirs, want string
		union              bool
		conflicts          int
	}{
		"apart":     {strings.Replace(base, "2", "two", 1), strings.Replace(base, "8", "eight", 1), strings.NewReplacer("2", "two", "8", "eight").Replace(base), false, 0},
		"alike":     {strings.Replace(base, "2", "two", 1), strings.NewReplacer("2", "two", "8", "eight").Replace(base), strings.NewReplacer("2", "two", "8", "eight").Replace(base), false, 0},
		"conflict":  {"mine\n", "theirs\n", "<<<<<<< ours\nmine\n=======\ntheirs\n>>>>>>> theirs\n", false, 1},
		"two":       {strings.NewReplacer("2", "a", "8", "b").Replace(base), strings.NewReplacer("2", "c", "8", "d").Replace(base), "", false, 2},
		"union":     {base + "mine\n", base + "theirs\n", base + "mine\ntheirs\n", true, 0},
		"both gone": {"", "", "", false, 0},
	} {
		got, n, err := Merge(t.Context(), dir, []byte(c.ours), []byte(base), []byte(c.theirs), c.union)
		if err != nil || n != c.conflicts || c.want != "" && string(got) != c.want {
			t.Errorf("%s: %d %v %q", name, n, err, got)
		}
	}
	if _, _, err := Merge(t.Context(), dir, []byte("\x00a"), []byte("\x00"), []byte("\x00b"), false); err == nil {
		t.Error("binary contents are merged")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("written where it was asked: %v %v", left, err)
	}
}

func TestMergeAs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	if _, err := (call{dir: dir, args: []string{"init", "-q"}}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	attributes := "u merge=union\nb -merge\nbin binary\nt merge\nmine merge=mine\n\"new\\nline\" merge=union\n"
	must(t, os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte(attributes), 0o600))
	r, err := Find(t.Context(), dir)
	must(t, err)
	for path, want := range map[string]string{"other": MergeText, "u": MergeUnion, "b": MergeBinary, "bin": MergeBinary, "t": MergeText, "mine": "mine", "new\nline": MergeUnion} {
		if got, err := r.MergeAs(t.Context(), path); err != nil || got != want {
			t.Errorf("%q: %q %v", path, got, err)
		}
	}
	if _, err := (call{dir: dir, args: []string{"config", "merge.default", "union"}}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := r.MergeAs(t.Context(), "other"); err != nil || got != MergeUnion {
		t.Errorf("merge.default: %q %v", got, err)
	}
}
