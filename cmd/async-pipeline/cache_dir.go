package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// cacheDir is the folder for kept homes and scratch copies: the person's cache folder, else one in the folder for
// temporary files that belongs to this user and to nobody else.
func (h *hall) cacheDir() (string, error) {
	var last error
	for _, dir := range h.cacheCandidates() {
		if last = ownFolder(dir); last == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no folder for scratch copies can be written (%w): set XDG_CACHE_HOME to one", last)
}

// cacheCandidates are the folders that cacheDir tries, in its order.
func (h *hall) cacheCandidates() []string {
	var candidates []string
	if x := h.env("XDG_CACHE_HOME"); filepath.IsAbs(x) {
		candidates = append(candidates, filepath.Join(x, "async-pipeline"))
	}
	if home := h.env("HOME"); filepath.IsAbs(home) {
		candidates = append(candidates, filepath.Join(home, ".cache", "async-pipeline"))
	}
	tmp := h.env("TMPDIR")
	if !filepath.IsAbs(tmp) {
		tmp = os.TempDir()
	}
	return append(candidates, filepath.Join(tmp, "async-pipeline-"+strconv.Itoa(os.Getuid())))
}

// cacheSeen is the folder that cacheDir would give if it is there already; empty where there is none. Nothing is made.
func (h *hall) cacheSeen() string {
	for _, dir := range h.cachesSeen() {
		return dir
	}
	return ""
}

// cachesSeen are all folders that cacheDir could have given and that are there, each once. What others can write, or made
// under a name of ours, is none of them.
func (h *hall) cachesSeen() []string {
	var dirs []string
	var seen []os.FileInfo
	for _, dir := range h.cacheCandidates() {
		info, err := os.Lstat(dir)
		if err != nil || !ownedFolder(info) || slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
			continue
		}
		dirs, seen = append(dirs, dir), append(seen, info)
	}
	return dirs
}

// ownedFolder says whether info is a folder of this user that others cannot write.
func ownedFolder(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return info.IsDir() && ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}

// ownFolder makes dir and says whether it can be used: a folder of this user that others cannot write, in which a file can be made.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !ownedFolder(info) {
		return fmt.Errorf("%s is not a folder of yours alone", dir)
	}
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	_ = f.Close() // nothing was written
	return os.Remove(f.Name())
}
