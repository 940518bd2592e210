package recordfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// CanSyncAll reports whether SyncAll syncs many files at once on this system.
const CanSyncAll = true

// SyncAll writes all that is not on the disk yet of the file system that dir is on. One call takes as long as it takes
// to write that, where a Sync of each file waits for the disk each time.
func SyncAll(dir *os.File) error {
	return os.NewSyscallError("syncfs", unix.Syncfs(int(dir.Fd())))
}
