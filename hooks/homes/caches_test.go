package homes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// layered returns homes with overlays over the person's cache for pip, which is returned, too.
func layered(t *testing.T) (h *Homes, pip string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	pip = filepath.Join(home, ".cache", "pip")
	if err := os.MkdirAll(pip, 0o700); err != nil {
		t.Fatal(err)
	}
	h = &Homes{
		Places: Places{Store: filepath.Join(dir, "tree", ".async"), Work: filepath.Join(dir, "work"), Kept: filepath.Join(dir, "kept", "x")},
		Task:   &pipeline.Task{}, Environ: []string{"HOME=" + home}, Box: sandbox.Box{Tier: sandbox.View}, Bin: &scratch.Bin{},
	}
	if err := h.Open("root"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Bin.Empty() })
	if h.noLayers != nil {
		t.Skip("no overlay here: " + h.noLayers.Error())
	}
	return h, pip
}

// A cache of the person's that is removed while a hook is at work, or put elsewhere, is empty from then on.
func TestCacheVanishes(t *testing.T) {
	t.Parallel()
	h, pip := layered(t)
	check, _, err := h.CheckCaches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := func(c Caches) {
		t.Helper()
		box := sandbox.Box{Tier: sandbox.View, Write: []string{c.Dir}, Layers: c.present()}
		res, err := box.Run(t.Context(), sandbox.Command{
			Argv: []string{"sh", "-c", "test ! -e wheel && echo 1 > new && rm new"}, Dir: filepath.Join(c.Dir, "xdg", "pip"),
			Env: []string{"PATH=/usr/bin:/bin"},
		})
		if err != nil || res.ExitCode != 0 {
			t.Errorf("%+v, %v", res, err)
		}
	}
	run(check)
	for _, replace := range []func() error{
		func() error { return os.Remove(pip) },
		func() error { return os.Symlink(t.TempDir(), pip) },
	} {
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		after, err := h.ThrowAwayCaches(t.Context(), check, h.Since)
		if err != nil {
			t.Fatal(err)
		}
		run(check) // whose layers were made before
		run(after)
	}
}

// A cache of the person's that appears while a hook is at work changes nothing for it: the folders of all layers are there.
func TestCacheAppears(t *testing.T) {
	t.Parallel()
	h, pip := layered(t)
	check, _, err := h.CheckCaches(t.Context())
	if err != nil || len(check.layers) != 1 {
		t.Fatalf("%+v, %v", check, err)
	}
	if err := os.Mkdir(filepath.Join(filepath.Dir(pip), "uv"), 0o700); err != nil {
		t.Fatal(err)
	}
	after, err := h.ThrowAwayCaches(t.Context(), check, h.copying.since)
	if err != nil || len(after.layers) == 0 {
		t.Fatalf("%+v, %v", after, err)
	}
	for _, l := range after.layers {
		for _, lower := range l.Lower {
			if info, err := os.Stat(lower); err != nil || !info.IsDir() {
				t.Errorf("layer %s: %v", lower, err)
			}
		}
	}
}
