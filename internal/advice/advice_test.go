package advice

import (
	"errors"
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
