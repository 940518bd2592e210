package homes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/scratch"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// A cache of the person's that appears while a hook is at work changes nothing for it: the folders of all layers are there.
func TestCacheAppears(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".cache", "pip"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := &Homes{
		Places: Places{Store: filepath.Join(dir, "tree", ".async"), Work: filepath.Join(dir, "work"), Kept: filepath.Join(dir, "kept", "x")},
		Task:   &pipeline.Task{}, Environ: []string{"HOME=" + home}, Box: sandbox.Box{Tier: sandbox.View}, Bin: &scratch.Bin{},
	}
	if err := h.Open("root"); err != nil {
		t.Fatal(err)
	}
	if h.noLayers != nil {
		t.Skip("no overlay here: " + h.noLayers.Error())
	}
	check, _, err := h.CheckCaches(t.Context())
	if err != nil || len(check.layers) != 1 {
		t.Fatalf("%+v, %v", check, err)
	}
	if err := os.Mkdir(filepath.Join(home, ".cache", "uv"), 0o700); err != nil {
		t.Fatal(err)
	}
	after, err := h.AgentCaches(t.Context(), check, h.copying.since)
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
