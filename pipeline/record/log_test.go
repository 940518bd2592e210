package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/filename"
)

func TestLog(t *testing.T) {
	t.Parallel()
	_, d := begin(t)
	var lines bytes.Buffer
	for i := 0; lines.Len() < 9<<20; i++ {
		fmt.Fprintf(&lines, "line %d %s\n", i, strings.Repeat("x", i%90))
	}
	all := lines.Bytes()
	tests := []struct {
		name  string
		size  int
		chunk int
	}{
		{"empty", 0, 1},
		{"small", 1000, 7},
		{"all it takes", logLimit, 64 << 10},
		{"one byte more", logLimit + 1, 64 << 10},
		{"round twice", 2 * logLimit, 64 << 10},
		{"many", 9 << 20, 64<<10 - 1},
		{"many at once", 9 << 20, 9 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			task := tt.name + `["x/y"]`
			l := must[*LogWriter](t)(d.Log(task))
			path := filepath.Join(d.Dir, "logs", filename.Of(task)+".log")
			in := all[:tt.size]
			for rest := in; len(rest) > 0; {
				n := min(len(rest), tt.chunk)
				if got, err := l.Write(rest[:n]); got != n || err != nil {
					t.Fatal(got, err)
				}
				rest = rest[n:]
				if so := in[:len(in)-len(rest)]; tt.chunk >= 1000 && len(so) <= logLimit { // can be read at once
					if now := must[[]byte](t)(os.ReadFile(path)); !bytes.Equal(now, so) {
						t.Fatalf("while it runs the log has %d bytes of %d", len(now), len(so))
					}
				}
			}
			got := must[Log](t)(l.Finish())
			file := must[[]byte](t)(os.ReadFile(path))
			if got.Path != "logs/"+filename.Of(task)+".log" || got.Bytes+got.LeftOutBytes != int64(tt.size) {
				t.Errorf("%+v of %d bytes", got, tt.size)
			}
			if tt.size <= logLimit && got.LeftOutBytes != 0 {
				t.Errorf("%d bytes were left out of %d", got.LeftOutBytes, tt.size)
			}
			if got.LeftOutBytes > 0 {
				mark := fmt.Sprintf("[async-pipeline: %d bytes left out here]\n", got.LeftOutBytes)
				rest, ok := bytes.CutPrefix(file, []byte(mark))
				if !ok || !regexp.MustCompile(`^line \d+ x*\n`).Match(rest) {
					t.Errorf("the log begins with %.200q", file)
				}
				file = rest
				if got.Bytes < logLimit-4096 {
					t.Errorf("only %d bytes were kept", got.Bytes)
				}
			}
			if int64(len(file)) != got.Bytes || !bytes.HasSuffix(in, file) {
				t.Errorf("the log has %d bytes, %d are recorded; or they are not the end of the output", len(file), got.Bytes)
			}
		})
	}
}

