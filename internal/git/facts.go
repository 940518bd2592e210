package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Facts are what Head and Dirty of a work tree say.
type Facts struct {
	Commit string // empty before the first
	Branch string // empty when detached, and before the first commit
	Dirty  bool   // some path differs from HEAD
}

// errUnclear means that a short question is not enough.
var errUnclear = errors.New("not clear from one question")

// FactsOf returns the facts of the work tree that root is in. It asks git one question, one more where filters may be
// configured, as in linked work trees, and one more below the top; Of, Head and Dirty ask twelve. An error means only that
// those must be asked: there may be no work tree, it may ignore root, or what differs may be the work of a filter.
func FactsOf(ctx context.Context, root string) (Facts, error) {
	top, below, err := topAbove(root)
	if err != nil {
		return Facts{}, err
	}
	dir, common, err := Folders(top)
	if err != nil || !plain(common) {
		return Facts{}, errUnclear
	}
	program, err := lookup()
	if err != nil {
		return Facts{}, err
	}
	// where .git is no repository, git looks no further up
	above := []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(top)}
	var off []setting
	if systemWide(program) && dir == common && isSilent(dir, "filter") {
		above = append(above, "GIT_CONFIG_SYSTEM="+systemConfig) // what isSilent has read
	} else if off, err = probe(ctx, program, top, above); err != nil {
		return Facts{}, err
	}
	if below != "" { // see ignoresFolder
		_, err := call{dir: top, env: above, args: []string{"check-ignore", "-q", "--", "./" + below}}.runProgram(ctx, program)
		if exitCode(err) != 1 {
			return Facts{}, errUnclear
		}
	}
	out, err := call{dir: top, env: above, config: off, timeout: long, args: []string{
		"status", "-z", "--porcelain=v2", "--branch", "--no-ahead-behind", "--no-renames", "--untracked-files=normal",
		"--ignore-submodules=dirty",
	}}.runProgram(ctx, program)
	if err != nil {
		return Facts{}, err
	}
	return parseStatus(out, dir, len(off) > 0)
}

// topAbove returns the nearest folder with a .git, from root upwards, as git looks for it: by the real path, and in one
// file system. below is the path of root in it, empty for the folder itself. A folder on the way that looks like a
// repository without a work tree is an error.
func topAbove(root string) (top, below string, err error) {
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		return root, "", nil
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", "", err
	}
	var device uint64
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return "", "", err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return "", "", errUnclear
		}
		of := uint64(st.Dev) //nolint:unconvert // on macOS it is an int32
		if at != real && of != device {
			return "", "", errUnclear
		}
		device = of
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			below, err = filepath.Rel(at, real)
			return at, below, err
		}
		if _, err := os.Lstat(filepath.Join(at, "HEAD")); err == nil || at == filepath.Dir(at) {
			return "", "", errUnclear
		}
	}
}

// Folders returns the folder of git of the work tree whose top is given and, where that is a linked work tree, the one that
// it shares with the others; else the same twice. It reads files only.
func Folders(top string) (dir, common string, err error) {
	dir = filepath.Join(top, ".git")
	info, err := os.Lstat(dir)
	if err != nil || info.IsDir() {
		return dir, dir, err
	}
	named := func(file, prefix, base string) (string, error) {
		text, err := ReadRegular(file)
		if err != nil {
			return "", err
		}
		path, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), prefix)
		if !ok || path == "" || strings.Contains(path, "\n") {
			return "", errUnclear
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		return path, nil
	}
	if dir, err = named(dir, "gitdir: ", top); err != nil {
		return "", "", err
	}
	common, err = named(filepath.Join(dir, "commondir"), "", dir)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, dir, nil
	}
	return dir, common, err
}

// ReadRegular reads a file, also behind a link, of at most 16 MiB, and nothing that could make it wait, as a pipe.
func ReadRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errUnclear, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err == nil && len(text) > longest {
		err = errUnclear
	}
	return text, err
}

const longest = 16 << 20 // bytes

