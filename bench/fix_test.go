package bench

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkFix measures what a fix costs besides its agent and its check, which take no time here: from a failed
// verdict to the proposal. `first` is the first fix of a tree, `later` the next one. The limit is a copy of the
// tree by two workers, in the same round. TMPDIR chooses the file system; files have 20 kB.
func BenchmarkFix(b *testing.B) {
	for _, files := range []int{500, 50_000} {
		b.Run(strconv.Itoa(files), func(b *testing.B) { benchFix(b, files) })
	}
}

func benchFix(b *testing.B, files int) {
	path, top := must(program())(b), filepath.Join(b.TempDir(), "tree")
	if err := makeTree(top, files); err != nil {
		b.Fatal(err)
	}
	best := map[string]time.Duration{}
	took := func(what string, do func() error) {
		start := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		if t := time.Since(start); best[what] == 0 || t < best[what] {
			best[what] = t
		}
	}
	for b.Loop() {
		// Nothing is removed before the end: ext4 is slow while inodes were freed a short time ago.
		home := b.TempDir()
		run := func(want string, args ...string) func() error {
			return func() error {
				cmd := exec.CommandContext(b.Context(), path, append([]string{"run"}, args...)...)
				cmd.Dir, cmd.Env = top, append(os.Environ(), "CI=", "HOME="+home, "XDG_CACHE_HOME="+home)
				out, err := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), want) {
					return fmt.Errorf("%v: %w: %s", args, err, out)
				}
				return nil
			}
		}
		took("run", run("1 failed", "--no-heal"))
		took("copy", func() error { return plainCopy(top, filepath.Join(home, "copy")) })
		for _, what := range []string{"first", "later"} {
			took(what, run("Proposed fix for check: verified"))
			if err := os.RemoveAll(filepath.Join(top, ".async")); err != nil { // an open proposal would be shown instead
				b.Fatal(err)
			}
		}
	}
	for _, what := range []string{"first", "later"} {
		ours := best[what] - best["run"]
		b.ReportMetric(ours.Seconds(), what+"-s")
		b.ReportMetric(float64(ours)/float64(best["copy"]), what+"-x-copy")
	}
	b.ReportMetric(best["copy"].Seconds(), "copy-s")
	b.ReportMetric(0, "ns/op") // the whole loop is several runs: its time says nothing
}

// makeTree makes a repository with one commit, a task that fails, and an agent that repairs it at once.
func makeTree(top string, files int) error {
	r := rand.NewChaCha8([32]byte{})
	text := make([]byte, 20_000)
	for i := range files {
		dir := filepath.Join(top, fmt.Sprintf("d%02d", i/100%20), fmt.Sprintf("e%03d", i/100))
		_, _ = r.Read(text) // never fails
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d", i%100)), text, 0o600); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{".gitignore": ".async/\n", "greeting": "goodbye\n", "PIPELINE.hcl": `task "check" {
  run = ["grep", "-qx", "hello", "greeting"]
  on_fail "agent" {
    use = agent.quick
    budget {
      attempts   = 1
      wall_clock = "10m"
    }
  }
}
agent "quick" {
  command = ["sh", "-c", "cat > /dev/null; for i in 0 1 2 3 4; do echo x > d0$i/e00$i/f01; done; echo hello > greeting"]
}
`} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "gc.auto", "0"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"}, {"gc", "-q"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", top}, args...)...).CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("git %v: %w\n%s", args, err, out)
		}
	}
	return nil
}

// plainCopy copies with two workers that check nothing and keep no times. The history is copied as well, as a base
// has it.
func plainCopy(src, dst string) error {
	queue := make(chan string, 64)
	var workers sync.WaitGroup
	var once sync.Once
	var failed error
	for range 2 {
		workers.Go(func() {
			for p := range queue {
				data, err := os.ReadFile(filepath.Join(src, p))
				if err == nil {
					err = os.WriteFile(filepath.Join(dst, p), data, 0o600)
				}
				if err != nil {
					once.Do(func() { failed = err })
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
			return os.MkdirAll(filepath.Join(dst, rel), 0o700)
		}
		queue <- rel
		return nil
	})
	close(queue)
	workers.Wait()
	if err == nil {
		err = failed
	}
	return err
}
