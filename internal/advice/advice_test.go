package advice

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// The command that gives records back names .async itself, as a shell takes it. Of no other folder it is said.
func TestOwnerOf(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "it's", ".async")
	name := filepath.Join(dir, "runs", "1")
	if err := os.MkdirAll(name, 0o700); err != nil {
		t.Fatal(err)
	}
	missing := &fs.PathError{Op: "open", Path: filepath.Join(name, "run.json"), Err: syscall.EACCES}
	if got := Owner(missing) + OwnerOf(name) + OwnerOf("/etc/passwd") + OwnerOf("x"); got != "" {
		t.Error(got)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	if err := os.Chown(filepath.Dir(name), 65534, -1); err != nil {
		t.Skip("there is no other user here: ", err)
	}
	want := fmt.Sprintf(`sudo chown -R 0:%d '%s'`, os.Getegid(), strings.ReplaceAll(dir, "'", `'\''`))
	written := Writing(missing, missing.Path)
	for _, got := range []string{Owner(fmt.Errorf("reading: %w", missing)), OwnerOf(name), written.Error()} {
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q at its end", got, want)
		}
	}
	missing.Err = syscall.EIO
	if got := OwnerOf(dir) + Owner(written) + Owner(missing); got != "" {
		t.Error("said of what is one's own, twice, or of another fault: ", got)
	}
}
