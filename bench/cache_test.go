package bench

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkCache measures what the cache costs, each row against a limit of the same round. TMPDIR chooses the file
// system.
//
//	warm      everything is cached; the limit stats the tree with two workers, and reads PIPELINE.hcl with hclsyntax
//	changed   one file changed, and its task ran again; the limit is a warm run
//	first     nothing is known; the limit is the same run without the cache, and sha256 of all by two workers
//	restore   the outputs were deleted; the limit copies them with two workers
func BenchmarkCache(b *testing.B) {
	b.Run("tasks=1000/files=10000", func(b *testing.B) { benchHits(b, 1000, 10, 200) })
	b.Run("tasks=200/files=50000", func(b *testing.B) { benchHits(b, 200, 250, 20_000) })
	b.Run("tasks=1/files=50000", func(b *testing.B) { benchHits(b, 1, 50_000, 20_000) })
	b.Run("restore/files=10000", func(b *testing.B) { benchRestore(b, 10_000, 100_000) })
}

// A cacheBench is one project and its best times.
type cacheBench struct {
	*testing.B
	path, top string
	best      map[string]cost
}

func newCacheBench(b *testing.B) *cacheBench {
	return &cacheBench{B: b, path: must(program())(b), top: filepath.Join(b.TempDir(), "tree"), best: map[string]cost{}}
}

func (c *cacheBench) keep(what string, got cost) {
	if old, ok := c.best[what]; !ok || got.Wall < old.Wall {
		c.best[what] = got
	}
}

// run runs the pipeline and wants a line in what it prints.
func (c *cacheBench) run(what, want string, args ...string) {
	c.Helper()
	const shell = `out=$("$@") && case $out in *"$want"*) ;; *) echo "$out" >&2; exit 1 ;; esac`
	took, err := metered(c.top, append([]string{"sh", "-c", shell, "sh", "env", "CI=", c.path, "run"}, args...), "want="+want)
	if err != nil {
		c.Fatalf("%s: %v", what, err)
	}
	c.keep(what, took)
}

func (c *cacheBench) took(what string, do func() error) {
	c.Helper()
	start := time.Now()
	if err := do(); err != nil {
		c.Fatalf("%s: %v", what, err)
	}
	c.keep(what, cost{Wall: time.Since(start)})
}

// report says how many times the limit a row takes.
func (c *cacheBench) report(what, limit string) {
	c.ReportMetric(float64(c.best[what].Wall)/float64(c.best[limit].Wall), what+"-x-"+limit)
	c.ReportMetric(c.best[what].Wall.Seconds()*1000, what+"-ms")
	c.ReportMetric(float64(c.best[what].Peak)/(1<<20), what+"-MB")
}

