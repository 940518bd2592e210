package detect_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

func mkfifo(t *testing.T, file string) {
	t.Helper()
	check(t, unix.Mkfifo(file, 0o600))
}
