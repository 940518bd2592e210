// Package cachedir finds the folder for kept homes, base copies and scratch copies.
package cachedir

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Dir returns the cache folder, made if need be: the first of Candidates that is this user's alone and can be written.
func Dir(env func(string) string) (string, error) {
	var last error
	for _, dir := range Candidates(env) {
		if last = use(dir); last == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no folder for scratch copies can be written (%w): set XDG_CACHE_HOME to one", last)
}

// Candidates returns the folders that Dir tries: one in the person's cache folder, else one in the folder for
// temporary files.
func Candidates(env func(string) string) []string {
	var candidates []string
	if x := env("XDG_CACHE_HOME"); filepath.IsAbs(x) {
		candidates = append(candidates, filepath.Join(x, "async-pipeline"))
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		candidates = append(candidates, filepath.Join(home, ".cache", "async-pipeline"))
	}
	tmp := env("TMPDIR")
	if !filepath.IsAbs(tmp) {
		tmp = os.TempDir()
	}
	return append(candidates, filepath.Join(tmp, "async-pipeline-"+strconv.Itoa(os.Getuid())))
}

// Existing returns all folders that Dir could have returned before and that exist, each once. Folders that others
// can write are left out. Nothing is made.
func Existing(env func(string) string) []string {
	var dirs []string
	var seen []os.FileInfo
	for _, dir := range Candidates(env) {
		info, err := os.Lstat(dir)
		if err != nil || !owned(info) || slices.ContainsFunc(seen,
			func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
			continue
		}
		dirs, seen = append(dirs, dir), append(seen, info)
	}
	return dirs
}

// owned reports whether info is a folder of this user that others cannot write.
func owned(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return info.IsDir() && ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}

// use makes dir and returns why it cannot be used: it must be a folder of this user that others cannot write, and
// take a file.
func use(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !owned(info) {
		return fmt.Errorf("%s is not a folder of yours alone", dir)
	}
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	_ = f.Close() // nothing was written
	return os.Remove(f.Name())
}
