package scratch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

func TestSweep(t *testing.T) {
	t.Parallel()
	if left, err := Leftovers(filepath.Join(t.TempDir(), "none")); err != nil || left != nil {
		t.Error(left, err)
	}
	if left, err := Sweep(filepath.Join(t.TempDir(), "none"), nil); err != nil || left != nil {
		t.Error(left, err)
	}
	top := newRepo(t, map[string]string{"a": "1"})
	b := makeBase(t, Source{Root: top})
	c := makeCopy(t, b)
	parent := filepath.Dir(b.holder)
	dead, err := json.Marshal(stamp{1, process.Stamp{PID: 1 << 30, Start: 1, Boot: process.Self().Boot}})
	must(t, err)
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"killed", "noted", "young", "torn", "oldtorn"} {
		write(t, parent, map[string]string{name + "/ro/x": "1"})
		must(t, os.Chmod(filepath.Join(parent, name, "ro"), 0o500))
	}
	write(t, parent, map[string]string{"killed.stamp": string(dead), "gone.stamp": string(dead), "torn.stamp": "{", "oldtorn.stamp": "", ".stamp-1": "", "a file": "", draftStamp + process.Stamp{PID: 1 << 30, Start: 1, Boot: process.Self().Boot}.String() + "-42": ""})
	mine := draftStamp + process.Self().String() + "-43" // on its way
	write(t, parent, map[string]string{mine: ""})
	for _, p := range []string{"noted", "oldtorn", "oldtorn.stamp", ".stamp-1"} {
		must(t, os.Chtimes(filepath.Join(parent, p), old, old))
	}
	left, err := Sweep(parent, nil)
	must(t, err)
	var names []string
	for _, l := range left {
		names = append(names, filepath.Base(l.Dir))
	}
	if !slices.Equal(names, []string{"killed", "noted", "oldtorn"}) {
		t.Errorf("swept %q", names)
	}
	entries, err := os.ReadDir(parent)
	must(t, err)
	var still []string
	for _, e := range entries {
		still = append(still, e.Name())
	}
	want := []string{mine, "a file", filepath.Base(b.holder), filepath.Base(b.holder) + ".stamp", filepath.Base(c.Dir), filepath.Base(c.Dir) + ".stamp", "torn", "torn.stamp", "young"}
	slices.Sort(want)
	if !slices.Equal(still, want) {
		t.Errorf("left\n%q\nwant\n%q", still, want)
	}
	must(t, b.Close())
	if _, err := os.Lstat(c.Dir); err == nil {
		t.Error("Close of the base left a copy")
	}
	for _, p := range []string{b.holder, b.holder + stampSuffix, c.Dir + stampSuffix} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	must(t, os.Chmod(parent+"/young/ro", 0o700), os.Chmod(parent+"/torn/ro", 0o700))
	must(t, b.Close(), c.Close()) // twice is no fault
}

// The folder of a base has its stamp before anything is copied to it.
func TestStampFirst(t *testing.T) {
	t.Parallel()
	holder, err := newFolder(temp(t), "")
	must(t, err)
	made := time.Now()
	if known, live := readStamp(holder, &made); !known || !live {
		t.Error("no stamp yet")
	}
}

func TestInUse(t *testing.T) {
	t.Parallel()
	parent := temp(t)
	use := func(want bool, what string) {
		t.Helper()
		if got, err := InUse(parent); got != want || err != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	use(false, "nothing")
	dead, err := json.Marshal(stamp{1, process.Stamp{PID: 1 << 30, Start: 1, Boot: process.Self().Boot}})
	must(t, err)
	write(t, parent, map[string]string{"killed/x": "1", "killed.stamp": string(dead), "a file": ""})
	use(false, "what a killed runner left")
	write(t, parent, map[string]string{"young/x": "1"})
	use(true, "a folder that is too young to have a stamp")
	old := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(filepath.Join(parent, "young"), old, old))
	use(false, "an old one without a stamp")
	must(t, Folder(filepath.Join(parent, "mine")))
	use(true, "a folder of ours")
	must(t, remove(filepath.Join(parent, "mine")))
	use(false, "removed")
	if got, err := InUse(filepath.Join(parent, "none")); got || err != nil {
		t.Error(got, err)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "home-1")
	for range 2 { // a second time it is empty again
		must(t, Folder(dir))
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Fatalf("%v %v", entries, err)
		}
		must(t, os.MkdirAll(filepath.Join(dir, "read-only", "below"), 0o700))
		must(t, os.Chmod(filepath.Join(dir, "read-only"), 0o500))
	}
	if left, err := Sweep(parent, nil); err != nil || len(left) > 0 {
		t.Errorf("swept while its maker lives: %v %v", left, err)
	}
	// The stamp of a process that is no more: pid 1 of another boot.
	must(t, os.WriteFile(dir+stampSuffix, []byte(`{"schema_version":1,"pid":1,"start":1,"boot":"another"}`), 0o600))
	if left, err := Sweep(parent, nil); err != nil || len(left) != 1 {
		t.Errorf("swept %v %v", left, err)
	}
	must(t, Folder(dir))
	must(t, remove(dir))
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("left: %v %v", entries, err)
	}
}
