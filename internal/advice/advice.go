// Package advice says what to do when a file cannot be written.
package advice

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// Writing adds to err which path could not be written and what a person can do about it. An error that has such
// advice already, and one for which none is known, is returned as it is.
func Writing(err error, path string) error {
	var known *writeError
	if err == nil || errors.As(err, &known) {
		return err
	}
	var what, do string
	switch {
	case Full(err):
		what, do = "there is no space left on the disk (or in your quota)", "free some (async-pipeline gc removes "+
			"what is no longer used), then try again"
	case errors.Is(err, syscall.EFBIG):
		what, do = "it would be larger than a file may be here", "raise the limit (ulimit -f), then try again"
	case errors.Is(err, syscall.EROFS):
		what, do = "the file system is read-only", "make it writable, then try again"
	case errors.Is(err, fs.ErrPermission):
		what, do = "permission denied", "make its folder writable for you (was it made by another user, or with sudo?), then try again"
	case errors.Is(err, syscall.ENAMETOOLONG):
		what, do = "the path is too long", "move the root to a shorter path"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		what, do = "too many open files", "raise the limit (ulimit -n), or run fewer tasks at a time with --concurrency"
	default:
		return err
	}
	return &writeError{path: path, what: what, do: do, err: err}
}

// NoSpace is Writing where a disk was full, and returns other errors as they are: they may be of reading.
func NoSpace(err error, path string) error {
	if !Full(err) {
		return err
	}
	return Writing(err, path)
}

// Full reports whether err says that a disk or a quota is full. It may come from a program, which only prints that.
func Full(err error) bool {
	if known := (*writeError)(nil); errors.As(err, &known) {
		err = known.err
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if err != nil && (errors.Is(err, full) || strings.Contains(strings.ToLower(err.Error()), full.Error())) {
			return true
		}
	}
	return false
}

// A writeError is advice on top of what the system said.
type writeError struct {
	path, what, do string
	err            error
}

func (e *writeError) Error() string { return "writing " + e.path + ": " + e.what + ": " + e.do }
func (e *writeError) Unwrap() error { return e.err }

// Join is errors.Join, but advice that several of the errors have is said once, with the first of them.
func Join(errs ...error) error {
	var j joinedError
	for _, err := range errs {
		if inner, ok := err.(*joinedError); ok { //nolint:errorlint // what wraps one has words of its own
			j.all = append(j.all, inner.all...)
		} else if err != nil {
			j.all = append(j.all, err)
		}
	}
	if j.all == nil {
		return nil
	}
	return &j
}

// A joinedError is what Join returns.
type joinedError struct{ all []error }

func (e *joinedError) Unwrap() []error { return e.all }

func (e *joinedError) Error() string {
	told := map[string]bool{}
	var lines []string
	for _, err := range e.all {
		text := err.Error()
		if known, ok := errors.AsType[*writeError](err); ok {
			said := ": " + known.what + ": " + known.do
			if told[said] {
				text = strings.TrimSuffix(text, said)
			}
			told[said] = true
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}
