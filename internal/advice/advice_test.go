package advice

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestWriting(t *testing.T) {
	t.Parallel()
	for err, do := range map[syscall.Errno]string{
		syscall.ENOSPC: "free some (async-pipeline gc ", syscall.EROFS: "make it writable", syscall.EACCES: "make its folder writable",
		syscall.ENAMETOOLONG: "shorter path", syscall.EMFILE: "ulimit -n", syscall.EFBIG: "ulimit -f",
	} {
		got := Writing(&fs.PathError{Op: "open", Path: "/x", Err: err}, "/x/y")
		if !errors.Is(got, err) || !strings.HasPrefix(got.Error(), "writing /x/y: ") || !strings.Contains(got.Error(), do) {
			t.Errorf("%v: %v", err, got)
		}
		if again := Writing(got, "/z"); again.Error() != got.Error() {
			t.Errorf("advice on advice: %v", again)
		}
	}
	if Writing(nil, "/x") != nil || Writing(syscall.EIO, "/x").Error() != syscall.EIO.Error() {
		t.Error("nothing is said where nothing is known")
	}
}

// Full knows what programs print, and errors that have advice already; NoSpace leaves other errors alone.
func TestFull(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		syscall.ENOSPC, &fs.PathError{Op: "write", Path: "/x", Err: syscall.EDQUOT},
		errors.New("git: fatal: write error: No space left on device"),
	} {
		got := NoSpace(err, "/x/y")
		if !Full(err) || !Full(got) || !strings.HasPrefix(got.Error(), "writing /x/y: there is no space left") {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := NoSpace(syscall.EACCES, "/x"); err.Error() != syscall.EACCES.Error() || Full(err) || Full(nil) || Full(Writing(syscall.EACCES, "/x")) {
		t.Error("of another fault it is said that a disk is full", err)
	}
}

// Join gives each advice once, keeps what each error is, and the words around one that is joined already.
func TestJoin(t *testing.T) {
	t.Parallel()
	full, closed := Writing(syscall.ENOSPC, "/a"), Writing(syscall.EACCES, "/c")
	inner := Join(full, nil, fmt.Errorf("log of b: %w", Writing(syscall.ENOSPC, "/b")))
	got := Join(inner, closed, errors.New("other"), fmt.Errorf("kept: %w", inner))
	want := strings.Join([]string{full.Error(), "log of b: writing /b", closed.Error(), "other", "kept: " + full.Error() + "\nlog of b: writing /b"}, "\n")
	if got.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", got, want)
	}
	if !errors.Is(got, syscall.ENOSPC) || !errors.Is(got, syscall.EACCES) || Join(nil, nil) != nil {
		t.Error("an error is not what it was")
	}
}
