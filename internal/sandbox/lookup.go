package sandbox

// Finding the program of a command as a shell does: in the command's own PATH, from its own directory.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/unixat"
)

// Exit codes of a program that could not be run, the same as those of a shell.
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// A missing is the exit code of a program that cannot be run, and a line with the reason.
type missing struct {
	code int
	text string
}

func (m *missing) Error() string { return m.text }

// locate checks the directory and finds the program. Its error is a *missing, or an error of the directory.
func locate(name, dir string, env []string) (string, error) {
	if info, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("directory of the command: %w", err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("directory of the command: %s is not a directory", dir)
	}
	return find(name, dir, env)
}

// Find returns the absolute path of the program that a command of this name is: name is looked up in the PATH of env, or
// taken relative to dir where it has a slash.
func Find(name, dir string, env []string) (string, error) { return find(name, dir, env) }

// find returns the absolute path of the program. Its error is a *missing.
func find(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := from(dir, name)
		if err := executable(path); err != nil {
			return "", cannotRun(name, err)
		}
		return path, nil
	}
	var refused error
	for _, folder := range filepath.SplitList(lookupEnv(env, "PATH")) {
		path := from(dir, folder) + "/" + name
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if refused == nil && !unixat.IsNotExist(err) {
			refused = cannotRun(path, err)
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", &missing{codeNotFound, fmt.Sprintf("async-pipeline: %s: command not found in PATH", name)}
}

// from returns path relative to dir. It is not cleaned, because a may be a symlink in a/.. .
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	if path == "" {
		return dir
	}
	return dir + "/" + path
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// cannotRun returns a *missing for a program that does not exist or cannot be run.
func cannotRun(name string, err error) error {
	var errno syscall.Errno
	reason := err.Error()
	if errors.As(err, &errno) {
		reason = errno.Error()
	}
	code := codeNotExecutable
	if unixat.IsNotExist(err) {
		code, reason = codeNotFound, "no such file"
	}
	return &missing{code, fmt.Sprintf("async-pipeline: %s: %s", name, reason)}
}

// notExecuted returns a *missing for a program that the kernel refused to execute.
func notExecuted(path string, err error) *missing {
	if errors.Is(err, syscall.ENOENT) {
		return &missing{codeNotFound, fmt.Sprintf("async-pipeline: %s: its interpreter does not exist", path)}
	}
	return &missing{codeNotExecutable, fmt.Sprintf("async-pipeline: %s: %v", path, err)}
}

func lookupEnv(env []string, key string) string {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			return v
		}
	}
	return ""
}
