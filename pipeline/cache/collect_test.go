package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/reads"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
)

// Old results go, then what nothing needs; what is not the cache's own stays, and what stays is still a hit.
func TestCollect(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Inputs: []string{"src/**"}, Outputs: []string{"gen/out"}})
	p.write("src/a", "1")
	p.run()
	old, _ := filepath.Glob(filepath.Join(p.dir, "actions", "*", "*"))
	p.write("src/a", "2")
	p.run()
	strangers := []string{"actions/x", "cas/notes.txt", ".tmp-notes"}
	for _, name := range strangers {
		must(t, os.WriteFile(filepath.Join(p.dir, name), nil, 0o600))
	}
	gone, kept := filepath.Join(p.dir, "outcomes-0123456789abcdef.json"), filepath.Join(p.dir, "outcomes-fedcba9876543210.json")
	for _, name := range []string{gone, kept} {
		must(t, os.WriteFile(name, []byte("{}"), 0o600))
	}
	halves := []string{".tmp-1", "baselines/.tmp-2", "cas/." + strings.Repeat("a", 64) + "123"}
	for i, name := range halves { // of writers that were killed
		halves[i] = filepath.Join(p.dir, name)
		must(t, os.WriteFile(halves[i], []byte("half"), 0o600))
	}
	for _, name := range []string{old[0], gone} {
		must(t, os.Chtimes(name, time.Now(), time.Now().Add(-2*MaxAge)))
	}
	later := time.Now().Add(2 * store.Young)
	would, err := Collect(p.dir, later, MaxAge, MaxBytes, true)
	must(t, err)
	if !fileExists(old[0]) {
		t.Error("a dry run removed a result")
	}
	did, err := Collect(p.dir, later, MaxAge, MaxBytes, false)
	must(t, err)
	if did != would || did.Results != 1 || did.Bytes == 0 || fileExists(old[0]) {
		t.Errorf("removed %+v, said %+v", did, would)
	}
	for _, name := range strangers {
		if !fileExists(filepath.Join(p.dir, name)) {
			t.Errorf("%s is gone, which is not ours", name)
		}
	}
	if slices.ContainsFunc(halves, fileExists) {
		t.Error("what is half written stays for ever")
	}
	if fileExists(gone) || !fileExists(kept) {
		t.Error("of outcomes, what is old does not go, or more does")
	}
	must(t, os.RemoveAll(filepath.Join(root, "gen")))
	p.want("t hit")(p.run())
	if did, err = Collect(p.dir, later, MaxAge, 0, false); err != nil || did.Results != 1 {
		t.Errorf("beyond the limit: %+v, %v", did, err)
	}
}

// What is known of tasks that are gone goes after a while, and what a killed process left half made; what is not ours stays.
func TestCollectWhatIsForgotten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	s := &baselines{store: &store.Store{Dir: dir}}
	_, err := secretKey(s.store, true)
	must(t, err)
	must(t, putReadSet(dir, "old", reads.Set{Files: []string{"a"}}))
	must(t, putReadSet(dir, "new", reads.Set{Files: []string{"a"}}))
	must(t, s.putLeft("old", map[string]string{"out": "x"}))
	must(t, s.putLeft("new", map[string]string{"out": "x"}))
	write := func(name, text string) string {
		at := filepath.Join(dir, name)
		must(t, os.WriteFile(at, []byte(text), 0o600))
		return at
	}
	key := write(process.TempName(keyPrefix), "")
	gone := []string{readsPath(dir, "old"), s.leftPath("old"), key}
	kept := []string{
		readsPath(dir, "new"), s.leftPath("new"), write("key-notes", ""), write("reads/notes.json", `{"lane": 1}`),
		write("baselines/notes.left", "over from lunch"), filepath.Join(dir, "key"),
	}
	for _, at := range append(slices.Clone(gone), kept[2:]...) {
		must(t, os.Chtimes(at, time.Now(), time.Now().Add(-2*MaxAge)))
	}
	_, err = Collect(dir, time.Now(), MaxAge, MaxBytes, true)
	must(t, err)
	if slices.ContainsFunc(gone, func(at string) bool { return !fileExists(at) }) {
		t.Error("a dry run removed something")
	}
	_, err = Collect(dir, time.Now(), MaxAge, MaxBytes, false)
	must(t, err)
	for _, at := range gone {
		if fileExists(at) {
			t.Errorf("%s stays for ever", at)
		}
	}
	for _, at := range kept {
		if !fileExists(at) {
			t.Errorf("%s is gone", at)
		}
	}
}

