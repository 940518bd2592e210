//go:build !linux

package recordfile

import (
	"errors"
	"os"
)

// CanSyncAll reports whether SyncAll syncs many files at once on this system.
const CanSyncAll = false

// SyncAll is errors.ErrUnsupported.
func SyncAll(*os.File) error { return errors.ErrUnsupported }
