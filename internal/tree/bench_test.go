package tree

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkWalk measures a first walk and a walk with Known; the limit, measured in the same run, is two workers
// that only stat.
func BenchmarkWalk(b *testing.B) {
	root := b.TempDir()
	for i := range 5000 {
		put(b, root, "d"+strconv.Itoa(i/100)+"/s"+strconv.Itoa(i%7)+"/f"+strconv.Itoa(i)+"="+strings.Repeat("line\n", i%400))
	}
	time.Sleep(50 * time.Millisecond)
	known := mustWalk(b, root, Options{})
	for _, bench := range []struct {
		name string
		o    Options
	}{{"first", Options{}}, {"known", Options{Known: known}}} {
		b.Run(bench.name, func(b *testing.B) {
			var ours, limit time.Duration
			for b.Loop() {
				start := time.Now()
				statWalk(b, root)
				limit += time.Since(start)
				start = time.Now()
				if m := mustWalk(b, root, bench.o); len(m.Entries) < 5000 {
					b.Fatal(len(m.Entries))
				}
				ours += time.Since(start)
			}
			b.ReportMetric(float64(ours)/float64(limit), "×stat-walk")
		})
	}
}

// statWalk is the limit: two goroutines take the folders in turn and lstat everything.
func statWalk(b *testing.B, root string) {
	dirs := make(chan string, 100_000)
	var open atomic.Int64
	open.Store(1)
	dirs <- root
	done := make(chan struct{})
	for range 2 {
		go func() {
			defer func() { done <- struct{}{} }()
			for dir := range dirs {
				list, err := os.ReadDir(dir)
				if err != nil {
					b.Error(err)
				}
				for _, d := range list {
					if _, err := d.Info(); err != nil {
						b.Error(err)
					}
					if d.IsDir() {
						open.Add(1)
						dirs <- dir + "/" + d.Name()
					}
				}
				if open.Add(-1) == 0 {
					close(dirs)
				}
			}
		}()
	}
	<-done
	<-done
}

// BenchmarkRecall measures how a stored walk is written and read; the limit is its checksum.
func BenchmarkRecall(b *testing.B) {
	m := &Manifest{}
	for i := range 50_000 {
		m.Entries = append(m.Entries, Entry{
			Path: fmt.Sprintf("src/package%04d/file%05d.go", i/50, i), Mode: 0o644, Size: int64(i), Digest: "sha256:" + strings.Repeat("0", 64),
		})
		m.facts = append(m.facts, fact{Dev: 1, Ino: uint64(i), Size: int64(i), Mtime: int64(i) << 30, Ctime: int64(i) << 30})
	}
	var write, read, limit time.Duration
	for b.Loop() {
		var stored bytes.Buffer
		start := time.Now()
		must(b, m.Save(&stored, "/root", "boot", func(string) bool { return false }))
		write += time.Since(start)
		start = time.Now()
		checksum(stored.Bytes())
		limit += time.Since(start)
		start = time.Now()
		if got, err := Recall(stored.Bytes(), "/root", "boot"); err != nil || len(got.Entries) != len(m.Entries) {
			b.Fatal(err)
		}
		read += time.Since(start)
	}
	b.ReportMetric(float64(write)/float64(limit), "write-×checksum")
	b.ReportMetric(float64(read)/float64(limit), "read-×checksum")
}
