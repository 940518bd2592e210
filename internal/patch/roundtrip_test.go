package patch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// hostile names, each of which once broke somebody's patch.
var hostile = []string{
	"plain", "with space", " lead", "trail ", "two  spaces", `quote"s`, "new\nline", "\n", "tab\there", "\t", "um läut ü", "日本語", "-rf", "--", "-",
	`back\slash`, `ends\`, `\`, `\n`, `\303`, "\xff\xfe", "caf\xe9", "\x01\x7f\x1b[31m", "a b/x b", "b", "x b", "cr\r", "dev", "null", "+++ b", "@@", "...", ".gitx", "git", "ä\\\" \n",
	"\a\b\v\f", "a => b", "{a,b}", "*?[", "$(x)`y`", "'", ".gitignore", ".gitmodules", "'quoted'", "con", "f.",
}

// A generator makes random trees.
type generator struct{ *rand.Rand }

func pick[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

func (g generator) name() string {
	if g.IntN(8) > 0 {
		return pick(g, hostile...)
	}
	b := make([]byte, 1+g.IntN(6))
	for i := range b {
		for b[i] = 0; b[i] == 0 || b[i] == '/'; {
			b[i] = byte(g.IntN(256))
		}
	}
	return string(b)
}

func (g generator) path() string {
	for {
		p := g.name()
		for range pick(g, 0, 0, 0, 1, 1, 2, 4) {
			p += "/" + g.name()
		}
		if CheckPath(p) == nil {
			return p
		}
	}
}

func (g generator) line() string {
	return pick(g, "", "a", "b", "c", "}", "\tif x {", "--- a/x", "+++ b/x", "-- ", "@@ -1 +1 @@", "diff --git a/x b/x", `\ No newline at end of file`,
		"GIT binary patch", "trailing ", "ü", "\xff", "\r", fmt.Sprint("n", g.IntN(30)))
}

func (g generator) text() string {
	end := pick(g, "\n", "\n", "\r\n")
	var b strings.Builder
	for range pick(g, 0, 1, 2, 5, 20, 60) {
		b.WriteString(g.line())
		b.WriteString(pick(g, end, end, end, end, "\n", "\r\n"))
	}
	s := b.String()
	if g.IntN(3) == 0 {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

func (g generator) file() File {
	switch g.IntN(10) {
	case 0, 1:
		return symlink(pick(g, "to", "../out", "/abs/olute", "new\nline\n", "\xff", "sp ace", "dangling", strings.Repeat("long/", 300)))
	case 2, 3:
		b := make([]byte, pick(g, 1, 4, 51, 52, 53, 300, 9000))
		for i := range b {
			b[i] = byte(g.IntN(256))
		}
		b[0] = 0
		return File{pick(g, regular("").Mode, executable("").Mode), b}
	case 4:
		return regular(strings.Repeat("x", 8000) + "\x00\n" + g.text()) // NUL too late for git to call it binary
	}
	return File{pick(g, regular("").Mode, regular("").Mode, executable("").Mode), []byte(g.text())}
}

// edited returns a small change of a file.
func (g generator) edited(f File) File {
	switch {
	case g.IntN(6) == 0:
		return g.file()
	case isLink(&f):
		return symlink(string(f.Data) + "x")
	}
	if g.IntN(4) == 0 {
		f.Mode ^= 0o111
	}
	lines := splitLines(string(f.Data))
	for range g.IntN(4) {
		at := g.IntN(len(lines) + 1)
		switch g.IntN(3) {
		case 0:
			lines = slices.Insert(lines, at, g.line()+"\n")
		case 1:
			lines = slices.Delete(lines, at, min(len(lines), at+1+g.IntN(3)))
		case 2:
			lines = append(lines[:at:at], append([]string{g.line() + "\n"}, lines[min(len(lines), at+1):]...)...)
		}
	}
	f.Data = []byte(strings.Join(lines, ""))
	if g.IntN(8) == 0 {
		f.Data = bytes.TrimSuffix(f.Data, []byte("\n"))
	}
	return f
}

// add puts a file at a path if no file is in the way above or below.
func (t treeModel) add(p string, f File) {
	if isLink(&f) && checkLink(p) != nil {
		return
	}
	for q := range t {
		if strings.HasPrefix(q, p+"/") || strings.HasPrefix(p, q+"/") {
			return
		}
	}
	t[p] = f
}

// remove takes away a file, or all below a folder.
func (t treeModel) remove(p string) {
	for q := range t {
		if q == p || strings.HasPrefix(q, p+"/") {
			delete(t, q)
		}
	}
}

func (g generator) pair() (before, after treeModel) {
	before, after = treeModel{}, treeModel{}
	for range g.IntN(8) {
		before.add(g.path(), g.file())
	}
	var paths []string
	for p := range before {
		paths = append(paths, p)
	}
	slices.Sort(paths) // so that the seed decides
	for _, p := range paths {
		after[p] = before[p]
	}
	for _, p := range paths {
		if _, ok := after[p]; !ok {
			continue // went with its folder
		}
		switch g.IntN(9) {
		case 0, 1, 2:
			after[p] = g.edited(after[p])
			if f := after[p]; isLink(&f) && checkLink(p) != nil {
				after[p] = before[p]
			}
		case 3:
			after.remove(p)
		case 4: // file → folder
			after.remove(p)
			for range 1 + g.IntN(2) {
				if q := p + "/" + g.path(); CheckPath(q) == nil {
					after.add(q, g.file())
				}
			}
		case 5: // folder → file
			if folder, _, ok := strings.Cut(p, "/"); ok {
				after.remove(folder)
				after.add(folder, g.file())
			}
		case 6:
			after.remove(p)
			after.add(p, g.file()) // often another type
		}
	}
	for range g.IntN(4) {
		after.add(g.path(), g.file())
	}
	return before, after
}

// cases returns how many random pairs are tried.
func cases() int {
	if os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" {
		return 5000
	}
	if testing.Short() {
		return 50
	}
	return 250
}

// The heart: whatever the two trees are, the patch leads from one to the other, in memory and by git. No case is
// skipped.
func TestPatchRoundTrip(t *testing.T) {
	t.Parallel()
	seed := uint64(20261121)
	if os.Getenv("ASYNC_PIPELINE_SWEEP") == "full" {
		seed = rand.Uint64() //nolint:gosec // printed when it matters
	}
	n, types := cases(), map[string]int{}
	var far []pair
	for i := range n {
		g := generator{rand.New(rand.NewPCG(seed, uint64(i)))} //nolint:gosec // a test
		before, after := g.pair()
		diff, err := roundTrip(t, before, after)
		if err != nil {
			t.Fatalf("seed %d, case %d: %v\nbefore\n%vafter\n%vpatch\n%.4000s", seed, i, err, before, after, diff)
		}
		if far = append(far, pair{before, after}); len(far) == 25 || i == n-1 {
			if err := farTrip(t, far); err != nil {
				t.Fatalf("seed %d, up to case %d: %v", seed, i, err)
			}
			far = nil
		}
		for _, sign := range []string{"\nGIT binary patch\n", "\nold mode ", "\nnew file mode 120000\n", "\ndeleted file mode 120000\n", "\r\n", "\n\\ No newline", "\ndiff --git \"", "\n@@ "} {
			if bytes.Contains(diff, []byte(sign)) {
				types[sign]++
			}
		}
	}
	for sign, count := range types { // the generator must go on making what it is for
		if count < n/50 {
			t.Errorf("only %d of %d patches have %q", count, n, sign)
		}
	}
	if len(types) != 8 {
		t.Errorf("kinds of patches: %v", types)
	}
}

// Each row by itself, so that a failure has a name.
func TestPatchRows(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 40)
	type row struct {
		name          string
		before, after treeModel
		want          []string // in the patch
	}
	rows := []row{
		{"G60 no change", treeModel{"a": regular("x")}, treeModel{"a": regular("x")}, nil},
		{"G61 edit only", treeModel{"a": regular(long), "b": regular("b")}, treeModel{"a": regular("first\n" + long + "last\n"), "b": regular("b")}, []string{"--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n+first\n line\n"}},
		{"G62 new text, binary and empty file", treeModel{}, treeModel{"t": regular("x\n"), "b": regular("\x00\x01"), "e": regular(""), "d/e/f": executable("")}, []string{"GIT binary patch", "new file mode 100755\nindex " + nullBlob + ".." + emptyBlob + "\n"}},
		{"G64 deleted file", treeModel{"a": regular("x\n"), "b": regular("\x00"), "c": regular(""), "d/l": symlink("t")}, treeModel{}, []string{"deleted file mode 120000"}},
		{"G64 mode change", treeModel{"a": regular("x\n"), "sp ace": executable("y"), "e": regular("")}, treeModel{"a": executable("x\n"), "sp ace": regular("y"), "e": executable("")}, []string{"old mode 100644\nnew mode 100755\ndiff --git"}},
		{"G64 mode and content", treeModel{"a": regular("x\n"), "b": regular("\x00")}, treeModel{"a": executable("y\n"), "b": executable("\x00\x00")}, []string{"old mode 100644\nnew mode 100755\nindex "}},
		{"G64 symlink change", treeModel{"l": symlink("a"), "m": symlink("a")}, treeModel{"l": symlink("b"), "m": symlink("a\nb\n")}, []string{" 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n" + noNewline + "\n+b\n" + noNewline + "\n"}},
		{"G64 file to symlink and back", treeModel{"a": regular("x\n"), "b": symlink("x"), "c": regular("\x00")}, treeModel{"a": symlink("x"), "b": regular("x\n"), "c": symlink("y")}, []string{"deleted file mode 100644", "new file mode 120000"}},
		{"G64 file to folder", treeModel{"a": regular("x\n"), "a-b": regular("1")}, treeModel{"a/b": regular("y\n"), "a/c/d": regular("z\n"), "a-b": regular("2")}, nil},
		{"G64 folder to file", treeModel{"a/b": regular("x\n"), "a/c/d": regular(""), "a-b": regular("1")}, treeModel{"a": regular("z\n"), "a-b": regular("2")}, nil},
		{"G64 symlink to folder", treeModel{"a": symlink("elsewhere")}, treeModel{"a/b": regular("y\n")}, nil},
		{"G64 folder to symlink", treeModel{"a/b/c": regular("y\n")}, treeModel{"a": symlink("elsewhere")}, nil},
		{"G73 CRLF", treeModel{"a": regular("1\r\n2\r\n3\n")}, treeModel{"a": regular("1\r\n2\n3\r\n")}, []string{"-2\r\n"}},
		{"G73 no final newline before", treeModel{"a": regular("1\n2")}, treeModel{"a": regular("1\n2\n")}, []string{"-2\n" + noNewline + "\n+2\n"}},
		{"G73 no final newline after", treeModel{"a": regular("1\n2\n")}, treeModel{"a": regular("1\n2")}, []string{"-2\n+2\n" + noNewline + "\n"}},
		{"G73 no final newline, both", treeModel{"a": regular("1\n2")}, treeModel{"a": regular("0\n2")}, []string{" 2\n" + noNewline + "\n"}},
		{"G73 no final newline, CR", treeModel{"a": regular("1\r\n2\r")}, treeModel{"a": regular("1\r\n2\r\n")}, nil},
		{"to empty and from empty", treeModel{"a": regular("1\n"), "b": regular("")}, treeModel{"a": regular(""), "b": regular("1\n")}, []string{"@@ -1 +0,0 @@", "@@ -0,0 +1 @@"}},
		{"text to binary and back", treeModel{"a": regular("1\n"), "b": regular("\x00"), "c": regular("")}, treeModel{"a": regular("\x00"), "b": regular("1\n"), "c": regular("\x00")}, nil},
		{"NUL after 8,000 bytes", treeModel{"a": regular(strings.Repeat("x\n", 4000) + "\x00\n")}, treeModel{"a": regular("y\n" + strings.Repeat("x\n", 4000) + "\x00\n\x00")}, []string{"@@"}},
		{"lines that look like a patch", treeModel{"a": regular("-- x\n++ y\n@@ -1 +1 @@\n")}, treeModel{"a": regular("++ x\n-- y\ndiff --git a/b b/b\n")}, []string{"\n--- x\n"}},
	}
	for _, name := range hostile {
		rows = append(rows, row{
			"G72 " + fmt.Sprintf("%q", name),
			treeModel{"d/" + name: regular("1\n"), "m" + name: regular("x"), "gone" + name: regular(""), name + "/f": regular("\x00"), "l" + name: symlink(name)},
			treeModel{"d/" + name: regular("2\n"), "m" + name: executable("x"), "new" + name: regular(""), name + "/f": regular("\x00\x00"), "l" + name: symlink("x" + name), "b b/" + name: executable("")},
			nil,
		})
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			diff, err := roundTrip(t, r.before, r.after)
			if err != nil {
				t.Fatalf("%v\n%s", err, diff)
			}
			if r.name != "G60 no change" {
				must(t, farTrip(t, []pair{{r.before, r.after}}))
			}
			for _, want := range r.want {
				if !bytes.Contains(diff, []byte(want)) {
					t.Errorf("want %q in\n%s", want, diff)
				}
			}
			if r.want == nil && strings.HasPrefix(r.name, "G60") && diff != nil {
				t.Errorf("want no patch, got\n%s", diff)
			}
		})
	}
}

// What git itself writes for the same change has the same headers, byte for byte.
func TestHeadersAsGitWritesThem(t *testing.T) {
	t.Parallel()
	before, after := treeModel{}, treeModel{}
	for _, name := range hostile {
		before["d/"+name], after["d/"+name] = regular("1\n2"), regular("1\n3")
		before["m"+name], after["m"+name] = regular("x\n"), executable("x\n")
		before["x"+name], after["x"+name] = regular("x\n"), executable("y\n")
		before["gone"+name], after["new"+name] = regular("g\n"), regular("")
		before["t"+name], after["t"+name] = regular("g\n"), symlink("to")
		before["b"+name], after["b"+name] = regular("\x00g\n"), regular("\x00")
	}
	top := t.TempDir()
	gitDir(t, top)
	stage := func(tree treeModel) string {
		old := readTree(t, top)
		for p := range old {
			_ = os.Remove(top + "/" + p)
		}
		tree.write(t, top)
		_, err := git(t, top, nil, "add", "-A", "-f", ".")
		must(t, err)
		out, err := git(t, top, nil, "write-tree")
		must(t, err)
		return strings.TrimSpace(out)
	}
	a, b := stage(before), stage(after)
	want, err := git(t, top, nil, "diff", "--no-renames", "--full-index", "--binary", a, b)
	if err != nil {
		t.Fatal(err, want)
	}
	got, err := Encode(before.changes(after))
	must(t, err)
	headers := func(s string) []string {
		var list []string
		for _, l := range strings.Split(s, "\n") {
			for _, p := range []string{"diff ", "index ", "--- ", "+++ ", "old ", "new ", "deleted ", "@@ ", "GIT "} {
				if strings.HasPrefix(l, p) {
					list = append(list, l)
				}
			}
		}
		return list
	}
	g, w := headers(string(got)), headers(want)
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("got  %q\nwant %q", g[i], w[i])
		}
	}
	if len(g) != len(w) || len(g) < 1000 {
		t.Errorf("got %d header lines, want %d", len(g), len(w))
	}
}