// plain reports whether a folder of git has no configuration that puts the top of the work tree elsewhere, or that
// belongs to one work tree.
func plain(dir string) bool {
	config, err := ReadRegular(filepath.Join(dir, "config"))
	return err == nil && !bytes.Contains(bytes.ToLower(config), []byte("worktree"))
}

// systemConfig is the configuration of all users, as Linux distributions build their git.
const systemConfig = "/etc/gitconfig"

// systemWide reports whether program is the git of a Linux distribution, which reads systemConfig.
func systemWide(program string) bool {
	real, err := filepath.EvalSymlinks(program)
	return runtime.GOOS == "linux" && err == nil && real == "/usr/bin/git"
}

// ExcludesFileOf returns what ExcludesFile does for the work tree that root is in. Where no file of configuration speaks of
// it, git is not asked.
func ExcludesFileOf(ctx context.Context, root string) (string, error) {
	if top, _, err := topAbove(root); err == nil {
		dir, common, err := Folders(top)
		if program, missing := lookup(); err == nil && missing == nil && dir == common && plain(dir) && systemWide(program) &&
			isSilent(dir, "excludesfile") {
			return "", nil
		}
	}
	repo, err := Find(ctx, root)
	if err != nil {
		return "", err
	}
	return repo.ExcludesFile(ctx)
}

// isSilent reports whether no file of configuration that such a git reads has a word, which is lower case, or includes
// another. dir is the folder of git. It looks for the words only, so they may mean something else.
func isSilent(dir, word string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); !errors.Is(err, fs.ErrNotExist) {
		return false // part of the configuration may be there
	}
	files := []string{systemConfig, filepath.Join(dir, "config")} // plain knows that there is no config.worktree
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	if config := configHome(); config != "" {
		files = append(files, filepath.Join(config, "git", "config"))
	}
	for _, file := range files {
		text, err := ReadRegular(file)
		text = bytes.ToLower(text)
		if err != nil && !errors.Is(err, fs.ErrNotExist) ||
			bytes.Contains(text, []byte(word)) || bytes.Contains(text, []byte("include")) {
			return false
		}
	}
	return true
}

// probe returns the settings that switch off all filters. It fails with a git that ignores such settings (before
// 2.31), which it finds out by a filter of its own. So the version need not be asked.
func probe(ctx context.Context, program, dir string, env []string) ([]setting, error) {
	const own = "filter.async-pipeline-probe.clean"
	out, err := call{dir: dir, env: env, config: []setting{{own, ""}}, args: filterNames}.runProgram(ctx, program)
	if err != nil {
		return nil, err
	}
	names := split(out)
	at := slices.Index(names, own)
	if at < 0 {
		return nil, fmt.Errorf("%s: %w", program, errUnclear)
	}
	return switchedOff(slices.Delete(names, at, at+1)), nil
}

// parseStatus reads what git status printed. dir is the folder of git. filters means that some are configured. They were
// switched off, so a file that seems to be changed may not be.
func parseStatus(out []byte, dir string, filters bool) (f Facts, err error) {
	unclear := false
	for _, line := range split(out) {
		oid, isOID := strings.CutPrefix(line, "# branch.oid ")
		head, isHead := strings.CutPrefix(line, "# branch.head ")
		switch {
		case isOID:
			f.Commit = oid
		case isHead:
			f.Branch = head
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "? ") && isOurs(line[2:]):
		case filters && strings.HasPrefix(line, "1 .M "):
			unclear = true
		default:
			f.Dirty = true
		}
	}
	switch {
	case f.Commit == "", unclear && !f.Dirty:
		return Facts{}, errUnclear
	case f.Commit == "(initial)":
		f.Commit, f.Branch = "", ""
	case f.Branch == "(detached)": // which is a name that a branch may have, too
		head, err := os.ReadFile(filepath.Join(dir, "HEAD"))
		if err != nil || strings.HasPrefix(string(head), "ref:") {
			return Facts{}, errUnclear
		}
		f.Branch = ""
	}
	return f, nil
}
