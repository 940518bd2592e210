package unixat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReads(t *testing.T) {
	t.Parallel()
	top, text := t.TempDir(), strings.Repeat("0123456789", 100)
	err := errors.Join(os.WriteFile(filepath.Join(top, "file"), []byte(text), 0o600), os.Symlink(text[:256], filepath.Join(top, "link")))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := Open(unix.AT_FDCWD, top, unix.O_DIRECTORY)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(dir) }()
	if got, err := Readlink(dir, "link"); got != text[:256] || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Open(dir, "link", 0); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link was followed: %v", err)
	}
	var st unix.Stat_t
	if err := Stat(dir, "link", &st); err != nil || st.Size != 256 {
		t.Errorf("%d bytes, %v", st.Size, err)
	}
	fd, err := Open(dir, "file", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, 2000)
	if n, err := Read(fd, b); err != nil || string(b[:n]) != text {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := Read(fd, b); n != 0 || err != nil {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
}

func TestIsNotExist(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{file: false, file + "s": true, filepath.Join(file, "below"): true, strings.Repeat("a", 300): false} {
		_, err := os.Lstat(path)
		if got := IsNotExist(err); got != want {
			t.Errorf("%q: %t for %v", path, got, err)
		}
	}
}
