package homes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// Bases are kept for so many roots, those used last, and not for ever.
func TestBoundBases(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	all := filepath.Join(cache, "kept")
	base := func(name string, ago time.Duration) string {
		dir := filepath.Join(all, keptOf(name))
		at := time.Now().Add(-ago)
		if err := errors.Join(
			os.MkdirAll(filepath.Join(dir, baseFolder, "tree", "closed"), 0o700), os.Chmod(filepath.Join(dir, baseFolder, "tree", "closed"), 0o500),
			os.WriteFile(filepath.Join(dir, rootFile), []byte(name+"\n"), 0o600), os.Chtimes(filepath.Join(dir, rootFile), at, at),
		); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, baseFolder)
	}
	own := Places{Kept: filepath.Dir(base("own", 40*24*time.Hour))}
	want := map[string]bool{
		filepath.Join(own.Kept, baseFolder): true,
		base("forgotten", 31*24*time.Hour):  false,
	}
	for i := range mostBases + 1 {
		want[base(string(rune('a'+i)), time.Duration(i)*time.Hour)] = i < mostBases-1
	}
	torn := filepath.Join(all, keptOf("torn"), baseFolder+".gone-1")
	stranger := filepath.Join(all, "stranger", baseFolder)
	link := filepath.Join(all, keptOf("link"))
	for _, dir := range []string{torn, stranger} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(stranger), link); err != nil {
		t.Fatal(err)
	}
	want[torn], want[stranger] = false, true
	if err := own.evictBases(); err != nil {
		t.Fatal(err)
	}
	for dir, stays := range want {
		if recordfile.Exists(dir) != stays {
			t.Errorf("%s is there: %v", dir, !stays)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(all, "*", baseFolder+".gone-*")); len(found) > 0 {
		t.Errorf("left behind: %q", found)
	}
}

// What an agent could have written into is not kept.
func TestKeptBaseNeedsConfinement(t *testing.T) {
	t.Parallel()
	h := &Homes{Places: Places{Kept: "/kept"}}
	if got := h.KeptBase(sandbox.None); got != "" {
		t.Error(got)
	}
	if got := h.KeptBase(sandbox.Fence); got != "/kept/base" {
		t.Error(got)
	}
}

// The files of a kept base have the times of the tree's: they say nothing of when it was used.
func TestKeptUsed(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	dir := keeps(t, cache, keptOf("x"), "", 31*24*time.Hour)
	future := filepath.Join(dir, baseFolder, "tree", "f")
	if err := errors.Join(os.MkdirAll(filepath.Dir(future), 0o700), os.WriteFile(future, []byte("12345"), 0o600)); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-31 * 24 * time.Hour)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	all, err := AllKept(cache)
	if err != nil || len(all) != 1 || !all[0].Forgotten(time.Now()) || all[0].Bytes != 1005 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestTier(t *testing.T) {
	t.Parallel()
	if _, err := Tier("full"); err == nil {
		t.Error("a tier that this machine does not have is given")
	}
	if tier, err := Tier(sandbox.None); err != nil || tier != sandbox.None {
		t.Error("what a person grants is refused", err)
	}
}
