// Package advice says what to do when a file cannot be written, or when records belong to another user.
package advice

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		if owner := OwnerOf(path); owner != "" {
			do = owner
		}
	case errors.Is(err, syscall.ENAMETOOLONG):
		what, do = "the path is too long", "move the root to a shorter path"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		what, do = "too many open files", "raise the limit (ulimit -n), or run fewer tasks at a time with --concurrency"
	default:
		return err
	}
	return &writeError{path: path, what: what, do: do, err: err}
}

// Owner returns OwnerOf for the path that err is about where permission was denied, else "". For an error that has
// advice already it returns "".
func Owner(err error) string {
	known, at := (*writeError)(nil), (*fs.PathError)(nil)
	if !errors.Is(err, fs.ErrPermission) || errors.As(err, &known) || !errors.As(err, &at) {
		return ""
	}
	return OwnerOf(at.Path)
}

// OwnerOf returns what a person can do where path is in a folder .async, and path or a folder on the way to it
// belongs to another user, else "". A run with sudo leaves such folders. No other folder is ours to give away.
func OwnerOf(path string) string {
	others := false
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		var st syscall.Stat_t
		others = others || syscall.Lstat(at, &st) == nil && int(st.Uid) != os.Geteuid()
		if filepath.Base(at) == ".async" && others {
			return fmt.Sprintf("%s is another user's, or files in it are (was async-pipeline run with sudo?); this makes them yours: "+
				"sudo chown -R %d:%d %s", at, os.Geteuid(), os.Getegid(), quote(at))
		}
	}
	return ""
}

// quote returns a path as it is typed in a shell.
func quote(path string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@"
	if strings.Trim(path, bare) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
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