// What a task reads is kept as long as there are runs that have the task.
func TestReadsInUse(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Auto: true})
	must(t, putReadSet(p.dir, "t", reads.Set{Files: []string{"a"}}))
	old := time.Now().Add(-2 * MaxAge)
	for _, peek := range []bool{true, false} {
		must(t, os.Chtimes(readsPath(p.dir, "t"), old, old))
		c := p.cache(func(c *Cache) { c.Peek = peek })
		must(t, c.open())
		must(t, c.Close())
		_, err := Collect(p.dir, time.Now(), MaxAge, MaxBytes, peek)
		must(t, err)
		if info, err := os.Stat(readsPath(p.dir, "t")); err != nil || info.ModTime().Equal(old) != peek {
			t.Errorf("peek %v: %v, %v", peek, info, err)
		}
	}
}

// After runs old results are removed once a day, and not on the first.
func TestCollectDaily(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Inputs: []string{"src/**"}})
	p.write("src/a", "1")
	p.run()
	all, _ := filepath.Glob(filepath.Join(p.dir, "actions", "*", "*"))
	must(t, os.Chtimes(all[0], time.Now(), time.Now().Add(-2*MaxAge)))
	stamp := filepath.Join(p.dir, "collected")
	for _, day := range []struct {
		what string
		age  time.Duration // of the stamp
		kept bool
	}{{"on the first day", 0, true}, {"later that day", 23 * time.Hour, true}, {"a day later", 25 * time.Hour, false}} {
		if day.age > 0 {
			must(t, os.Chtimes(stamp, time.Now(), time.Now().Add(-day.age)))
		}
		must(t, CollectDaily(p.dir))
		if fileExists(all[0]) != day.kept {
			t.Errorf("%s: the old result is kept: %v", day.what, !day.kept)
		}
	}
	if info, err := os.Stat(stamp); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the time of the last removal is not noted: %v", err)
	}
}

// A result older than the ttl is not used.
func TestTTL(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	task := &pipeline.Task{Name: "t", Inputs: []string{"src/**"}, Cache: pipeline.CacheRules{TTL: time.Hour}}
	p := newProject(t, root, filepath.Join(root, ".async", "cache"), task)
	p.write("src/a", "1")
	p.run()
	p.want("t hit")(p.run())
	task.Cache.TTL = time.Nanosecond
	time.Sleep(time.Second)
	p.want("t miss: older than the ttl of 1ns")(p.run())
}

// What goes with a result is kept as long as the result, and a result without it is a miss.
func TestBeside(t *testing.T) {
	t.Parallel()
	c := &Cache{}
	c.store.Dir = t.TempDir()
	log, err := c.store.Put([]byte("log"))
	must(t, err)
	patch, err := c.store.Put([]byte("patch"))
	must(t, err)
	key := reapi.DigestOf([]byte("key")).Hash
	must(t, c.store.PutAction(key, reapi.Result{Log: log, Beside: []reapi.File{{Path: "patch", Digest: patch}}, Run: "r", Made: time.Now().Unix()}))
	if _, err := c.find(nil, &pipeline.Task{}, key); err != nil {
		t.Errorf("find: %v", err)
	}
	if _, err := Collect(c.store.Dir, time.Now().Add(2*store.Young), MaxAge, MaxBytes, false); err != nil || !c.store.Has(patch) {
		t.Errorf("the patch of a result was removed, %v", err)
	}
	must(t, os.Remove(filepath.Join(c.store.Dir, "cas", patch.Hash[:2], patch.Hash)))
	if _, err := c.find(nil, &pipeline.Task{}, key); err == nil {
		t.Error("a result without its patch is a hit")
	}
}

