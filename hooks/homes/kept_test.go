package homes

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		if got := len(SurplusOf([]Kept{k}, "", time.Now())) > 0; got != want || k.Bytes < 1000 {
			t.Errorf("%s: surplus %v, want %v: %+v", k.Dir, got, want, k)
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
	if err != nil || all[0].Root != root || time.Since(all[0].Used) > time.Minute || len(SurplusOf(all, "", time.Now())) > 0 {
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

// What is kept is bounded over all roots: by their number, their age, and the size of all together. What was used last
// stays, and what is in use.
func TestSurplus(t *testing.T) {
	t.Parallel()
	now := time.Now()
	root := t.TempDir()
	at := func(name string, hours int, bytes int64) Kept {
		return Kept{Dir: filepath.Join("/kept", name), Root: root, Used: now.Add(-time.Duration(hours) * time.Hour), Bytes: bytes}
	}
	busy := func(k Kept) Kept { k.Busy = true; return k }
	var many []Kept
	for i := range mostRoots + 2 {
		many = append(many, at(string(rune('a'+i)), mostRoots+2-i, 1))
	}
	gone := at("g", 0, 1)
	gone.Root = filepath.Join(root, "gone")
	for name, tt := range map[string]struct {
		all  []Kept
		own  string
		want []string
	}{
		"nothing":              {},
		"size":                 {[]Kept{at("a", 3, mostKept/2), at("b", 1, mostKept/2), at("c", 2, 1)}, "", []string{"a"}},
		"a small one behind":   {[]Kept{at("a", 3, 1), at("b", 1, mostKept/2), at("c", 2, mostKept)}, "", []string{"c"}},
		"one is too large":     {[]Kept{at("a", 3, mostKept+1)}, "", []string{"a"}},
		"what is in use stays": {[]Kept{at("a", 3, 1), busy(at("b", 9000, mostKept))}, "", []string{"a"}},
		"the own one stays":    {[]Kept{at("a", 3, 1), at("b", 9000, mostKept)}, "/kept/b", []string{"a"}},
		"number":               {many, "", []string{"b", "a"}},
		"number with the own":  {many, "/kept/a", []string{"c", "b"}},
		"age":                  {[]Kept{at("a", 24*31, 1), at("b", 24*29, 1)}, "", []string{"a"}},
		"root":                 {[]Kept{gone}, "", []string{"g"}},
		"interrupted":          {[]Kept{at(doomed+"a", 0, 1)}, "", []string{doomed + "a"}},
	} {
		var got []string
		for _, s := range SurplusOf(tt.all, tt.own, now) {
			if got = append(got, filepath.Base(s.Dir)); s.Why == "" {
				t.Errorf("%s: no reason for %s", name, s.Dir)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A hook removes what is beyond the limits when it begins, and goes on with removals that were interrupted. What it
// does not know stays.
func TestEvict(t *testing.T) {
	t.Parallel()
	cache, root := t.TempDir(), t.TempDir()
	own := Places{Kept: keeps(t, cache, keptOf("own"), root, 40*24*time.Hour), Work: filepath.Join(cache, "scratch", keptOf("own"))}
	foreign := keeps(t, cache, keptOf("foreign"), root, 40*24*time.Hour)
	fixtest.Put(t, foreign, "photo.jpg", "f:x")
	want := map[string]bool{
		own.Kept: true,
		foreign:  true,
		keeps(t, cache, "stranger", root, 40*24*time.Hour):                    true,
		keeps(t, cache, keptOf("used"), root, time.Hour):                      true,
		keeps(t, cache, keptOf("unused"), root, 31*24*time.Hour):              false,
		keeps(t, cache, doomed+keptOf("killed")+"-17", root, time.Hour):       false,
		keeps(t, cache, doomed+keptOf("earlier"), root, time.Hour):            false,
		keeps(t, cache, doomed+keptOf("stranger")+"-x", root, 9000*time.Hour): true,
	}
	link := filepath.Join(cache, "kept", keptOf("link"))
	fixtest.Check(t, os.Symlink(foreign, link))
	want[link] = true
	fixtest.Check(t, own.evict())
	for dir, stays := range want {
		if recordfile.Exists(dir) != stays {
			t.Errorf("%s is there: %v", dir, !stays)
		}
	}
}

// The size of build caches is measured once, and what is too large does not stay for ever.
func TestKeptCachesAreMeasured(t *testing.T) {
	t.Parallel()
	cache, root := t.TempDir(), t.TempDir()
	at := Places{Kept: keeps(t, cache, keptOf("a"), root, time.Hour), Work: filepath.Join(cache, "scratch", keptOf("a"))}
	fixtest.Check(t, at.measure())
	fixtest.Put(t, at.Kept, keptCaches+"/xdg/new", "f:"+strings.Repeat("x", 1<<20))
	before, err := AllKept(cache)
	if err != nil || before[0].Bytes < 4096 || before[0].Bytes >= 1<<20 {
		t.Errorf("%+v, %v", before, err)
	}
	fixtest.Check(t, at.measure())
	after, err := AllKept(cache)
	if err != nil || after[0].Bytes < 1<<20 || after[0].BaseBytes != 0 {
		t.Errorf("%+v, %v", after, err)
	}
	fixtest.Put(t, at.Kept, sizeFile, "f:3000000000")
	h := &Homes{Places: at}
	fixtest.Check(t, h.Open(root))
	if recordfile.Exists(filepath.Join(at.Kept, keptCaches)) || recordfile.Exists(filepath.Join(at.Kept, sizeFile)) {
		t.Error("caches of 3 GB are still kept")
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
	if err != nil || len(all) != 1 || len(SurplusOf(all, "", time.Now())) != 1 || all[0].Bytes < 1005 {
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
