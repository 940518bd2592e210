package scratch

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
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

func statWalk(t testing.TB, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		_, err = d.Info()
		return err
	}))
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
	run(t, top, "add", "-A")
	run(t, top, "commit", "-q", "-m", "one")
	return top
}

// BenchmarkScratch measures each step against its limit in the same run.
func BenchmarkScratch(b *testing.B) {
	top := largeRepo(b, 5000)
	ctx := context.Background()
	parent := temp(b)
	var limit, walk, mk, cp, ch, tree time.Duration
	took := func(sum *time.Duration, f func()) {
		start := time.Now()
		f()
		*sum += time.Since(start)
	}
	for range b.N {
		plain := filepath.Join(parent, "plain")
		took(&limit, func() { plainCopy(b, top, plain) })
		took(&walk, func() { statWalk(b, plain) })
		var base *Base
		var c *Copy
		var err error
		took(&mk, func() { base, err = Make(ctx, parent, Source{Root: top}) })
		must(b, err)
		root, err := os.OpenRoot(base.Dir)
		must(b, err)
		p, err := planAll(root, nil)
		must(b, err, root.Close(), os.Mkdir(parent+"/tree", 0o700))
		took(&tree, func() { _, err = copyTree(ctx, base.Dir, parent+"/tree", p) })
		must(b, err)
		took(&cp, func() { c, err = base.Copy(ctx, filepath.Join(parent, "copy")) })
		must(b, err)
		for i := range 10 {
			write(b, c.Dir, map[string]string{fmt.Sprintf("pkg%02d/new%d", i, i): "x"})
		}
		took(&ch, func() { _, _, err = c.Changes(ctx) })
		must(b, err, base.Close(), os.RemoveAll(plain), os.RemoveAll(parent+"/tree"))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(tree)/float64(limit), "copyTree/limit")
	b.ReportMetric(float64(mk)/float64(limit), "make/limit")
	b.ReportMetric(float64(cp)/float64(limit), "copy/limit")
	b.ReportMetric(float64(ch)/float64(walk), "changes/statwalk")
	b.ReportMetric(float64(limit.Milliseconds())/float64(b.N), "limit-ms")
	b.ReportMetric(float64(ch.Milliseconds())/float64(b.N), "changes-ms")
}
