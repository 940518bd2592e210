package reads

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/access"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What of the accesses counts, and how.
func TestAccesses(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, name := range []string{"read", "edited", "kept", "ignored", "dir/in", "emptied", ".git/HEAD", "real/f", "looked"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o600))
	}
	must(t, os.Symlink("real", filepath.Join(root, "link")))
	must(t, os.Mkdir(filepath.Join(root, "round"), 0o755))
	must(t, os.Symlink("../back/in", filepath.Join(root, "round/in")))
	must(t, os.Symlink("round", filepath.Join(root, "back")))
	beyond := filepath.Join(t.TempDir(), "way")
	must(t, os.Symlink(root, beyond))
	gather := func(all ...any) Seen {
		r := New(root)
		for i := 0; i < len(all); i += 2 {
			r.See(access.Path{Kind: all[i].(access.Kind), Name: root + "/" + all[i+1].(string), Add: true})
		}
		return r.End(func(p string) bool { return p == "ignored" }, func(p string) bool { return p == "own" })
	}
	R, L, M, W, I := access.Read, access.Looked, access.Made, access.Written, access.Listed
	for name, row := range map[string]struct {
		got                        Seen
		files, names, listed, made []string
	}{
		"read":                     {gather(R, "read", L, "looked"), []string{"looked", "read"}, nil, nil, nil},
		"absent":                   {gather(L, "no", R, "nodir/a/b"), nil, []string{"no", "nodir"}, nil, nil},
		"made":                     {gather(L, "dir/new", M, "dir/new", R, "dir/new"), nil, []string{"dir/new"}, nil, nil}, // it is gone again
		"written anew":             {gather(W, "new", R, "new"), nil, []string{"new"}, nil, nil},
		"behind a link":            {gather(R, "link/../read"), []string{"link", "read"}, nil, nil, nil},
		"below a file":             {gather(R, "read/x"), nil, []string{"read", "read/x"}, nil, nil},
		"in a folder":              {gather(R, "dir/no"), nil, []string{"dir", "dir/no"}, nil, nil},
		"written":                  {gather(W, "read"), []string{"read"}, nil, nil, nil},
		"emptied":                  {gather(M, "emptied", R, "emptied"), nil, nil, nil, []string{"emptied"}},
		"edited":                   {gather(R, "edited", M, "edited"), []string{"edited"}, nil, nil, nil},
		"state that git ignores":   {gather(R, "ignored", M, "ignored"), nil, nil, nil, []string{"ignored"}},
		"own output":               {gather(R, "own"), nil, nil, nil, nil},
		"listed":                   {gather(R, "dir", I, "dir", I, "."), nil, nil, []string{"", "dir"}, nil},
		"folder":                   {gather(L, "dir"), nil, []string{"dir"}, nil, nil},
		"folder that it works in":  {gather(R, "dir", R, "."), nil, []string{"dir"}, nil, nil},
		"through a link":           {gather(R, "link/f"), []string{"link", "real/f"}, nil, nil, nil},
		"links in a circle":        {gather(R, "back/in"), []string{"back", "round/in"}, nil, nil, nil},
		"git":                      {gather(L, ".git", L, ".git/HEAD"), nil, nil, nil, nil},
		"through one from outside": {gather(R, "../"+filepath.Base(root)+"/read"), []string{"read"}, nil, nil, nil},
	} {
		if s := row.got; s.WhyNot != "" || !slices.Equal(s.Files, row.files) || !slices.Equal(s.Names, row.names) || !slices.Equal(s.Listed, row.listed) || !slices.Equal(s.Made, row.made) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := gather(R, ".git/HEAD"); s.WhyNot != "it reads .git/HEAD, which cannot be an input" {
		t.Errorf("%+v", s)
	}
	gone := New(root)
	for _, a := range []access.Path{
		{Kind: M, Name: root + "/dir", Add: true, New: true, Link: true},
		{Kind: I, Name: root + "/dir"}, // mkdir -p dir; ls dir
		{Kind: M, Name: root + "/kept", Add: true, New: true, Link: true},
		{Kind: R, Name: root + "/kept"},
		{Kind: access.Removed, Name: root + "/real", Link: true},
	} {
		gone.See(a)
	}
	if s := gone.End(func(string) bool { return false }, func(string) bool { return false }); !slices.Equal(s.Listed, []string{"dir", "real"}) || !slices.Equal(s.Files, []string{"kept"}) || !slices.Equal(s.Names, []string{"real"}) || s.Made != nil {
		t.Errorf("%+v", s)
	}
	makes := New(root)
	for _, a := range []access.Path{
		{Kind: L, Name: root + "/lookedFor", Add: true},
		{Kind: M, Name: root + "/lookedFor", Add: true},
		{Kind: W, Name: root + "/appended", Add: true},
		{Kind: R, Name: root + "/appended"},
		{Kind: M, Name: root + "/alone", Add: true, New: true}, // mkdir, or O_EXCL
		{Kind: M, Name: root + "/anew", Add: true},
		{Kind: L, Name: root + "/anew"},
		{Kind: L, Name: root + "/state", Add: true},
		{Kind: M, Name: root + "/state", Add: true},
	} {
		makes.See(a)
		if a.Kind == M || a.Kind == W {
			must(t, os.WriteFile(a.Name, nil, 0o600))
		}
	}
	for _, dir := range []string{"tool", "mixed"} {
		makes.See(access.Path{Kind: M, Name: root + "/" + dir, Add: true, New: true})
		must(t, os.Mkdir(root+"/"+dir, 0o700))
		must(t, os.WriteFile(root+"/"+dir+"/state", nil, 0o600))
	}
	must(t, os.WriteFile(root+"/mixed/other", nil, 0o600))
	state := func(p string) bool { return filepath.Base(p) == "state" }
	if s := makes.End(state, func(string) bool { return false }); !slices.Equal(s.Names, []string{"alone", "appended", "lookedFor", "mixed"}) || !slices.Equal(s.Made, []string{"anew", "state", "tool"}) {
		t.Errorf("%+v", s)
	}
	if s := gather(access.Moved, "dir"); s.WhyNot != "it moves the folder dir" {
		t.Errorf("%+v", s)
	}
	if s := gather(R, "\xff"); !strings.Contains(s.WhyNot, "cannot be stored") {
		t.Errorf("%+v", s)
	}
	r := New(root)
	for _, kind := range []access.Kind{R, M} {
		r.See(access.Path{Kind: kind, Name: filepath.Join(beyond, "read")})
	}
	r.See(access.Path{Kind: access.Blind, Name: "it mounts"})
	none := func(string) bool { return false }
	if s := r.End(none, none); !slices.Equal(s.Files, []string{"read"}) || s.WhyNot != "it mounts" {
		t.Errorf("%+v", s)
	}
}

// A folder that is in the place of another one only while the tree is walked is noticed: the walk has other contents.
func TestChangedWhileWalked(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, name := range []string{"lib/a", "new/a"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o600))
		time.Sleep(12 * time.Millisecond) // the clock of files is coarse
	}
	move := func(from, to string) { must(t, os.Rename(filepath.Join(root, from), filepath.Join(root, to))) }
	r := New(root)
	r.See(access.Path{Kind: access.Read, Name: filepath.Join(root, "lib/a")})
	move("lib", "old")
	move("new", "lib")
	cache := filepath.Join(root, ".async")
	m := files.Memory{Cache: cache, Dir: cache, Root: root}
	m.Want(nil, files.ParseAll([]string{"**"}))
	v, err := m.Look(t.Context())
	must(t, err)
	move("lib", "new")
	move("old", "lib")
	none := func(string) bool { return false }
	s := r.End(none, none)
	if got := s.Changed(v, nil); got != "lib/a" {
		t.Errorf("%q", got)
	}
}
