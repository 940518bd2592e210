package homes

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// The folders of two agent tasks and of a hook are used at once: none removes what another has, and nothing is kept.
func TestApart(t *testing.T) { //nolint:paralleltest // it changes the working directory
	here := t.TempDir()
	t.Chdir(here)
	fixtest.Check(t, os.MkdirAll(filepath.Join(here, keptCaches, goBuild), 0o700)) // a folder of the person's
	root := t.TempDir()
	at := Places{Store: filepath.Join(root, ".async"), Work: filepath.Join(t.TempDir(), "scratch", "r"), Kept: filepath.Join(t.TempDir(), "kept", keptOf("r"))}
	var all []*Homes
	for _, places := range []Places{at.Apart("a"), at.Apart(`b["x"]`), at} {
		h := &Homes{Places: places, Task: &pipeline.Task{}, Box: sandbox.Box{Tier: sandbox.None}}
		fixtest.Check(t, h.Open(root))
		if _, err := h.ThrowAway("home"); err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	if left, err := scratch.Sweep(at.Work, nil); err != nil || len(left) > 0 {
		t.Errorf("swept while they are used: %v, %v", left, err)
	}
	for i, h := range all {
		if h.Work == at.Work {
			continue
		}
		if !recordfile.Exists(filepath.Join(h.Work, "home-1")) {
			t.Errorf("%d: its folder is gone", i)
		}
		if c, err := h.FreshCaches(); err != nil || !Inside(c.Dir, h.Work) || !recordfile.Exists(filepath.Join(c.Dir, goBuild)) {
			t.Errorf("%d: caches %v, %v", i, c, err)
		}
	}
	fixtest.Check(t, all[0].removeKept(keptCaches))
	for _, h := range all {
		fixtest.Check(t, h.Close())
	}
	if recordfile.Exists(at.Work) {
		t.Error("the folder of the copies is left")
	}
	if !recordfile.Exists(filepath.Join(here, keptCaches, goBuild)) {
		t.Error("a folder of the person's was removed")
	}
}

// A copy is rescued under a name that is free, in the cache folder where the folder for rescued ones cannot be had. Where
// nothing takes it, it stays.
func TestRescue(t *testing.T) {
	t.Parallel()
	root, cache := t.TempDir(), t.TempDir()
	fixtest.Put(t, root, "a", "f:one\n")
	at := Places{Work: filepath.Join(cache, "scratch", "r"), Rescued: filepath.Join(cache, "rescued")}
	fixtest.Check(t, os.MkdirAll(at.Work, 0o700))
	base, err := scratch.Make(t.Context(), at.Work, scratch.Source{Root: root})
	fixtest.Check(t, err)
	rescue := func(text string) (string, *scratch.Copy, error) {
		c, err := base.Copy(t.Context(), filepath.Join(at.Work, "agent-"+text))
		fixtest.Check(t, err)
		fixtest.Put(t, c.Dir, "a", "f:"+text)
		to, err := at.Rescue(base, c, "run", "check", 1)
		return to, c, err
	}
	var want []string
	for _, name := range []string{"rescued/run-check-1", "rescued/run-check-1-2", "rescued/run-check-1-3", "rescued-run-check-1", "rescued-run-check-1-2"} {
		if name == "rescued-run-check-1" {
			fixtest.Check(t, errors.Join(os.Rename(at.Rescued, at.Rescued+".away"), os.WriteFile(at.Rescued, nil, 0o600)))
		}
		to, _, err := rescue(filepath.Base(name))
		if text, _ := os.ReadFile(filepath.Join(to, "a")); err != nil || to != filepath.Join(cache, name) || string(text) != filepath.Base(name) {
			t.Errorf("%s: %q in %s, %v", name, text, to, err)
		}
		want = append(want, to)
	}
	fixtest.Check(t, errors.Join(os.Remove(at.Rescued), os.Rename(at.Rescued+".away", at.Rescued)))
	if got := at.AllRescued(); !slices.Equal(got, want) {
		t.Errorf("rescued %q, want %q", got, want)
	}
	file := filepath.Join(cache, "file")
	fixtest.Check(t, os.WriteFile(file, nil, 0o600))
	at.Rescued = filepath.Join(file, "rescued")
	to, c, err := rescue("stays")
	fixtest.Check(t, base.Close())
	if text, _ := os.ReadFile(filepath.Join(c.Dir, "a")); err == nil || to != "" || string(text) != "stays" {
		t.Errorf("%q in %s, %q, %v", text, c.Dir, to, err)
	}
}
