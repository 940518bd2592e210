// Where the kernel's own ways of copying are not used.

//go:build !linux

package scratch

import "errors"

func clone(int, int) bool { return false }

func kernelCopy(int, int, int64) (bool, error) { return false, nil }

func whiteout(int, string) error { return errors.ErrUnsupported }
