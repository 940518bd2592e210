package tree

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func file(path, digest string, mode fs.FileMode) Entry {
	return Entry{Path: path, Mode: mode, Size: 1, Digest: digest}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	folder := Entry{Path: "a", Mode: fs.ModeDir | 0o755}
	link := Entry{Path: "a", Mode: fs.ModeSymlink | 0o777, Size: 1, Digest: "1", Link: "x"}
	tests := []struct {
		name          string
		before, after []Entry
		want          []string // path, and what stands before and after
	}{
		{"G60 no change", []Entry{file("a", "1", 0o644)}, []Entry{file("a", "1", 0o644)}, nil},
		{"content", []Entry{file("a", "1", 0o644)}, []Entry{file("a", "2", 0o644)}, []string{"a ba"}},
		{"executable bit", []Entry{file("a", "1", 0o644)}, []Entry{file("a", "1", 0o755)}, []string{"a ba"}},
		{"other permission bits", []Entry{file("a", "1", 0o644)}, []Entry{file("a", "1", 0o600)}, nil},
		{"new", nil, []Entry{file("a", "1", 0o644)}, []string{"a a"}},
		{"gone", []Entry{file("a", "1", 0o644)}, nil, []string{"a b"}},
		{"folders do not count", []Entry{folder}, nil, nil},
		{"file to folder", []Entry{file("a", "1", 0o644)}, []Entry{folder, file("a/b", "1", 0o644)}, []string{"a b", "a/b a"}},
		{"folder to file", []Entry{folder, file("a/b", "1", 0o644)}, []Entry{file("a", "1", 0o644)}, []string{"a a", "a/b b"}},
		{"file to symlink of the same text", []Entry{file("a", "1", 0o644)}, []Entry{link}, []string{"a ba"}},
		{"order", []Entry{file("a-b", "1", 0o644), file("c", "1", 0o644)}, []Entry{file("a/b", "1", 0o644), file("b", "1", 0o644)}, []string{"a-b b", "a/b a", "b a", "c b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, after := &Manifest{Entries: tt.before}, &Manifest{Entries: tt.after}
			var got []string
			for _, c := range Compare(before, after) {
				s := c.Path + " "
				if c.Before != nil {
					s += "b"
				}
				if c.After != nil {
					s += "a"
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if same := before.Digest() == after.Digest(); same != (len(tt.want) == 0) {
				t.Errorf("digests equal: %v, but Compare says %q", same, got)
			}
		})
	}
	if got := Compare(nil, &Manifest{Entries: []Entry{file("a", "1", 0)}}); len(got) != 1 {
		t.Errorf("nil manifest: %v", got)
	}
}

// The digest is what other versions of this program compare with: it must not move.
func TestDigestIsPinned(t *testing.T) {
	t.Parallel()
	m := &Manifest{Entries: []Entry{
		{Path: "d", Mode: fs.ModeDir | 0o755},
		file("d/f", "sha256:00", 0o600),
		file("d/x", "sha256:01", 0o755),
		{Path: "l", Mode: fs.ModeSymlink | 0o777, Size: 1, Digest: "sha256:02", Link: "f"},
	}}
	const want = "sha256:757c15c34cf2a2cdd8ecf00f6b0165aaf416ffe181674de1a6655a90cbb50c61"
	if got := m.Digest(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	m := &Manifest{Entries: []Entry{file("a", "1", 0), file("a-b", "2", 0), file("a/b", "3", 0)}}
	for _, e := range m.Entries {
		if got, ok := m.Find(e.Path); !ok || got != e {
			t.Errorf("Find(%q) = %v, %v", e.Path, got, ok)
		}
	}
	if _, ok := m.Find("b"); ok {
		t.Error("found what is not there")
	}
}

func TestModeText(t *testing.T) {
	t.Parallel()
	for text, mode := range map[string]fs.FileMode{
		"100644": 0o644, "100755": 0o755, "100600": 0o600, "040755": fs.ModeDir | 0o755, "120000": fs.ModeSymlink | 0o777,
	} {
		if got := EncodeMode(mode); got != text {
			t.Errorf("EncodeMode(%v) = %s, want %s", mode, got, text)
		}
		if got, err := DecodeMode(text); err != nil || got != mode {
			t.Errorf("DecodeMode(%s) = %v, %v, want %v", text, got, err, mode)
		}
	}
	for _, bad := range []string{"", "644", "0100644", "100844", "160000", "104755", "x00644", "-10064", "+10064"} {
		if got, err := DecodeMode(bad); err == nil {
			t.Errorf("DecodeMode(%q) = %v", bad, got)
		}
	}
}

func TestManifestJSON(t *testing.T) {
	t.Parallel()
	m := Manifest{
		Entries: []Entry{
			{Path: "a\xff<b>\n\"", Mode: 0o644, Size: 3, Digest: "sha256:1"},
			{Path: "dir", Mode: fs.ModeDir | 0o700},
			{Path: "dir/\ufffd", Mode: fs.ModeSymlink | 0o777, Size: 2, Digest: "sha256:2", Link: "\xfe\xfe"},
			{Path: "ünï", Mode: 0o755, Digest: "sha256:3"},
		},
		Omitted: []Omitted{{"p\xc3", "special"}, {"q", "unreadable"}},
	}
	b, err := json.Marshal(m)
	must(t, err)
	var got Manifest
	must(t, json.Unmarshal(b, &got))
	if diff := cmp.Diff(m, got, cmpopts.IgnoreUnexported(Manifest{})); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{`"path":"dir","mode":"040700","size_bytes":0}`, `"path_b64"`, `"link_b64":"/v4="`, `"why":"special"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	if b, err := json.Marshal(&Manifest{}); err != nil || string(b) != `{"entries":[],"omitted":[]}` {
		t.Errorf("empty manifest: %s, %v", b, err)
	}
	for _, bad := range []string{
		`{"entries":[{"path":"a","mode":"100644"},{"path":"a","mode":"100755"}]}`,
		`{"entries":[{"path":"a","mode":"9"}]}`,
		`{"entries":7}`,
		`[]`,
	} {
		if err := json.Unmarshal([]byte(bad), new(Manifest)); err == nil {
			t.Errorf("read %s", bad)
		}
	}
}

// Compare against the plainest definition, on random manifests; the digest agrees.
func TestCompareRandom(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	some := func() *Manifest {
		m := &Manifest{}
		for _, p := range []string{"a", "a-b", "a/b", "a/c", "b", "b/c"} {
			if e := file(p, string(rune('0'+random.IntN(2))), []fs.FileMode{0o644, 0o600, 0o755, fs.ModeDir | 0o755}[random.IntN(4)]); random.IntN(3) > 0 {
				m.Entries = append(m.Entries, e)
			}
		}
		return m
	}
	for range 2000 {
		before, after := some(), some()
		var want []string
		for _, p := range []string{"a", "a-b", "a/b", "a/c", "b", "b/c"} {
			b, okB := before.Find(p)
			a, okA := after.Find(p)
			okB, okA = okB && !b.Mode.IsDir(), okA && !a.Mode.IsDir()
			if okA != okB || okA && (a.Digest != b.Digest || a.Mode&0o100 != b.Mode&0o100) {
				want = append(want, p)
			}
		}
		var got []string
		for _, c := range Compare(before, after) {
			got = append(got, c.Path)
		}
		if !slices.Equal(got, want) || (before.Digest() == after.Digest()) != (len(want) == 0) {
			t.Fatalf("before %v\nafter %v\ngot %q want %q", before.Entries, after.Entries, got, want)
		}
	}
}

// A file with two names counts once, and not where one of them stays; holes do not count.
func TestSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a="+strings.Repeat("x", 100_000), "link->a")
	one := Size(dir)
	must(t, os.Link(dir+"/a", dir+"/b"))
	put(t, dir, "c=")
	must(t, os.Truncate(dir+"/c", 1<<30))
	if two := Size(dir); one < 100_000 || two < one || two > one+4096 {
		t.Errorf("%d, then %d", one, two)
	}
	if both, a, none := Size(dir+"/a", dir+"/b"), Size(dir+"/a"), Size(dir+"/none"); both < 100_000 || both > one || a != 0 || none != 0 {
		t.Errorf("the file %d, by one of its names %d, what does not exist %d", both, a, none)
	}
}

// A time in whole seconds stands for all of the second, or of two. Every other time is exact.
func TestLatest(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	for ctime, after := range map[int64]int64{7 * second: second + tick, 8 * second: 2*second + tick, 7*second + 1: 0, 8*second - 1: 0} {
		if got := Latest(ctime) - ctime; got != after {
			t.Errorf("%d: %d later, want %d", ctime, got, after)
		}
	}
}
