package recordfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	large := bytes.Repeat([]byte("0123456789"), 100_000)
	check(t, os.WriteFile(at("file"), large, 0o600), os.WriteFile(at("empty"), nil, 0o600), os.Symlink("file", at("link")),
		syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700))
	for name, want := range map[string]string{
		"file": "", "empty": "", "link": "link is a symbolic link", "pipe": "pipe is not a regular file", "folder": "folder is not a regular file", "none": "no such file",
	} {
		b, err := Read(at(name), int64(len(large)))
		switch {
		case want == "" && (err != nil || name == "file" && !bytes.Equal(b, large) || name == "empty" && len(b) > 0):
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := Read(at("file"), 10); err == nil || !strings.Contains(err.Error(), "more than the 10 that are read") {
		t.Errorf("a file that is too large: %v", err)
	}
	if b, err := Read("/proc/self/stat", 1<<20); err == nil && len(b) == 0 { // its size is 0
		t.Error("a file whose size is not known is not read")
	}
}

func TestLinkSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.WriteFile(at("file"), []byte("same"), 0o600), os.WriteFile(at("empty"), nil, 0o600), os.Symlink("file", at("link")),
		syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700))
	for _, row := range []struct {
		old, data string
		want      bool
	}{
		{"file", "same", true},
		{"file", "sane", false},
		{"file", "same ", false},
		{"file", "sam", false},
		{"file", "", false},
		{"empty", "", true},
		{"empty", "x", false},
		{"link", "same", false},
		{"pipe", "", false},
		{"folder", "", false},
		{"none", "", false},
	} {
		to := at("to")
		if got := LinkSame(at(row.old), to, []byte(row.data)); got != row.want || got != Exists(to) {
			t.Errorf("%s with %q: %v, there is a file: %v", row.old, row.data, got, Exists(to))
		}
		_ = os.Remove(to)
	}
	if LinkSame(at("file"), at("empty"), []byte("same")) {
		t.Error("a file in the way is replaced")
	}
}
