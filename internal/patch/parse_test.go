package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseFields(t *testing.T) {
	t.Parallel()
	before := treeModel{"a b": regular("1\n2\n3\n4\n5\r\n"), "bin": regular("\x00"), "gone": executable("x"), "mode": regular("m\n"), "type": regular("t\n")}
	after := treeModel{"a b": regular("1\n2\n3\n4\n6\n"), "bin": executable("\x00\x01"), "mode": executable("m\n"), "new": regular("n\n"), "type": symlink("to")}
	p, _ := encoded(t, before.changes(after)...)
	const file, exec, link = fs.FileMode(0o644), fs.FileMode(0o755), fs.ModeSymlink | 0o777
	want := []FilePatch{
		{Path: "a b", Change: "modified", Added: 1, Removed: 1, OldMode: file, NewMode: file, Hunks: []Hunk{{"@@ -2,4 +2,4 @@", 2, 2, []Line{
			{' ', "2", false},
			{' ', "3", false},
			{' ', "4", false},
			{'-', "5\r", false},
			{'+', "6", false},
		}}}},
		{Path: "bin", Change: "modified", Binary: true, OldMode: file, NewMode: exec},
		{Path: "gone", Change: "deleted", Removed: 1, OldMode: exec, Hunks: []Hunk{{"@@ -1 +0,0 @@", 1, 0, []Line{{'-', "x", true}}}}},
		{Path: "mode", Change: "modified", OldMode: file, NewMode: exec},
		{Path: "new", Change: "added", Added: 1, NewMode: file, Hunks: []Hunk{{"@@ -0,0 +1 @@", 0, 1, []Line{{'+', "n", false}}}}},
		{Path: "type", Change: "deleted", Removed: 1, OldMode: file, Hunks: []Hunk{{"@@ -1 +0,0 @@", 1, 0, []Line{{'-', "t", false}}}}},
		{Path: "type", Change: "added", Added: 1, NewMode: link, Hunks: []Hunk{{"@@ -0,0 +1 @@", 0, 1, []Line{{'+', "to", true}}}}},
	}
	if d := cmp.Diff(want, p.Files, cmpopts.IgnoreUnexported(FilePatch{})); d != "" {
		t.Error(d)
	}
	if p, err := Parse(nil); err != nil || len(p.Files) != 0 {
		t.Errorf("no bytes: %v %v", p, err)
	}
}

