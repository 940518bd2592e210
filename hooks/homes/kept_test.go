package homes

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// keeps makes a kept folder of root with a file that cannot be removed at once, last used so long ago.
func keeps(t *testing.T, cache, name, root string, ago time.Duration) string {
	t.Helper()
	dir := filepath.Join(cache, "kept", name)
	sub := filepath.Join(dir, "check", "go-mod", "m")
	fixtest.Check(t, os.MkdirAll(sub, 0o700))
	fixtest.Check(t, os.WriteFile(filepath.Join(sub, "x"), make([]byte, 1000), 0o400))
	if root != "" {
		fixtest.Check(t, (Places{Kept: dir}).markUsed(root))
	}
	at := time.Now().Add(-ago)
	fixtest.Check(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, at, at))
	}))
	fixtest.Check(t, os.Chmod(sub, 0o500))
	t.Cleanup(func() { _ = os.Chmod(sub, 0o700) }) // for who removes it, where it is still there
	return dir
}

// keptOf is a name as kept folders have them.
func keptOf(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}

func TestKept(t *testing.T) {
	t.Parallel()
	cache, root := t.TempDir(), t.TempDir()
	if all, err := AllKept(cache); len(all) > 0 || err != nil {
		t.Fatalf("of nothing: %v, %v", all, err)
	}
	const day = 24 * time.Hour
	forgotten := map[string]bool{
		keeps(t, cache, keptOf("used"), root, 29*day):                            false,
		keeps(t, cache, keptOf("unused"), root, 31*day):                          true,
		keeps(t, cache, keptOf("moved"), filepath.Join(root, "gone"), time.Hour): true,
		keeps(t, cache, keptOf("nameless"), "", 29*day):                          false,
		keeps(t, cache, keptOf("oldnameless"), "", 31*day):                       true,
		keeps(t, cache, doomed+keptOf("x"), root, time.Hour):                     true,
		keeps(t, cache, keptOf("busy"), root, 31*day):                            false,
	}
	work := filepath.Join(cache, "scratch", keptOf("busy"))
	fixtest.Check(t, os.MkdirAll(work, 0o700))
	fixtest.Check(t, scratch.Folder(filepath.Join(work, "base-1")))
	all, err := AllKept(cache)
	if err != nil || len(all) != len(forgotten) {
		t.Fatalf("%d, %v", len(all), err)
	}
	for _, k := range all {
		want := forgotten[k.Dir]
		if got := k.Forgotten(time.Now()); got != want || k.Bytes < 1000 {
			t.Errorf("%s: forgotten %v, want %v: %+v", k.Dir, got, want, k)
		}
		removed, err := RemoveKept(k)
		if err != nil || removed == k.Busy {
			t.Errorf("%s: removed %v, %v", k.Dir, removed, err)
		}
		if recordfile.Exists(k.Dir) == removed {
			t.Errorf("%s: removed %v, and there is %v", k.Dir, removed, recordfile.Exists(k.Dir))
		}
	}
	entries, err := os.ReadDir(filepath.Join(cache, "kept"))
	if err != nil || len(entries) != 1 || entries[0].Name() != keptOf("busy") {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// Build caches of a root in which somebody heals stay, whatever their age.
func TestKeptWhileHealing(t *testing.T) {
	t.Parallel()
	cache, root := t.TempDir(), t.TempDir()
	dir := keeps(t, cache, keptOf("a"), root, 90*24*time.Hour)
	lock, err := record.At(root).HealLock()
	fixtest.Check(t, err)
	all, err := AllKept(cache)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if removed, err := RemoveKept(all[0]); removed || err != nil || !recordfile.Exists(dir) {
		t.Errorf("removed %v, %v", removed, err)
	}
	fixtest.Check(t, lock.Unlock())
	if removed, err := RemoveKept(all[0]); !removed || err != nil || recordfile.Exists(dir) {
		t.Errorf("removed %v, %v", removed, err)
	}
}

// A kept folder says whose it is, and that it was used.
func TestKeptIsMarked(t *testing.T) {
	t.Parallel()
	cache, root := t.TempDir(), t.TempDir()
	dir := keeps(t, cache, keptOf("a"), root, 90*24*time.Hour)
	fixtest.Check(t, (Places{Kept: dir}).markUsed(root))
	all, err := AllKept(cache)
	if err != nil || all[0].Root != root || time.Since(all[0].Used) > time.Minute || all[0].Forgotten(time.Now()) {
		t.Errorf("%+v, %v", all, err)
	}
}

// Only folders that we made are listed and removed: none behind a link, and none of another name.
func TestKeptOfOthers(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "gone")
	foreign, cache := t.TempDir(), t.TempDir()
	dir := keeps(t, foreign, keptOf("a"), root, time.Hour)
	fixtest.Check(t, os.Symlink(filepath.Join(foreign, "kept"), filepath.Join(cache, "kept")))
	if all, err := AllKept(cache); len(all) > 0 || err == nil {
		t.Errorf("behind a link: %v, %v", all, err)
	}
	if removed, err := RemoveKept(Kept{Dir: filepath.Join(cache, "kept", keptOf("a")), Root: root}); removed || err == nil || !recordfile.Exists(dir) {
		t.Errorf("behind a link: removed %v, %v", removed, err)
	}
	cache = t.TempDir()
	fixtest.Check(t, os.MkdirAll(filepath.Join(cache, "kept"), 0o700))
	fixtest.Check(t, os.Symlink(dir, filepath.Join(cache, "kept", keptOf("a"))))
	for _, name := range []string{"photos", doomed + "x", keptOf("a")[1:], "." + keptOf("b"), keptOf("c") + "0"} {
		other := keeps(t, cache, name, root, 90*24*time.Hour)
		if removed, err := RemoveKept(Kept{Dir: other, Root: root}); removed || err == nil || !recordfile.Exists(other) {
			t.Errorf("%s: removed %v, %v", name, removed, err)
		}
	}
	if all, err := AllKept(cache); len(all) > 0 || err != nil {
		t.Errorf("of other names: %v, %v", all, err)
	}
}

// Bases are kept for so many roots, those used last, and not for ever.
func TestBoundBases(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	all := filepath.Join(cache, "kept")
	base := func(name string, ago time.Duration) string {
		dir := filepath.Join(all, keptOf(name))
		at := time.Now().Add(-ago)
		fixtest.Check(t, errors.Join(
			os.MkdirAll(filepath.Join(dir, baseFolder, "tree", "closed"), 0o700), os.Chmod(filepath.Join(dir, baseFolder, "tree", "closed"), 0o500),
			os.WriteFile(filepath.Join(dir, rootFile), []byte(name+"\n"), 0o600), os.Chtimes(filepath.Join(dir, rootFile), at, at),
		))
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
		fixtest.Check(t, os.MkdirAll(dir, 0o700))
	}
	fixtest.Check(t, os.Symlink(filepath.Dir(stranger), link))
	want[torn], want[stranger] = false, true
	fixtest.Check(t, own.evictBases(nil))
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
	fixtest.Put(t, dir, baseFolder+"/tree/f", "f:12345")
	old := time.Now().Add(-31 * 24 * time.Hour)
	fixtest.Check(t, os.Chtimes(dir, old, old))
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
