// Where the kernel's own ways of copying are not used.

//go:build !linux

package scratch

import (
	"context"
	"errors"
)

func clone(int, int) bool { return false }

func kernelCopy(context.Context, int, int, int64) (bool, error) { return false, nil }

func whiteout(int, string) error { return errors.ErrUnsupported }
