package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// layered returns a box with an overlay of two folders. Paths with a colon, a comma and more than 255 bytes are
// what the kernel's own syntax for layers cannot take.
func layered(t *testing.T) (b Box, one, two string) {
	t.Helper()
	if err := Why(View); err != nil {
		t.Skip("no view here: " + err.Error())
	}
	dir := filepath.Join(t.TempDir(), "a:b,c\\d", strings.Repeat("long", 60))
	o := Overlay{At: filepath.Join(dir, "seen", "at"), Upper: filepath.Join(dir, "upper"), Work: filepath.Join(dir, "work")}
	one, two = filepath.Join(dir, "one"), filepath.Join(dir, "two")
	o.Lower = []string{one, two}
	for _, p := range []string{o.At, o.Upper, o.Work, one, two} {
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		filepath.Join(one, "both"): "one", filepath.Join(two, "both"): "two", filepath.Join(two, "second"): "2", filepath.Join(two, "gone"): "x",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := TryOverlay(dir, one, two); err != nil {
		t.Skip("no overlay here: " + err.Error())
	}
	return Box{Tier: View, Write: []string{filepath.Join(dir, "seen")}, Layers: []Overlay{o}}, one, two
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	b, one, two := layered(t)
	at, upper := b.Layers[0].At, b.Layers[0].Upper
	var out bytes.Buffer
	sh := func(script string) string {
		t.Helper()
		out.Reset()
		res, err := b.Run(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: at, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out})
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%s: %+v, %v\n%s", script, res, err, out.String())
		}
		return out.String()
	}
	if got := sh("cat both second && echo new > made && echo changed > both && rm gone && ls"); got != "one2both\nmade\nsecond\n" {
		t.Errorf("seen: %q", got)
	}
	if got := sh("cat both made; ls"); got != "changed\nnew\nboth\nmade\nsecond\n" { // another box with the same upper folder
		t.Errorf("seen again: %q", got)
	}
	if got := sh("grep -c 'overlay.*volatile' /proc/self/mountinfo"); got != "1\n" { // else its end waits for the disk
		t.Errorf("volatile overlays: %q", got)
	}
	for path, want := range map[string]string{
		filepath.Join(one, "both"): "one", filepath.Join(two, "gone"): "x", filepath.Join(upper, "made"): "new\n", filepath.Join(upper, "both"): "changed\n",
	} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if found, err := os.ReadDir(at); err != nil || len(found) > 0 {
		t.Errorf("outside of the box there is something at %s: %v, %v", at, found, err)
	}
	out.Reset()
	lower := filepath.Join(one, "both")
	res, err := b.Run(t.Context(), Command{Argv: []string{"sh", "-c", "echo x >> '" + lower + "'"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stderr: &out})
	if err != nil || res.ExitCode == 0 {
		t.Errorf("a lower folder could be written: %+v, %v", res, err)
	}
}

// The upper folder can itself be where the overlay is seen.
func TestOverlayAtItsUpper(t *testing.T) {
	t.Parallel()
	b, _, _ := layered(t)
	o := &b.Layers[0]
	o.Upper = o.At
	var out bytes.Buffer
	res, err := b.Run(t.Context(), Command{Argv: []string{"sh", "-c", "cat second; echo new > made"}, Dir: o.At, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out})
	if err != nil || res.ExitCode != 0 || out.String() != "2" {
		t.Fatalf("%+v, %v: %s", res, err, out.String())
	}
	if got, err := os.ReadFile(filepath.Join(o.Upper, "made")); err != nil || string(got) != "new\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOverlayRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := Overlay{At: dir, Lower: []string{dir}, Upper: dir, Work: dir}
	for name, b := range map[string]Box{
		"has overlays":    {Tier: Fence, Layers: []Overlay{good}},
		"needs At":        {Tier: View, Layers: []Overlay{{At: dir, Upper: dir, Work: dir}}},
		"may be written":  {Tier: View, Layers: []Overlay{{At: dir, Lower: []string{dir}, Upper: dir + "/none", Work: dir}}},
		"that must stay":  {Tier: View, Tree: dir + "/tree", Copy: dir + "/copy", Layers: []Overlay{good}},
		"is not absolute": {Tier: View, Layers: []Overlay{{At: dir, Lower: []string{dir}, Upper: dir, Work: "w"}}},
	} {
		for _, p := range []string{b.Tree, b.Copy} {
			if p != "" {
				if err := os.MkdirAll(p, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, err := b.Run(t.Context(), Command{Argv: []string{"true"}, Dir: "/"})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A copy that holds only differences is seen whole at the path of the tree, also through a link from outside, and
// not at its own path.
func TestCopyOverBase(t *testing.T) {
	t.Parallel()
	if err := TryOverlay(t.TempDir()); err != nil {
		t.Skip("no overlay here: " + err.Error())
	}
	dir := t.TempDir()
	at := func(name string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	tree, base := at("tree"), at("base")
	for path, text := range map[string]string{"tree/file": "the tree's\n", "base/file": "the base's\n", "base/gone": "x"} {
		write(t, filepath.Join(dir, path), text)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(tree, "file"), link); err != nil {
		t.Fatal(err)
	}
	b := Box{Tier: View, Tree: tree, Copy: at("upper"), Base: base, Work: at("work"), Tmp: at("tmp"), Read: []string{link, filepath.Join(dir, "none")}}
	var out bytes.Buffer
	for _, step := range []struct{ script, want string }{
		{`cat file; rm gone; echo new > file; cat "$1"; ls ` + b.Copy + ` 2>/dev/null`, "the base's\nnew\n"},
		{`cat file "$1"; ls`, "new\nnew\nfile\n"},
	} {
		out.Reset()
		res, err := b.Run(t.Context(), Command{
			Argv: []string{"sh", "-c", step.script, "sh", link}, Dir: tree, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out, Stderr: &out,
		})
		if err != nil || out.String() != step.want {
			t.Fatalf("%s: %+v, %v\n%s", step.script, res, err, out.String())
		}
	}
	for path, want := range map[string]string{"tree/file": "the tree's\n", "base/file": "the base's\n", "base/gone": "x", "upper/file": "new\n"} {
		if got := read(t, filepath.Join(dir, path)); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}