// Diffs that other tools and models write.
func TestParseForeign(t *testing.T) {
	t.Parallel()
	base := treeModel{"a": regular("1\n2\n3\n"), "gone": regular("x\n"), "sp ace": executable("1\n"), "l": symlink("1")}
	for name, tt := range map[string]struct {
		diff  string
		after treeModel
	}{
		"plain unified":     {"--- a/a\t2026-01-01 00:00:00\n+++ b/a\t2026-01-01 00:00:00\n@@ -1,3 +1,3 @@ func x()\n 1\n-2\n+b\n 3\n", treeModel{"a": regular("1\nb\n3\n")}},
		"plain new":         {"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n", treeModel{"n": regular("n\n")}},
		"plain deleted":     {"--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", treeModel{"gone": {}}},
		"abbreviated index": {"diff --git a/a b/a\nindex 01e79c3..1191247 100644\n--- a/a\n+++ b/a\n@@ -1,3 +1,2 @@\n 1\n-2\n 3\n", treeModel{"a": regular("1\n3\n")}},
		"no index":          {"diff --git a/sp ace b/sp ace\n--- a/sp ace\n+++ b/sp ace\n@@ -1 +1 @@\n-1\n+2\n", treeModel{"sp ace": executable("2\n")}},
		"lost space":        {"--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n 1\n 2\n 3\n+\n", treeModel{"a": regular("1\n2\n3\n\n")}},
		"other language":    {"--- a/a\n+++ b/a\n@@ -3 +3 @@\n-3\n+3\n\\ Kein Zeilenumbruch am Dateiende.\n", treeModel{"a": regular("1\n2\n3")}},
		"quoted for fun":    {"diff --git \"a/\\141\" \"b/a\"\nold mode 100644\nnew mode 100755\n", treeModel{"a": executable("1\n2\n3\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Parse([]byte(tt.diff))
			must(t, err)
			changes, err := p.Apply(base.read)
			must(t, err)
			got, want := base.with(changes), maps.Clone(base)
			maps.Copy(want, tt.after)
			maps.DeleteFunc(want, func(_ string, f File) bool { return f.Data == nil })
			if !got.equal(want) {
				t.Errorf("got\n%v", got)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const (
		hunk = "@@ -1 +1 @@\n-1\n+2\n"
		good = "diff --git a/a b/a\n--- a/a\n+++ b/a\n" + hunk
		bin  = "diff --git a/a b/a\nindex " + nullBlob + ".." + nullBlob + " 100644\nGIT binary patch\n"
		zero = "literal 0\nHcmV?d00001\n\n"
	)
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err) // else the rows below say nothing
	}
	for name, diff := range map[string]string{
		"words before":           "Here is the patch:\n" + good,
		"words after":            good + "Done.\n",
		"words between":          good + "and\n" + strings.ReplaceAll(good, "/a", "/b"),
		"empty line after":       good + "\n",
		"only words":             "no patch",
		"mail":                   "From 0 Mon Sep 17\nSubject: x\n\n" + good,
		"twice":                  good + good,
		"three times":            "diff --git a/a b/a\ndeleted file mode 100644\ndiff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n" + good,
		"delete and add":         "diff --git a/a b/a\ndeleted file mode 100644\ndiff --git a/a b/a\nnew file mode 100755\n",
		"add, then delete":       "diff --git a/a b/a\nnew file mode 100644\ndiff --git a/a b/a\ndeleted file mode 100644\n",
		"file and folder":        good + strings.ReplaceAll(good, "/a", "/a/b"),
		"rename":                 "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n",
		"rename of one name":     "diff --git a/a b/a\nrename from a\nrename to b\n",
		"copy":                   "diff --git a/a b/a\ncopy from x\ncopy to a\n" + hunk,
		"two names":              "diff --git a/a b/a\n--- a/a\n+++ b/b\n" + hunk,
		"other name above":       "diff --git a/x b/x\n--- a/a\n+++ b/a\n" + hunk,
		"no prefix":              "diff --git a a\n--- a\n+++ a\n" + hunk,
		"swapped prefix":         "--- b/a\n+++ a/a\n" + hunk,
		"submodule":              "diff --git a/a b/a\nnew file mode 160000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+Subproject commit 1\n",
		"folder":                 "diff --git a/a b/a\nnew file mode 040000\n",
		"setuid":                 "diff --git a/a b/a\nold mode 100644\nnew mode 104755\n",
		"type by mode":           "diff --git a/a b/a\nold mode 100644\nnew mode 120000\n",
		"half a mode":            "diff --git a/a b/a\nnew mode 100755\n",
		"modes that disagree":    "diff --git a/a b/a\nnew file mode 100644\nold mode 100644\nnew mode 100755\n",
		"mode twice":             "diff --git a/a b/a\nnew file mode 100644\nnew file mode 100644\n",
		"new and deleted":        "diff --git a/a b/a\nnew file mode 100644\ndeleted file mode 100644\n",
		"nothing":                "diff --git a/a b/a\n",
		"same mode":              "diff --git a/a b/a\nold mode 100644\nnew mode 100644\n",
		"index only":             "diff --git a/a b/a\nindex 1234567..1234568 100644\n",
		"bad index":              "diff --git a/a b/a\nindex zz..yy\n" + good[19:],
		"empty symlink":          "diff --git a/a b/a\nnew file mode 120000\nindex 0000000..e69de29\n",
		"new without content":    "diff --git a/a b/a\nnew file mode 100644\nindex 0000000..1234567\n",
		"new with old lines":     "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n",
		"new, but no /dev/null":  "diff --git a/a b/a\nnew file mode 100644\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+2\n",
		"/dev/null, but not new": "diff --git a/a b/a\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+2\n",
		"deleted with new lines": "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +1 @@\n-1\n+2\n",
		"both /dev/null":         "--- /dev/null\n+++ /dev/null\n" + hunk,
		"no hunks":               "--- a/a\n+++ b/a\n",
		"no plus line":           "--- a/a\n" + hunk,
		"hunk too short":         "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+2\n",
		"hunk too long":          "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n-2\n+2\n",
		"hunk without change":    "--- a/a\n+++ b/a\n@@ -1 +1 @@\n 1\n",
		"hunk of nothing":        "--- a/a\n+++ b/a\n@@ -0,0 +0,0 @@\n",
		"hunk head":              "--- a/a\n+++ b/a\n@@ -1 1 @@\n-1\n+2\n",
		"hunk head, huge":        "--- a/a\n+++ b/a\n@@ -99999999999999999999 +1 @@\n-1\n+2\n",
		"hunk head, negative":    "--- a/a\n+++ b/a\n@@ --1 +1 @@\n-1\n+2\n",
		"hunk at 0":              "--- a/a\n+++ b/a\n@@ -0 +1 @@\n-1\n+2\n",
		"hunks out of order":     "--- a/a\n+++ b/a\n@@ -9 +9 @@\n-1\n+2\n@@ -1 +1 @@\n-1\n+2\n",
		"hunks overlap":          "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+2\n 3\n@@ -2 +2 @@\n-3\n+4\n",
		"hunk shifted":           "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n@@ -9 +10 @@\n-1\n+2\n",
		"no place":               "--- a/a\n+++ b/a\n@@ -5,0 +6 @@\n+2\n",
		"three-way hunk":         "diff --cc a\n@@@ -1 -1 +1 @@@\n",
		"patch ends in a line":   "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2",
		"line after the last":    "--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-1\n+2\n" + noNewline + "\n+3\n",
		"context after the last": "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+2\n" + noNewline + "\n 3\n",
		"marker of what":         "--- a/a\n+++ b/a\n" + "@@ -1 +1 @@\n" + noNewline + "\n-1\n+2\n",
		"short marker":           "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n\\ No\n",
		"binary without content": "diff --git a/a b/a\nindex 1234567..1234568 100644\nBinary files a/a and b/a differ\n",
		"binary, short index":    "diff --git a/a b/a\nindex 1234567..1234568 100644\nGIT binary patch\n" + zero + zero,
		"binary, no index":       "diff --git a/a b/a\nGIT binary patch\n" + zero + zero,
		"binary delta":           bin + "delta 1\nHcmV?d00001\n\n" + zero,
		"binary delta back":      bin + zero + "delta 1\nHcmV?d00001\n\n",
		"binary, three blocks":   bin + zero + zero + zero,
		"binary, no blocks":      bin,
		"binary, no end":         bin + "literal 0\nHcmV?d00001\n",
		"binary, bad digits":     bin + "literal 0\nH\"\"\"\"\"\"\"\"\"\"\n\n",
		"binary symlink":         strings.Replace(bin, "100644", "120000", 1) + zero + zero,
		"quote without end":      "diff --git \"a/a b/a\n" + hunk,
		"bad escape":             "diff --git \"a/\\q\" \"b/\\q\"\nold mode 100644\nnew mode 100755\n",
		"octal over a byte":      "diff --git \"a/\\777\" \"b/\\777\"\nold mode 100644\nnew mode 100755\n",
		"words after a quote":    "diff --git \"a/a\" \"b/a\" x\nold mode 100644\nnew mode 100755\n",
		"CRLF everywhere":        strings.ReplaceAll(good, "\n", "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Parse([]byte(diff))
			if !errors.Is(err, ErrMalformed) || p != nil {
				t.Errorf("got %v, %v", p, err)
			}
		})
	}
}

func TestParseTooLarge(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: little of it runs at once, so the race detector finds little")
	}
	lines := maxLines + 1
	for name, diff := range map[string][]byte{
		"bytes":    make([]byte, MaxBytes+1),
		"lines":    fmt.Appendf(nil, "--- /dev/null\n+++ b/a\n@@ -0,0 +1,%d @@\n%s", lines, strings.Repeat("+\n", lines)),
		"inflated": fmt.Appendf(nil, "diff --git a/a b/a\nindex %s..%s\nGIT binary patch\nliteral %d\n\n", nullBlob, nullBlob, maxInflated+1),
	} {
		if p, err := Parse(diff); !errors.Is(err, ErrTooLarge) || p != nil {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, p := range []string{
		"", ".", "..", "../x", "a/../x", "a/..", "/x", "/", "a//b", "a/", "./a", "a/./b", "a\x00b", strings.Repeat("a/", 3000) + "a", strings.Repeat("a", 256),
		".git", ".git/config", "a/.git", "a/.git/hooks/x", ".GIT/x", ".gIt", ".git ", ".git.", ".git. .", ".git::$INDEX_ALLOCATION/x", "GIT~1", "git~1/x", ".g\u200cit", "\ufeff.git", ".gi\u202et/x",
		`a\.git\config`, `.git\x`, `..\x`, `a\..\x`, ".async", ".async/x", "a/.async", ".ASYNC", ".async./x", ".a\u200dsync", `x\.async`,
	} {
		if err := CheckPath(p); !errors.Is(err, ErrUnsafePath) {
			t.Errorf("%.40q: %v", p, err)
		}
		if _, err := Encode([]Change{{Path: p, After: &File{Mode: 0o644}}}); !errors.Is(err, ErrUnsafePath) {
			t.Errorf("Encode %.40q: %v", p, err)
		}
		quoted := strings.NewReplacer(`\`, `\\`, "\x00", `\000`).Replace(p)
		for _, diff := range []string{
			fmt.Sprintf("diff --git \"a/%s\" \"b/%s\"\nnew file mode 100644\n", quoted, quoted),
			fmt.Sprintf("--- /dev/null\n+++ \"b/%s\"\n@@ -0,0 +1 @@\n+x\n", quoted),
			fmt.Sprintf("--- \"a/%s\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", quoted),
		} {
			if _, err := Parse([]byte(diff)); !errors.Is(err, ErrUnsafePath) {
				t.Errorf("Parse %.40q: %v", p, err)
			}
		}
	}
	for _, p := range append([]string{".github/x", ".gitignore", "a.git", "git", "...", "a..b", ".gitx/y", "async", ".asyncrc", "a:b", "~", "x/.git~"}, hostile...) {
		if err := CheckPath(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	link := symlink("x")
	for _, p := range []string{".gitmodules", "a/.GITMODULES", "gitmod~1"} {
		if _, err := Encode([]Change{{Path: p, After: &link}}); !errors.Is(err, ErrUnsafePath) {
			t.Errorf("symlink %s: %v", p, err)
		}
		diff := "diff --git a/" + p + " b/" + p + "\nnew file mode 120000\n--- /dev/null\n+++ b/" + p + "\n@@ -0,0 +1 @@\n+x\n"
		if _, err := Parse([]byte(diff)); !errors.Is(err, ErrUnsafePath) {
			t.Errorf("symlink %s: %v", p, err)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	f, empty, nul := regular("x"), symlink(""), symlink("a\x00b")
	for name, changes := range map[string][]Change{
		"twice":            {{"a", nil, &f}, {"a", &f, nil}},
		"folder":           {{"a", nil, &File{Mode: fs.ModeDir | 0o755}}},
		"FIFO":             {{"a", &File{Mode: fs.ModeNamedPipe}, nil}},
		"empty symlink":    {{"a", nil, &empty}},
		"symlink with NUL": {{"a", nil, &nul}},
	} {
		if diff, err := Encode(changes); err == nil {
			t.Errorf("%s: got\n%s", name, diff)
		}
	}
	if diff, err := Encode([]Change{{Path: "a"}, {"b", &f, &File{0o600, []byte("x")}}}); err != nil || diff != nil {
		t.Errorf("nothing changes: %s %v", diff, err)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a b": "a b", "ü": `"\303\274"`, "a\"b": `"a\"b"`, `a\`: `"a\\"`, "\a\b\t\n\v\f\r\x01\x7f": `"\a\b\t\n\v\f\r\001\177"`,
	} {
		if got := quote(name); got != want {
			t.Errorf("quote(%q) = %s, want %s", name, got, want)
		}
	}
	for b := range 256 {
		name := "x" + string([]byte{byte(b)}) + "y"
		q := quote(name)
		if q == name {
			continue
		}
		if got, rest, err := unquote(q + " rest"); got != name || rest != " rest" || err != nil {
			t.Errorf("unquote(%s) = %q, %q, %v", q, got, rest, err)
		}
	}
	for _, bad := range []string{"", "a", `"`, `"a`, `"a\"`, `"\`, `"\9"`, `"\12"`, `"\400"`, "\"a\nb\"", `"\q"`} {
		if got, _, err := unquote(bad); err == nil {
			t.Errorf("unquote(%s) = %q", bad, got)
		}
	}
}

// go-gitdiff's reader is the judge of our base 85.
func TestBase85(t *testing.T) {
	t.Parallel()
	for n := range 110 {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i*7 + n)
		}
		data = append(data, 0)
		p, _ := encoded(t, Change{"f", nil, &File{0o644, data}})
		changes, err := p.Apply(treeModel{}.read)
		if err != nil || !bytes.Equal(changes[0].After.Data, data) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}
