package scratch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// plainCopy is the limit: two workers, read and write, nothing checked, no times kept.
func plainCopy(t testing.TB, src, dst string) {
	t.Helper()
	queue := make(chan string, 64)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for p := range queue {
				data, err := os.ReadFile(filepath.Join(src, p))
				if err == nil {
					err = os.WriteFile(filepath.Join(dst, p), data, 0o644)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	err := filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(dst, rel), 0o755)
		}
		queue <- rel
		return nil
	})
	close(queue)
	workers.Wait()
	must(t, err)
}

// statWalk is the limit: two workers take the folders in turn and lstat everything but what is in .git.
func statWalk(t testing.TB, top string) {
	t.Helper()
	dirs := make(chan string, 100_000)
	var open atomic.Int64
	open.Store(1)
	dirs <- top
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for dir := range dirs {
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Error(err)
				}
				for _, d := range entries {
					if _, err := d.Info(); err != nil {
						t.Error(err)
					}
					if d.IsDir() && d.Name() != ".git" {
						open.Add(1)
						dirs <- filepath.Join(dir, d.Name())
					}
				}
				if open.Add(-1) == 0 {
					close(dirs)
				}
			}
		})
	}
	workers.Wait()
}

func largeRepo(t testing.TB, files int) string {
	t.Helper()
	set := map[string]string{}
	for i := range files {
		set[fmt.Sprintf("pkg%02d/sub%d/file%d.go", i%50, i%7, i)] = fmt.Sprintf("%d %0*d", i, 500+i%7000, i)
	}
	top := newRepo(t, nil)
	write(t, top, set)
	run(t, top, "config", "core.fsync", "none")
	run(t, top, "config", "gc.auto", "0") // not behind our back
	run(t, top, "add", "-A")
	run(t, top, "commit", "-q", "-m", "one")
	run(t, top, "gc", "-q") // as most histories are
	return top
}

// BenchmarkScratch measures each step against its limit, both in each round of the same run; the best round of each
// counts. The goals are in the names of what is reported.
func BenchmarkScratch(b *testing.B) {
	for _, files := range []int{5_000, 50_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) { benchScratch(b, files) })
	}
}

func benchScratch(b *testing.B, files int) {
	top := largeRepo(b, files)
	time.Sleep(50 * time.Millisecond) // what is younger is not trusted
	ctx := context.Background()
	parent := temp(b)
	best := map[string]time.Duration{}
	took := func(name string, f func() error) {
		start := time.Now()
		err := f()
		if d := time.Since(start); best[name] == 0 || d < best[name] {
			best[name] = d
		}
		must(b, err)
	}
	kept := Source{Root: top, Kept: filepath.Join(parent, "kept", "base")}
	first, err := Make(ctx, parent, kept)
	must(b, err, first.Close())
	for b.Loop() {
		plain := filepath.Join(parent, "plain")
		took("plain", func() error { plainCopy(b, top, plain); return nil })
		var base, again *Base
		var c *Copy
		took("make", func() (err error) { base, err = Make(ctx, parent, Source{Root: top}); return err })
		took("copy", func() (err error) { c, err = base.Copy(ctx, filepath.Join(parent, "copy")); return err })
		took("update", func() (err error) { again, err = Make(ctx, parent, kept); return err })
		for i := range 10 {
			write(b, c.Dir, map[string]string{fmt.Sprintf("pkg%02d/sub%d/file%d.go", i, i%7, i): fmt.Sprint("edited ", i)})
		}
		took("walk", func() error { statWalk(b, c.Dir); return nil })
		root, err := os.OpenRoot(c.Dir)
		must(b, err)
		var d *difference
		took("compare", func() (err error) { d, err = c.compare(ctx, root); return err })
		took("patch", func() error {
			counted, _, _, err := base.classify(ctx, d)
			was, werr := descend(base.Dir)
			now, nerr := descend(c.Dir)
			if err := errors.Join(err, werr, nerr); err != nil {
				return err
			}
			defer was.close()
			defer now.close()
			r := &changeReader{base: base, was: was, now: now}
			var changes []patch.Change
			for _, p := range counted {
				change, _, rerr := r.read(p)
				err = errors.Join(err, rerr)
				changes = append(changes, *change)
			}
			if len(changes) != 10 {
				b.Fatal(len(changes))
			}
			_, perr := patch.Encode(changes)
			return errors.Join(err, perr)
		})
		must(b, root.Close())
		must(b, again.Close(), base.Close(), os.RemoveAll(plain))
	}
	ratio := func(a, b string) float64 { return float64(best[a]) / float64(best[b]) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ratio("make", "plain"), "first-copy/copy(1.2)")
	b.ReportMetric(ratio("copy", "plain"), "later-copy/copy(1.2)")
	b.ReportMetric(ratio("update", "plain"), "kept-base/copy")
	b.ReportMetric(ratio("update", "walk"), "kept-base/stat-walk")
	b.ReportMetric(ratio("compare", "walk"), "what-changed/stat-walk(1.5)")
	b.ReportMetric(float64(best["patch"].Microseconds())/1000, "patch-ms(30)")
	b.ReportMetric(float64(best["plain"].Milliseconds()), "copy-ms")
	b.ReportMetric(float64(best["walk"].Milliseconds()), "stat-walk-ms")
}
