package hclfile_test

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// The error about a file that may not be read names it, and says what to do.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	path := project(t, "", map[string]string{})
	check(t, os.Chmod(path, 0))
	const nobody = 65534
	loaded := make(chan error)
	changed := true
	go func() {
		if os.Getuid() == 0 { // root may read everything: this thread, which ends with the goroutine, may not
			runtime.LockOSThread()
			_ = unix.Setfsuid(nobody) // it tells of no error
			now, _ := unix.SetfsuidRetUid(nobody)
			changed = now == nobody
		}
		_, err := hclfile.Load(path, hclfile.Options{})
		loaded <- err
	}()
	err := <-loaded
	if !changed {
		t.Skip("root cannot take another user id here")
	}
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path+" may not be read") || !strings.Contains(err.Error(), "change its permissions") {
		t.Error(err)
	}
}