func (c *cacheBench) write(name string, text []byte) {
	c.Helper()
	at := filepath.Join(c.top, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(at, text, 0o600); err != nil {
		c.Fatal(err)
	}
}

// repository makes the project a repository that ignores what is made.
func (c *cacheBench) repository() {
	c.Helper()
	c.write(".gitignore", []byte(".async/\nout/\n"))
	if out, err := exec.CommandContext(c.Context(), "git", "-C", c.top, "init", "-q").CombinedOutput(); err != nil {
		c.Fatalf("git init: %v\n%s", err, out)
	}
}

func benchHits(b *testing.B, tasks, files, size int) {
	c := newCacheBench(b)
	r := rand.NewChaCha8([32]byte{})
	text := make([]byte, size)
	var hcl strings.Builder
	for t := range tasks {
		for i := range files {
			_, _ = r.Read(text) // never fails
			c.write(fmt.Sprintf("t%04d/d%03d/f%02d", t, i/100, i%100), text)
		}
		fmt.Fprintf(&hcl, "task \"t%04d\" {\n  run    = [\"true\"]\n  inputs = [\"t%04d/**\"]\n}\n", t, t)
	}
	c.write("PIPELINE.hcl", []byte(hcl.String()))
	c.repository()
	all := fmt.Sprint(tasks, " cached")
	for b.Loop() {
		for range 3 {
			// Renamed and not removed: ext4 makes files slowly while inodes were freed a short time ago.
			if err := os.Rename(filepath.Join(c.top, ".async"), filepath.Join(b.TempDir(), "old")); err != nil && !os.IsNotExist(err) {
				b.Fatal(err)
			}
			c.run("uncached", fmt.Sprint(tasks, " passed"), "--no-cache")
			c.took("sha256", func() error { return hashAll(c.top) })
			c.run("first", fmt.Sprint(tasks, " passed"))
			c.run("warm", all)
			c.took("limit", func() error { return errors.Join(statAll(c.top), decode([]byte(hcl.String()))) })
			c.run("warm", all)
			_, _ = r.Read(text[:8])
			c.write("t0000/d000/f00", text)
			if tasks == 1 {
				c.run("changed", "1 passed")
			} else {
				c.run("changed", fmt.Sprintf("1 passed, %d cached", tasks-1))
			}
		}
	}
	c.report("warm", "limit")
	c.report("changed", "warm")
	c.report("first", "uncached")
	ours := c.best["first"].Wall - c.best["uncached"].Wall
	c.ReportMetric(float64(ours)/float64(c.best["sha256"].Wall), "hash-x-sha256")
	c.ReportMetric(c.best["limit"].Wall.Seconds()*1000, "limit-ms")
	c.ReportMetric(0, "ns/op") // the whole loop is many runs: its time says nothing
}

func benchRestore(b *testing.B, files, size int) {
	c := newCacheBench(b)
	r := rand.NewChaCha8([32]byte{})
	text := make([]byte, size)
	for i := range files {
		_, _ = r.Read(text) // never fails
		c.write(fmt.Sprintf("src/d%03d/f%02d", i/100, i%100), text)
	}
	c.write("PIPELINE.hcl", []byte("task \"copy\" {\n  run     = [\"cp\", \"-r\", \"src\", \"out\"]\n  inputs  = [\"src/**\"]\n  outputs = [\"out/**\"]\n}\n"))
	c.repository()
	c.run("first", "1 passed")
	for b.Loop() {
		for n := range 3 {
			if err := os.Rename(filepath.Join(c.top, "out"), filepath.Join(b.TempDir(), "old")); err != nil {
				b.Fatal(err)
			}
			c.run("restore", "1 cached")
			c.took("copy", func() error { return plainCopy(filepath.Join(c.top, "src"), filepath.Join(b.TempDir(), fmt.Sprint(n))) })
		}
	}
	c.report("restore", "copy")
	c.ReportMetric(c.best["copy"].Wall.Seconds()*1000, "copy-ms")
	c.ReportMetric(0, "ns/op") // the whole loop is many runs: its time says nothing
}

// statAll stats every file with two workers that take the folders in turn.
func statAll(root string) error {
	return eachFolder(root, func(dir string, d fs.DirEntry) error {
		_, err := d.Info()
		return err
	})
}

// hashAll reads every file once, with two workers.
func hashAll(root string) error {
	return eachFolder(root, func(dir string, d fs.DirEntry) error {
		if !d.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(filepath.Join(dir, d.Name()))
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		_, err = io.Copy(sha256.New(), f)
		return err
	})
}

// eachFolder calls do for each entry, in two goroutines, except what begins with a dot: .git, .async, and what the peers write.
func eachFolder(root string, do func(dir string, d fs.DirEntry) error) error {
	dirs := make(chan string, 1_000_000)
	var open atomic.Int64
	open.Store(1)
	dirs <- root
	var workers sync.WaitGroup
	var once sync.Once
	var failed error
	for range 2 {
		workers.Go(func() {
			for dir := range dirs {
				list, err := os.ReadDir(dir)
				for _, d := range list {
					if strings.HasPrefix(d.Name(), ".") {
						continue
					}
					if d.IsDir() {
						open.Add(1)
						dirs <- filepath.Join(dir, d.Name())
					}
					if err == nil {
						err = do(dir, d)
					}
				}
				if err != nil {
					once.Do(func() { failed = err })
				}
				if open.Add(-1) == 0 {
					close(dirs)
				}
			}
		})
	}
	workers.Wait()
	return failed
}
