package patch

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestApplyConflicts(t *testing.T) {
	t.Parallel()
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	diffOf := func(before, after treeModel) string {
		_, diff := encoded(t, before.changes(after)...)
		return string(diff)
	}
	edit := diffOf(treeModel{"a": regular(ten)}, treeModel{"a": regular(strings.Replace(ten, "5", "five", 1))})
	add := diffOf(treeModel{}, treeModel{"d/a": regular("x\n")})
	gone := diffOf(treeModel{"a": regular("x\ny\n")}, treeModel{})
	empty := diffOf(treeModel{"a": regular("")}, treeModel{})
	bin := diffOf(treeModel{"a": regular("\x00")}, treeModel{"a": regular("\x00\x01")})
	binGone := diffOf(treeModel{"a": regular("\x00")}, treeModel{})
	link := diffOf(treeModel{"a": symlink("x")}, treeModel{"a": symlink("y")})
	chmod := diffOf(treeModel{"a": regular("x")}, treeModel{"a": executable("x")})
	retype := diffOf(treeModel{"a": regular("x")}, treeModel{"a": symlink("y")})
	for _, tt := range []struct {
		name, diff string
		base       treeModel
		want       string // in the message
	}{
		{"not there", edit, treeModel{}, "a: it is not there"},
		{"line changed", edit, treeModel{"a": regular(strings.Replace(ten, "5", "V", 1))}, "a, line 5:"},
		{"context changed", edit, treeModel{"a": regular(strings.Replace(ten, "3", "III", 1))}, "a, line 3:"},
		{"line end changed", edit, treeModel{"a": regular(strings.Replace(ten, "4\n", "4\r\n", 1))}, "a, line 4:"},
		{"lines above", edit, treeModel{"a": regular("0\n" + ten)}, "a, line 2:"},
		{"file too short", edit, treeModel{"a": regular("1\n2\n")}, "a, line 3:"},
		{"file empty", edit, treeModel{"a": regular("")}, "a, line 1:"},
		{"executable now", edit, treeModel{"a": executable(ten)}, "a: its mode is 100755, not 100644"},
		{"symlink now", edit, treeModel{"a": symlink(ten)}, "a: it is of another type"},
		{"there already", add, treeModel{"d/a": regular("x\n")}, "d/a: it is there already"},
		{"file in the way", add, treeModel{"d": regular("x\n")}, "d/a: d is there, and is no folder"},
		{"symlink in the way", add, treeModel{"d": symlink("/etc")}, "d/a: d is there, and is no folder"},
		{"deleted has more", gone, treeModel{"a": regular("x\ny\nz\n")}, "a, line 3:"},
		{"deleted has other", gone, treeModel{"a": regular("x\nz\n")}, "a, line 2:"},
		{"deleted is not empty", empty, treeModel{"a": regular("x\n")}, "a: it has content"},
		{"binary changed", bin, treeModel{"a": regular("\x01")}, "a: the content is not"},
		{"binary to delete changed", binGone, treeModel{"a": regular("\x01")}, "a: the content is not"},
		{"link changed", link, treeModel{"a": symlink("z")}, "a, line 1:"},
		{"link is a file", link, treeModel{"a": regular("x")}, "a: it is of another type"},
		{"chmod done", chmod, treeModel{"a": executable("x")}, "a: its mode is"},
		{"retyped already", retype, treeModel{"a": symlink("y")}, "a: it is of another type"},
		{"the end is not the end", "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n 1\n 2\n+x\n", treeModel{"a": regular(ten)}, "a, line 3: the file goes on"},
		{"plain diff of a symlink", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+/etc\n\\ No newline at end of file\n", treeModel{"a": symlink("x")}, "a: it is of another type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Parse([]byte(tt.diff))
			must(t, err)
			changes, err := p.Apply(tt.base.read)
			if !errors.Is(err, ErrConflict) || changes != nil {
				t.Fatalf("got %v, %v", changes, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q does not say %q", err, tt.want)
			}
		})
	}
}

// A binary block is taken only if it is what the index line says, inflates to its size, and is whole.
func TestApplyBinaryIsChecked(t *testing.T) {
	t.Parallel()
	before, after := treeModel{"a": regular("\x00before")}, treeModel{"a": regular("\x00after")}
	_, good := encoded(t, before.changes(after)...)
	now, wrong := after["a"], regular("\x00other")
	for name, diff := range map[string]string{
		"other name": strings.Replace(string(good), blobOf(&now), blobOf(&wrong), 1),
		"other size": strings.Replace(string(good), "literal 6\n", "literal 5\n", 1),
		"no deflate": strings.Replace(string(good), "literal 6\n", "literal 6\nA00000\n", 1),
	} {
		p, err := Parse([]byte(diff))
		if err == nil {
			_, err = p.Apply(before.read)
		}
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestApplyRefusesBadSymlinks(t *testing.T) {
	t.Parallel()
	p, err := Parse([]byte("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n" +
		"+a\x00b\n" + noNewline + "\n"))
	must(t, err)
	if _, err = p.Apply(treeModel{}.read); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

// Permission bits that git does not know survive; a reader's error comes through.
func TestApplyKeepsOtherBits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, after, want fs.FileMode }{
		{0o600, 0o644, 0o600}, {0o640, 0o755, 0o750}, {0o600, 0o755, 0o700}, {0o711, 0o644, 0o600}, {0o755, 0o755, 0o755},
	} {
		p, _ := encoded(t, Change{"a", &File{tt.base, []byte("x\n")}, &File{tt.after, []byte("y\n")}})
		changes, err := p.Apply(treeModel{"a": {tt.base, []byte("x\n")}}.read)
		if err != nil || changes[0].After.Mode != tt.want {
			t.Errorf("%v → %v: %+v %v", tt.base, tt.after, changes, err)
		}
		broken := errors.New("broken disk")
		if _, err := p.Apply(func(string) (*File, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}

// A change of type is one change of the path.
func TestApplyMergesTypeChange(t *testing.T) {
	t.Parallel()
	before, after := treeModel{"a": regular("x"), "b/c": regular("y")}, treeModel{"a": symlink("y"), "b": symlink("z")}
	p, _ := encoded(t, before.changes(after)...)
	changes, err := p.Apply(before.read)
	if err != nil || len(changes) != 3 {
		t.Fatalf("%v %v", changes, err)
	}
	if a := changes[0]; a.Path != "a" || string(a.Before.Data) != "x" || string(a.After.Data) != "y" || !isLink(a.After) {
		t.Errorf("%+v", a)
	}
	if order := []string{changes[1].Path, changes[2].Path}; order[0] != "b" || order[1] != "b/c" {
		t.Errorf("order %q", order)
	}
}
