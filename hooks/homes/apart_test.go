package homes

import (
	"os"
	"path/filepath"
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
		if _, err := h.throwAway("home"); err != nil {
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
