package reapi

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// The empty Directory and a Directory of one file have the digests that every program of the protocol gives them.
func TestDirectoryDigest(t *testing.T) {
	t.Parallel()
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if d := Directories(nil, nil); d.Hash != empty || d.Size != 0 {
		t.Errorf("%v", d)
	}
	var last []byte
	Directories([]File{{Path: "a", Digest: Digest{empty, 0}, Executable: true}, {Path: "b", Link: "a"}}, func(_ string, _ Digest, b []byte) { last = slices.Clone(b) })
	want := "\x0a\x47" + "\x0a\x01a" + "\x12\x42\x0a\x40" + empty // FileNode{name, digest{hash}}
	want = strings.Replace(want, "\x0a\x47", "\x0a\x49", 1) + "\x20\x01"
	want += "\x1a\x06" + "\x0a\x01b" + "\x12\x01a" // SymlinkNode{name, target}
	if string(last) != want {
		t.Errorf("%q\nwant %q", last, want)
	}
}

// Equal files have equal digests, other files other ones, and what is encoded can be read.
func TestMessages(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a", "a-b", "a.b", "a0", "b"})
	hash := rapid.SampledFrom([]string{strings.Repeat("0", 64), strings.Repeat("a1", 32)})
	list := rapid.Custom(func(t *rapid.T) []File {
		seen := map[string]bool{}
		var all []File
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			parts := rapid.SliceOfN(name, 1, 3).Draw(t, "path")
			f := File{Path: strings.Join(parts, "/")}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				f.Link = "x"
			case 1:
				f.Folder = true
			default:
				f.Digest, f.Executable = Digest{hash.Draw(t, "hash"), 1}, rapid.Bool().Draw(t, "executable")
			}
			clash := false
			for p := range seen {
				clash = clash || strings.HasPrefix(p+"/", f.Path+"/") || strings.HasPrefix(f.Path+"/", p+"/")
			}
			if !clash {
				seen[f.Path] = true
				all = append(all, f)
			}
		}
		slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		return all
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		blobs := map[Digest][]byte{}
		da := Directories(a, func(_ string, d Digest, b []byte) { blobs[d] = slices.Clone(b) })
		db := Directories(b, nil)
		if (da == db) != slices.Equal(a, b) {
			t.Fatalf("equal: %v", da == db)
		}
		var back []File
		var read func(d Digest, at string)
		read = func(d Digest, at string) {
			nodes, err := DecodeDirectory(blobs[d])
			if err != nil {
				t.Fatal(err)
			}
			if len(nodes) == 0 && at != "" {
				back = append(back, File{Path: strings.TrimSuffix(at, "/"), Folder: true})
			}
			for _, n := range nodes {
				if n.Below.Hash != "" {
					read(n.Below, at+n.Path+"/")
					continue
				}
				n.Path = at + n.Path
				back = append(back, n.File)
			}
		}
		read(da, "")
		slices.SortFunc(back, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		if !slices.Equal(a, back) {
			t.Fatal(cmp.Diff(a, back))
		}
		for i := range a {
			if a[i].Digest.Hash != "" {
				a[i].Mode = rapid.SampledFrom([]fs.FileMode{0, 0o600, 0o640, 0o500}).Draw(t, "mode")
			}
		}
		r := Result{Files: a, Log: Digest{hash.Draw(t, "log"), 7}, Run: "r", Took: rapid.Int64Range(0, 1e6).Draw(t, "took"), Made: 1}
		for _, f := range a { // an empty folder, or the one that a file is in
			dir := f.Path
			if !f.Folder {
				dir = path.Dir(dir)
			}
			last := len(r.Closed) - 1
			if dir != "." && (last < 0 || r.Closed[last].Path < dir) && rapid.Bool().Draw(t, "closed") {
				r.Closed = append(r.Closed, File{Path: dir, Mode: rapid.SampledFrom([]fs.FileMode{0, 0o500, 0o711, 0o750}).Draw(t, "mode")})
			}
		}
		if rapid.Bool().Draw(t, "beside") {
			r.Beside = []File{{Path: "patch", Digest: Digest{hash.Draw(t, "patch"), 9}}}
		}
		got, err := DecodeResult(r.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if len(a) == 0 {
			got.Files, r.Files = nil, nil
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A result without a folder that is closed to somebody has the bytes that it had before there were such.
func TestResultBytes(t *testing.T) {
	t.Parallel()
	d := DigestOf([]byte("x"))
	r := Result{Files: []File{{Path: "a/empty", Folder: true}, {Path: "a/file", Digest: d, Mode: 0o640}, {Path: "a/link", Link: "file"}}, Log: d, Run: "r", Took: 1, Made: 2}
	if got := DigestOf(r.Encode()).Hash; got != "e3dcf1a2ca9bed3ab5af23fc0867a6d34e0ea731aceebabc3482b75e2b67686b" {
		t.Error(got)
	}
}

// A folder's mode is where the protocol has it: node_properties = 5 of the Directory that is the root = 1 of its Tree.
func TestClosedFolder(t *testing.T) {
	t.Parallel()
	tree := "\x0a\x07" + "\x2a\x05" + "\x1a\x03" + "\x08\xc0\x03" // unix_mode = 3 is a UInt32Value: 0700
	r := Result{Files: []File{{Path: "a/file", Digest: DigestOf(nil)}}, Closed: []File{{Path: "a", Mode: 0o700}}, Log: DigestOf(nil)}
	want := appendBytes(nil, 3, appendDigest(appendText(nil, 1, "a"), 3, DigestOf([]byte(tree))))
	if got := r.Encode(); !strings.Contains(string(got), string(want)) {
		t.Errorf("%q\nhas not %q", got, want)
	}
}

// A result that was made by somebody else names nothing outside of the root.
func TestHostileResult(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"", "/etc/x", "../x", "a/../../x", "a//b", "."} {
		r := Result{Log: DigestOf(nil), Files: []File{{Path: p, Digest: DigestOf(nil)}}}
		if _, err := DecodeResult(r.Encode()); err == nil {
			t.Errorf("%q is taken", p)
		}
	}
	bad := appendBytes(nil, 6, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "../../x"))
	if _, err := DecodeResult(bad); err == nil {
		t.Error("a digest that is none is taken")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Result{Files: []File{{Path: "a", Digest: DigestOf(nil)}}, Log: DigestOf(nil)}.Encode())
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = DecodeResult(b)
		_, _ = DecodeDirectory(b)
	})
}
