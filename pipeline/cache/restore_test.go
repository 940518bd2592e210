package cache

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A folder among outputs is restored with what it keeps from its group, from others or from its owner; what is above the
// output, or is there already, has its own mode.
func TestFolderModes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := newProject(t, root, filepath.Join(t.TempDir(), "cache"), &pipeline.Task{
		Name: "gen", Inputs: []string{"src"}, Outputs: []string{"top/out/**", "flat/*"},
	}, &pipeline.Task{Name: "other", Inputs: []string{"flat/full/**"}})
	p.write("src", "1")
	usual := fs.FileMode(0o777)
	must(t, os.Mkdir(filepath.Join(root, "usual"), usual))
	info, err := os.Lstat(filepath.Join(root, "usual"))
	must(t, err)
	usual = info.Mode().Perm()
	made := map[string]fs.FileMode{
		"top": 0o700, "top/out": 0o750, "top/out/empty": 0o700, "top/out/locked": 0o500, "top/out/locked/below": 0o550,
		"top/out/open": 0o755, "top/out/through": 0o711, "top/out/seen": 0o744, "flat": 0o700, "flat/empty": 0o700, "flat/full": 0o700,
	}
	t.Cleanup(func() {
		for dir := range made {
			_ = os.Chmod(filepath.Join(root, dir), 0o755)
		}
	})
	chmod := func(modes map[string]fs.FileMode) {
		for dir, mode := range modes {
			must(t, os.Chmod(filepath.Join(root, dir), mode))
		}
	}
	writable := map[string]fs.FileMode{"top": 0o755, "top/out": 0o755, "top/out/locked": 0o755, "top/out/locked/below": 0o755}
	passes := func(wantRuns int) {
		t.Helper()
		c := p.cache()
		e := p.carry(c, "gen")
		must(t, c.Close())
		if p.runs != wantRuns || e.NotStored != "" {
			t.Fatalf("%d runs, not stored: %q", p.runs, e.NotStored)
		}
	}
	modes := func(want map[string]fs.FileMode) {
		t.Helper()
		got := map[string]fs.FileMode{}
		for dir := range want {
			info, err := os.Lstat(filepath.Join(root, dir))
			if err != nil {
				continue
			}
			got[dir] = info.Mode().Perm()
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	c := p.cache()
	e := c.Look(t.Context(), p.config.Tasks[0])
	for _, dir := range []string{"top/out/locked/below", "top/out/open", "top/out/through", "flat/full"} {
		p.write(dir+"/file", dir)
	}
	for _, dir := range []string{"top/out/empty", "top/out/seen", "flat/empty"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	chmod(made)
	p.runs++
	must(t, os.WriteFile(p.log, []byte("log of "+p.joined(p.config.Tasks[0])), 0o600))
	c.Ran(e.task)
	must(t, c.Store(t.Context(), e, p.log, 0))
	must(t, c.Close())
	if e.NotStored != "" {
		t.Fatal(e.NotStored)
	}

	// Made anew.
	chmod(writable)
	must(t, os.RemoveAll(filepath.Join(root, "top")))
	must(t, os.RemoveAll(filepath.Join(root, "flat")))
	passes(1)
	restored := map[string]fs.FileMode{
		"top": usual, "top/out": 0o750 & usual, "top/out/empty": 0o700, "top/out/locked": 0o500, "top/out/locked/below": 0o550 & usual,
		"top/out/open": usual, "top/out/through": 0o711 & usual, "top/out/seen": 0o744 & usual, "flat": usual, "flat/empty": 0o700,
	}
	modes(restored)
	if got := p.read("top/out/locked/below/file"); got != "top/out/locked/below" {
		t.Error(got)
	}
	if _, err := os.Lstat(filepath.Join(root, "flat/full")); err == nil {
		t.Error("a folder of which nothing is an output is restored")
	}

	// A file in a folder that its owner may not write is made again, and what somebody else has given a folder stays.
	chmod(map[string]fs.FileMode{"top/out/locked/below": 0o750, "top/out/through": 0o755})
	p.write("top/out/locked/below/file", "edited")
	must(t, os.Remove(filepath.Join(root, "top/out/through/file")))
	chmod(map[string]fs.FileMode{"top/out/locked/below": 0o555})
	passes(1)
	restored["top/out/locked/below"], restored["top/out/through"] = 0o555, 0o755
	modes(restored)
	if got := p.read("top/out/locked/below/file"); got != "top/out/locked/below" {
		t.Error(got)
	}

	// So is one that another result lacks, and what only that one has is removed.
	p.write("src", "2")
	c = p.cache()
	e = c.Look(t.Context(), p.config.Task("gen"))
	chmod(writable)
	must(t, os.Remove(filepath.Join(root, "top/out/locked/below/file")))
	p.write("top/out/locked/below/other", "2")
	chmod(map[string]fs.FileMode{"top/out/locked": 0o500, "top/out/locked/below": 0o500})
	c.Ran(e.task)
	must(t, c.Store(t.Context(), e, p.log, 0))
	must(t, c.Close())
	p.write("src", "1")
	passes(1)
	modes(map[string]fs.FileMode{"top/out/locked": 0o500, "top/out/locked/below": 0o500})
	if _, err := os.Lstat(filepath.Join(root, "top/out/locked/below/other")); err == nil {
		t.Error("what the result lacks is there")
	}
	if got := p.read("top/out/locked/below/file"); got != "top/out/locked/below" {
		t.Error(got)
	}
}

// What somebody writes after the tree was looked at stays: the task has to run.
func TestRestoreMeanwhile(t *testing.T) {
	t.Parallel()
	for _, written := range []string{"gen/a", "gen/b", "gen/link"} {
		root := t.TempDir()
		p := newProject(t, root, filepath.Join(t.TempDir(), "cache"), &pipeline.Task{Name: "gen", Inputs: []string{"src"}, Outputs: []string{"gen/**"}})
		for i, makes := range []string{"gen/a", "gen/b"} {
			p.write("src", fmt.Sprint(i))
			c := p.cache()
			e := c.Look(t.Context(), p.config.Tasks[0])
			must(t, os.RemoveAll(filepath.Join(root, "gen")))
			p.write(makes, "made")
			must(t, os.Symlink(makes, filepath.Join(root, "gen/link")))
			must(t, os.WriteFile(p.log, nil, 0o600))
			c.Ran(e.task)
			must(t, c.Store(t.Context(), e, p.log, 0))
			must(t, c.Close())
			if e.NotStored != "" {
				t.Fatal(e.NotStored)
			}
		}
		p.write("src", "0")
		c := p.cache()
		e := c.Look(t.Context(), p.config.Tasks[0])
		must(t, os.RemoveAll(filepath.Join(root, written)))
		p.write(written, "mine")
		_, _, _, err := c.Restore(t.Context(), e)
		if got := p.read(written); got != "mine" || err == nil || !strings.Contains(err.Error(), written+" changed meanwhile") {
			t.Errorf("%s: %q, %v", written, got, err)
		}
		must(t, c.Close())
	}
}

// Each of several results with files, links and folders in the same places takes the place of another one, and what is
// there then is what the task had made, and nothing else.
func TestBackAndForth(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // for a test
		root := t.TempDir()
		p := newProject(t, root, filepath.Join(t.TempDir(), "cache"), &pipeline.Task{Name: "gen", Inputs: []string{"src"}, Outputs: []string{"gen/**"}})
		var fill func(dir string, depth int)
		fill = func(dir string, depth int) {
			must(t, os.MkdirAll(dir, 0o755))
			for _, name := range []string{"a", "b", "c d", "é", ".h"} {
				at := filepath.Join(dir, name)
				switch rng.IntN(6) {
				case 0:
					must(t, os.WriteFile(at, []byte{byte('0' + rng.IntN(3))}, 0o644|fs.FileMode(rng.IntN(2))*0o111))
				case 1:
					must(t, os.Symlink([]string{"a", "../x", "nowhere", "."}[rng.IntN(4)], at))
				case 2:
					if depth < 3 {
						fill(at, depth+1)
					}
				}
			}
		}
		there := func() map[string]string {
			all := map[string]string{}
			must(t, filepath.WalkDir(filepath.Join(root, "gen"), func(at string, d fs.DirEntry, err error) error {
				must(t, err)
				info, err := d.Info()
				must(t, err)
				what := info.Mode().Type().String()
				switch {
				case d.Type()&fs.ModeSymlink != 0:
					to, _ := os.Readlink(at)
					what += to
				case !d.IsDir():
					b, _ := os.ReadFile(at)
					what = info.Mode().String() + string(b)
				}
				all[at] = what
				return nil
			}))
			return all
		}
		var made []map[string]string
		for i := range 5 {
			p.write("src", fmt.Sprint(i))
			c := p.cache()
			e := c.Look(t.Context(), p.config.Tasks[0])
			must(t, os.RemoveAll(filepath.Join(root, "gen")))
			fill(filepath.Join(root, "gen"), 0)
			p.write("gen/always", fmt.Sprint(i))
			must(t, os.WriteFile(p.log, nil, 0o600))
			c.Ran(e.task)
			must(t, c.Store(t.Context(), e, p.log, 0))
			must(t, c.Close())
			if e.NotStored != "" {
				t.Fatalf("seed %d: not stored: %s", seed, e.NotStored)
			}
			made = append(made, there())
		}
		for range 20 {
			i := rng.IntN(len(made))
			p.write("src", fmt.Sprint(i))
			if rng.IntN(4) == 0 {
				must(t, os.RemoveAll(filepath.Join(root, "gen")))
			}
			c := p.cache()
			e := c.Look(t.Context(), p.config.Tasks[0])
			if e.Result != Hit {
				t.Fatalf("seed %d: %s %v", seed, e.Result, e.Why)
			}
			if _, _, _, err := c.Restore(t.Context(), e); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			must(t, c.Close())
			if d := cmp.Diff(made[i], there()); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
}
