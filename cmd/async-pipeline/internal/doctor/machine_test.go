package doctor

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A file system is full without room or without inodes; some count neither.
func TestLacksRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fs   unix.Statfs_t
		want string
	}{
		{unix.Statfs_t{}, ""},
		{unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19}, ""},
		{unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19, Files: 9, Ffree: 1}, ""},
		{unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19, Files: 9}, "no inode is free"},
		{unix.Statfs_t{Bsize: 1024, Blocks: 1 << 20, Bavail: 2, Files: 9, Ffree: 1}, "only 2048 bytes are free"},
	} {
		if got := lacksRoom(&c.fs); got != c.want {
			t.Errorf("%+v: %q, want %q", c.fs, got, c.want)
		}
	}
}