// What a run that was killed had not restored in full is neither an output nor an input, and is removed; that of one at
// work stays.
func TestAbandonedRestore(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Inputs: []string{"src/**"}, Outputs: []string{"gen/**"}})
	p.write("src/a", "1")
	dead := process.Self()
	dead.Start++
	left := ".async-pipeline-restore-" + dead.String() + "-1"
	p.write("gen/"+left, "half")
	p.write("src/"+left, "half")
	mine := process.TempName("gen/.async-pipeline-restore-") + "2"
	p.write(mine, "at work")
	p.run()
	p.write("gen/"+left, "half")
	c := p.cache()
	must(t, c.RemoveAbandoned(t.Context()))
	if _, err := os.Lstat(filepath.Join(root, "gen", left)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	p.write("src/"+left, "half")
	if got := p.run(); !slices.Equal(got, []string{"t hit"}) {
		t.Errorf("the next run: %v", got)
	}
	for _, name := range []string{"gen/" + left, "src/" + left} {
		if _, err := os.Lstat(filepath.Join(root, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, mine)); err != nil {
		t.Error(err)
	}
	must(t, os.RemoveAll(filepath.Join(root, "gen")))
	p.run()
	if all, _ := os.ReadDir(filepath.Join(root, "gen")); len(all) != 1 {
		t.Errorf("restored: %v", all)
	}
}

// A result is not restored through a link that somebody put in the place of a folder, nor over a folder.
func TestRestoreInTheWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put  func(t *testing.T, p *project)
		want string
	}{
		"a link on the way": {func(t *testing.T, p *project) {
			t.Helper()
			p.write("mine/out", "mine")
			must(t, os.RemoveAll(filepath.Join(p.root, "gen", "in")))
			must(t, os.Symlink("../mine", filepath.Join(p.root, "gen", "in")))
		}, "t miss: gen/in is a link"},
		"a folder": {func(t *testing.T, p *project) {
			t.Helper()
			must(t, os.Remove(filepath.Join(p.root, "gen", "in", "out")))
			p.write("gen/in/out/mine", "mine")
		}, "t miss: gen/in/out is a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Inputs: []string{"src/**"}, Outputs: []string{"gen/in/**"}})
			p.write("src/a", "1")
			p.run()
			c.put(t, p)
			k := p.cache()
			e := k.Look(t.Context(), p.config.Task("t"))
			if e.Result == Hit {
				_, _, _, err := k.Restore(t.Context(), e)
				if err == nil {
					t.Fatal("it was restored")
				}
			}
			if got := "t " + e.Result + ": " + e.Reason(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, at := range []string{"mine/out", "gen/in/out/mine"} {
				if b, err := os.ReadFile(filepath.Join(root, at)); err == nil && string(b) != "mine" {
					t.Errorf("%s: %q", at, b)
				}
			}
		})
	}
}

// Who only looks removes nothing, damaged or not.
func TestLookingRemovesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t, t.TempDir(), filepath.Join(t.TempDir(), "cache"), &pipeline.Task{Name: "t", Inputs: []string{"a"}})
	p.write("a", "a")
	c := p.cache()
	e := p.carry(c, "t")
	must(t, c.Close())
	at := filepath.Join(p.dir, "actions", e.Key[:2], e.Key)
	must(t, os.Chmod(at, 0o600))
	must(t, os.WriteFile(at, []byte("damaged"), 0o600))
	look := func(peek bool) string {
		c := p.cache(func(c *Cache) { c.Peek = peek })
		e := c.Look(t.Context(), p.config.Tasks[0])
		must(t, c.Close())
		return e.Reason()
	}
	_, err := Collect(p.dir, time.Now(), time.Hour, 1<<30, true)
	must(t, err)
	if why := look(true); why != "entry damaged" || !fileExists(at) {
		t.Errorf("%q, there: %t", why, fileExists(at))
	}
	if why := look(false); why != "entry damaged" || fileExists(at) {
		t.Errorf("%q, there: %t", why, fileExists(at))
	}
}
