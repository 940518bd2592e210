// Package bench measures the whole program against the limit of the machine and against other task runners, in
// turn, in the same run. `go test ./bench -bench . -benchtime 1x` prints ratios; `go test ./bench -run TestTable
// -table -timeout 30m` writes the table of BENCHMARKS.md.
package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// program is this project's, built once for all benchmarks.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "async-pipeline-bench-")
	if err != nil {
		return "", err
	}
	made = dir
	path := filepath.Join(dir, "async-pipeline")
	return path, build(path, "github.com/async-pipeline/async-pipeline/cmd/async-pipeline")
})

// hello is a Go program that does nothing but say so: what starting any Go program costs.
var hello = sync.OnceValues(func() (string, error) {
	if _, err := program(); err != nil {
		return "", err
	}
	src := filepath.Join(made, "hello.go")
	err := os.WriteFile(src, []byte("package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"hello\\n\") }\n"), 0o600)
	if err != nil {
		return "", err
	}
	path := filepath.Join(made, "hello")
	return path, build(path, src)
})

// made is the folder of what was built, removed at the end.
var made string

func TestMain(m *testing.M) {
	if os.Getenv(meterMark) != "" {
		os.Exit(meter(os.Args[1:]))
	}
	code := m.Run()
	if made != "" {
		_ = os.RemoveAll(made)
	}
	os.Exit(code)
}

func build(to, what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", to, what)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", what, err, out)
	}
	return nil
}

// A contender is one way to do a piece of work.
type contender struct {
	name string
	run  func() (cost, error)
}

// command is a contender that is a program, in a folder.
func command(name, dir string, argv ...string) contender {
	return contender{name, func() (cost, error) { return metered(dir, argv) }}
}

// race runs all contenders in turn, so that a machine that grows slow or quick does so for all, and gives the
// medians in their order. The first round is not counted.
func race(tb testing.TB, rounds int, all []contender) []cost {
	tb.Helper()
	walls, peaks := make([][]time.Duration, len(all)), make([]int64, len(all))
	for round := range rounds + 1 {
		for i, c := range all {
			got, err := c.run()
			if err != nil {
				tb.Fatalf("%s: %v", c.name, err)
			}
			if round > 0 {
				walls[i] = append(walls[i], got.Wall)
				peaks[i] = max(peaks[i], got.Peak)
			}
		}
	}
	medians := make([]cost, len(all))
	for i := range all {
		slices.Sort(walls[i])
		medians[i] = cost{walls[i][len(walls[i])/2], peaks[i]}
	}
	return medians
}

// ratio runs ours against the limit and reports how many times the limit it takes.
func ratio(b *testing.B, ours, limit contender) {
	b.Helper()
	var got []cost
	for b.Loop() {
		got = race(b, 5, []contender{ours, limit})
	}
	b.ReportMetric(float64(got[0].Wall)/float64(got[1].Wall), "x-limit")
	b.ReportMetric(float64(got[0].Wall.Microseconds())/1000, "ours-ms")
	b.ReportMetric(float64(got[1].Wall.Microseconds())/1000, "limit-ms")
	b.ReportMetric(float64(got[0].Peak)/(1<<20), "peak-MB")
	b.ReportMetric(0, "ns/op") // the whole loop is many runs: its time says nothing
}

// BenchmarkWork is each piece of work against its limit.
func BenchmarkWork(b *testing.B) {
	for _, w := range works {
		b.Run(w.name, func(b *testing.B) {
			path := must(program())(b)
			dir := b.TempDir()
			w.make(b, dir)
			ratio(b, command("async-pipeline", dir, append([]string{path}, w.ours...)...), w.limit(b, dir))
		})
	}
}

// must returns a value or ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}