// The end of what was printed can be had while the task runs, from a ring too.
func TestLogTail(t *testing.T) {
	t.Parallel()
	_, d := begin(t)
	var all bytes.Buffer
	for i := 0; all.Len() < 2*logLimit+1000; i++ {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	for _, size := range []int{0, 10, 1000, logLimit, logLimit + 1, logLimit + 50, 2 * logLimit, 2*logLimit + 999} {
		l := must[*LogWriter](t)(d.Log("t"))
		_, _ = l.Write(all.Bytes()[:size])
		for _, most := range []int{0, 7, 100, 64 << 10, 9 << 20} {
			want := all.Bytes()[max(0, size-min(most, logLimit)):size]
			if got := must[[]byte](t)(l.Tail(int64(most))); !bytes.Equal(got, want) {
				t.Errorf("of %d bytes the last %d: %d bytes, want %d", size, most, len(got), len(want))
			}
		}
		_ = must[Log](t)(l.Finish())
		if _, err := l.Tail(1); err == nil {
			t.Error("a log that is closed has a tail")
		}
	}
}

// A second log of a task begins anew, and so does one in whose place somebody has put something: a link is not followed.
func TestLogBeginsAnew(t *testing.T) {
	t.Parallel()
	_, d := begin(t)
	path, outside := filepath.Join(d.Dir, "logs", "t.log"), filepath.Join(t.TempDir(), "outside")
	check(t, os.WriteFile(outside, []byte("mine"), 0o600))
	check(t, os.Symlink(outside, path))
	for _, text := range []string{"first, and long\n", "second\n"} {
		l := must[*LogWriter](t)(d.Log("t"))
		_, _ = l.Write([]byte(text))
		_ = must[Log](t)(l.Finish())
		if got := must[[]byte](t)(os.ReadFile(path)); string(got) != text {
			t.Errorf("the log is %q, want %q", got, text)
		}
	}
	if got := must[[]byte](t)(os.ReadFile(outside)); string(got) != "mine" {
		t.Errorf("what a link leads to was changed to %q", got)
	}
}

// A task that has printed much and goes on: the log follows it within a second or so, also when it is then silent.
func TestLogFollows(t *testing.T) {
	t.Parallel()
	_, d := begin(t)
	l := must[*LogWriter](t)(d.Log("t"))
	path := filepath.Join(d.Dir, "logs", "t.log")
	_, _ = l.Write(bytes.Repeat([]byte("much\n"), 1<<20))
	if got := must[[]byte](t)(os.ReadFile(path)); len(got) < logLimit {
		t.Errorf("the log has %d bytes", len(got))
	}
	_, _ = l.Write([]byte("and now it waits\n"))
	deadline := time.Now().Add(2 * time.Minute)
	for !bytes.HasSuffix(must[[]byte](t)(os.ReadFile(path)), []byte("and now it waits\n")) {
		if time.Now().After(deadline) {
			t.Fatal("the last line never came")
		}
		time.Sleep(20 * time.Millisecond)
	}
	_, _ = l.Write([]byte("end\n"))
	_ = must[Log](t)(l.Finish())
	if got := must[[]byte](t)(os.ReadFile(path)); !bytes.HasSuffix(got, []byte("waits\nend\n")) {
		t.Error("the end is missing")
	}
	if entries := must[[]os.DirEntry](t)(os.ReadDir(filepath.Dir(path))); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestLogSurvives(t *testing.T) {
	t.Parallel()
	_, d := begin(t)
	l := must[*LogWriter](t)(d.Log("t"))
	check(t, os.RemoveAll(filepath.Join(d.Dir, "logs")))
	chunk := make([]byte, 1<<20)
	for range 9 { // the task goes on
		if n, err := l.Write(chunk); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
	}
	got, err := l.Finish()
	if err == nil || !strings.Contains(err.Error(), "its folder is gone") || got.Bytes+got.LeftOutBytes != 9<<20 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Whatever a task prints, the log takes no memory that grows with it.
func TestLogMemory(t *testing.T) {
	_, d := begin(t)
	l := must[*LogWriter](t)(d.Log("t"))
	chunk := bytes.Repeat([]byte("a line of output\n"), 4000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3000 { // 200 MB
		_, _ = l.Write(chunk)
	}
	got := must[Log](t)(l.Finish())
	runtime.ReadMemStats(&after)
	// TotalAlloc counts all that was ever allocated: no garbage collection can hide anything.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("200 MB of output allocated %d bytes", grown)
	}
	if got.Bytes > logLimit {
		t.Errorf("%d bytes on disk", got.Bytes)
	}
}

func BenchmarkLog(b *testing.B) {
	_, d := begin(b)
	l := must[*LogWriter](b)(d.Log("t"))
	chunk := bytes.Repeat([]byte("a line of output\n"), 4000)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		_, _ = l.Write(chunk)
	}
	_ = must[Log](b)(l.Finish())
}
