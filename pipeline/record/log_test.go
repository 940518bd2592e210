package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
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
			l := d.Log(task)
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
		l := d.Log("t")
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

// A second log of a task begins anew, and so does one in whose place somebody has put something: a link is not
// followed.
func TestLogBeginsAnew(t *testing.T) {
	t.Parallel()
	_, d := begin(t)
	path, outside := filepath.Join(d.Dir, "logs", "t.log"), filepath.Join(t.TempDir(), "outside")
	check(t, os.WriteFile(outside, []byte("mine"), 0o600))
	check(t, os.Symlink(outside, path))
	for _, text := range []string{"first, and long\n", "second\n"} {
		l := d.Log("t")
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
	l := d.Log("t")
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
	chunk := make([]byte, 1<<20)
	for _, before := range []int{0, 1} { // what it printed before its folder was removed
		_, d := begin(t)
		l := d.Log("t")
		_, _ = l.Write(chunk[:before])
		check(t, os.RemoveAll(filepath.Join(d.Dir, "logs")))
		for range 9 { // the task goes on
			if n, err := l.Write(chunk); n != len(chunk) || err != nil {
				t.Fatal(n, err)
			}
		}
		got, err := l.Finish()
		if err == nil || !strings.Contains(err.Error(), "its folder is gone") || got.Bytes+got.LeftOutBytes != int64(9<<20+before) || got.Digest != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// Whatever a task prints, the log takes no memory that grows with it.
func TestLogMemory(t *testing.T) {
	_, d := begin(t)
	l := d.Log("t")
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
	l := d.Log("t")
	chunk := bytes.Repeat([]byte("a line of output\n"), 4000)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		_, _ = l.Write(chunk)
	}
	_ = must[Log](b)(l.Finish())
}

// A log that is read while it grows, is made anew, and is written over, gives every byte once and in order, and
// says how many it could not give.
func TestReadLogWhileItGrows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "logs"), 0o700))
	w := newLog(dir, func() string { return "" }, "t")
	r := ReadLog(dir, "t")
	var got, all bytes.Buffer
	next := func() {
		t.Helper()
		check(t, r.Next(&got))
	}
	line := func(i int) []byte { return fmt.Appendf(nil, "line %07d %s\n", i, strings.Repeat("x", 84)) }
	for i := range 80_000 { // some 8 MB
		b := line(i)
		all.Write(b)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if i%9_000 == 0 || i == 41_000 {
			w.mu.Lock()
			if w.ring {
				if err := w.publish(); err != nil {
					t.Error(err)
				}
			}
			w.mu.Unlock()
			next()
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	next()
	next()
	if !bytes.Equal(got.Bytes(), all.Bytes()) {
		t.Fatalf("%d bytes, want %d; the first difference is at %d", got.Len(), all.Len(), differ(got.Bytes(), all.Bytes()))
	}

	// Who comes late is told how much is missing, and gets the rest.
	var late bytes.Buffer
	check(t, ReadLog(dir, "t").Next(&late))
	var missing int
	first, rest, _ := bytes.Cut(late.Bytes(), []byte("\n"))
	if _, err := fmt.Sscanf(string(first)+"\n", cutMark, &missing); err != nil || !bytes.Equal(rest, all.Bytes()[missing:]) {
		t.Errorf("first %q, %d bytes of %d, %v", first, len(rest), all.Len()-missing, err)
	}

	// The last lines of it are those of the whole.
	tail := ReadLog(dir, "t")
	check(t, tail.Skip(3))
	var last bytes.Buffer
	if err := tail.Next(&last); err != nil || last.String() != string(line(79_997))+string(line(79_998))+string(line(79_999)) {
		t.Errorf("the last three lines: %q, %v", last.String(), err)
	}
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestReadLogSkip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "logs"), 0o700))
	long := strings.Repeat("y", 200_000)
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc", 2, "b\nc"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"a\nb\nc\n", 0, ""},
		{"", 3, ""},
		{"\n\n\n", 1, "\n"},
		{"a\n" + long + "\nb\n", 2, long + "\nb\n"},
		{"[async-pipeline: 7 bytes left out here]\nsays the task\n", 2, "[async-pipeline: 7 bytes left out here]\nsays the task\n"},
	} {
		check(t, os.WriteFile(filepath.Join(dir, "logs", "t.log"), []byte(tt.text), 0o600))
		r := ReadLog(dir, "t")
		var got bytes.Buffer
		if err := errors.Join(r.Skip(tt.n), r.Next(&got)); err != nil || got.String() != tt.want {
			t.Errorf("the last %d lines of %.20q: %.40q, %v", tt.n, tt.text, got.String(), err)
		}
	}
}

// Neither a link in the place of a log nor one in the place of its folder is read, and a pipe is not waited for.
func TestReadLogLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	check(t, os.WriteFile(filepath.Join(outside, "t.log"), []byte("outside"), 0o600))
	dir := t.TempDir()
	if _, err := ReadLog(dir, "t").Size(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	check(t, os.Symlink(outside, filepath.Join(dir, "logs")))
	var got bytes.Buffer
	if err := ReadLog(dir, "t").Next(&got); err == nil || got.Len() > 0 || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a linked folder: %q, %v", got.String(), err)
	}
	check(t, os.Remove(filepath.Join(dir, "logs")))
	check(t, os.Mkdir(filepath.Join(dir, "logs"), 0o700))
	check(t, os.Symlink(filepath.Join(outside, "t.log"), filepath.Join(dir, "logs", "t.log")))
	if err := ReadLog(dir, "t").Next(&got); err == nil || got.Len() > 0 {
		t.Errorf("a linked log: %q, %v", got.String(), err)
	}
}
