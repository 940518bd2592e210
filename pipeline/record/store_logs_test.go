package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log that is read while it grows, is made anew, and is written over, gives every byte once and in order, and says how many
// it could not give.
func TestReadLogWhileItGrows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, "logs"), 0o700))
	w := must[*LogWriter](t)(openLog(dir, "t"))
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
