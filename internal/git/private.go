// The private .git of a scratch copy. Functions here that write must only be called for such a copy.

package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keptKeys are the keys that are copied to a private .git: how files are read and written, and who commits. None runs
// a program or names a path. Of the extensions only the object format is kept, because the others describe a storage
// that the copy does not have.
var keptKeys = []string{
	"core.autocrlf", "core.eol", "core.safecrlf", "core.filemode", "core.symlinks", "core.ignorecase",
	"core.precomposeunicode",
	"user.name", "user.email", "extensions.objectformat",
}

// Config returns the text of a configuration file for a private .git: the kept keys with their values in r, the work
// tree if it is given, and which submodules were initialised (not where they came from), so that git submodule prints
// the same.
func (r *Repo) Config(ctx context.Context, worktree string) ([]byte, error) {
	out, err := getConfig(ctx, r.Top, "--get-regexp", `^(core|user|extensions|submodule)\.`)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, line := range split(out) {
		key, value, ok := strings.Cut(line, "\n")
		if !ok {
			value = "true"
		}
		values[key] = value
	}
	version := "0"
	if values["extensions.objectformat"] != "" {
		version = "1"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[core]\n\trepositoryformatversion = %s\n\tbare = false\n\tlogallrefupdates = true\n", version)
	if worktree != "" {
		fmt.Fprintf(&b, "\tworktree = %s\n", quote(worktree))
	}
	for _, key := range keptKeys {
		if value, ok := values[key]; ok {
			section, name, _ := strings.Cut(key, ".")
			fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, name, quote(value))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(key, "submodule."), ".url")
		if ok && strings.HasPrefix(key, "submodule.") && values["submodule."+name+".active"] != "false" {
			fmt.Fprintf(&b, "[submodule %s]\n\tactive = true\n", quote(name))
		}
	}
	return []byte(b.String()), nil
}

func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// HeadFile returns the text of a HEAD file that names the commit or branch of r.
func (r *Repo) HeadFile(ctx context.Context) ([]byte, error) {
	commit, ref, err := r.head(ctx)
	switch {
	case err != nil:
		return nil, err
	case ref != "":
		return []byte("ref: " + ref + "\n"), nil
	case commit == "":
		return nil, fmt.Errorf("git repository %s: HEAD names neither a branch nor a commit; git status says more", r.Top)
	}
	return []byte(commit + "\n"), nil
}

// Partial reports whether git may have to fetch objects that are not here.
func (r *Repo) Partial(ctx context.Context) (bool, error) {
	out, err := getConfig(ctx, r.Top, "--get-regexp", `^(remote\..*\.promisor|extensions\.partialclone)$`)
	return len(out) > 0, err
}

// ExcludesFile returns the person's file of ignore rules. It is empty if none is set; then git uses its default.
func (r *Repo) ExcludesFile(ctx context.Context) (string, error) {
	out, err := getConfig(ctx, r.Top, "--type=path", "--get", "core.excludesFile")
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(string(out), "\x00")
	if name != "" && !filepath.IsAbs(name) {
		name = filepath.Join(r.Top, name)
	}
	return name, nil
}

// Connected returns an error if an object that a ref, HEAD or the index of the copy needs is missing. A walk that
// takes longer than limit ends with context.DeadlineExceeded.
func (r *Repo) Connected(ctx context.Context, limit time.Duration) error {
	args := []string{"rev-list", "--objects", "--quiet", "--all", "--indexed-objects"}
	if commit, _, err := r.head(ctx); err != nil {
		return err
	} else if commit != "" {
		args = append(args, commit)
	}
	_, err := call{dir: r.Top, timeout: limit, args: args}.run(ctx)
	return err
}

// Refresh brings the stat data in the index of our copy up to date, so that the first git status there need not
// read every file. No filter runs.
func (r *Repo) Refresh(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(r.Dir, "index")); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever added
	}
	off, err := unfiltered(ctx, r.Top)
	if err != nil {
		return err
	}
	_, err = call{dir: r.Top, config: off, timeout: long, args: []string{"update-index", "-q", "--unmerged", "--refresh"}}.run(ctx)
	if exitCode(err) == 1 { // some file differs from the index, as it did in the tree
		return nil
	}
	return err
}

// Init makes a new repository in the copy at top with one commit of files.
func Init(ctx context.Context, top string, files []string, config []byte) error {
	sha := "sha1"
	if strings.Contains(string(config), `objectformat = "sha256"`) {
		sha = "sha256"
	}
	begin := []string{"init", "-q", "--template=", "--initial-branch=main", "--object-format=" + sha}
	if _, err := (call{dir: top, args: begin}).run(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(top, ".git", "config"), config, 0o600); err != nil {
		return err
	}
	off, err := unfiltered(ctx, top) // write-tree too would ask a filter about a file as young as the index
	if err != nil {
		return err
	}
	if len(files) > 0 {
		names := []byte(strings.Join(files, "\x00") + "\x00")
		add := []string{"update-index", "--add", "-z", "--stdin"}
		if _, err := (call{dir: top, config: off, timeout: long, stdin: names, args: add}).run(ctx); err != nil {
			return err
		}
	}
	tree, err := call{dir: top, config: off, timeout: long, args: []string{"write-tree"}}.run(ctx)
	if err != nil {
		return err
	}
	who := []string{
		"GIT_AUTHOR_NAME=async-pipeline", "GIT_AUTHOR_EMAIL=async-pipeline@localhost",
		"GIT_COMMITTER_NAME=async-pipeline", "GIT_COMMITTER_EMAIL=async-pipeline@localhost",
	}
	commit, err := call{dir: top, config: off, env: who, args: []string{
		"commit-tree", "--no-gpg-sign", "-m", "The tree as it was; its history stayed behind",
		strings.TrimSpace(string(tree)),
	}}.run(ctx)
	if err != nil {
		return err
	}
	_, err = call{dir: top, env: who, args: []string{"update-ref", "HEAD", strings.TrimSpace(string(commit))}}.run(ctx)
	return err
}

// Ignores returns those of paths that are ignored by the .gitignore files in the folder rules, info/exclude of gitDir,
// and excludes (the person's file; empty for git's default). The folder rules has no other files, so that no path in
// it is a symlink or a submodule. The index is not read, so the caller must know what is tracked.
func Ignores(ctx context.Context, gitDir, rules, excludes string, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	var config []setting
	if excludes != "" {
		config = append(config, setting{"core.excludesFile", excludes})
	}
	where := []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + rules}
	for part := range slices.Chunk(paths, 20_000) {
		names := []byte("./" + strings.Join(part, "\x00./") + "\x00") // a leading colon would be read as magic
		check := []string{"check-ignore", "--no-index", "-z", "--stdin"}
		out, err := call{dir: rules, env: where, config: config, stdin: names, args: check}.run(ctx)
		if err != nil && exitCode(err) != 1 { // 1: none of them
			return nil, err
		}
		for _, name := range split(out) {
			ignored[strings.TrimPrefix(name, "./")] = true
		}
	}
	return ignored, nil
}

// SetHead sets HEAD and index of the copy to a commit. The files are not changed.
func (r *Repo) SetHead(ctx context.Context, commit string) error {
	if !commitID().MatchString(commit) {
		return fmt.Errorf("%q is not the full id of a commit", commit)
	}
	off, err := unfiltered(ctx, r.Top)
	if err != nil {
		return err
	}
	if _, err := r.run(ctx, "update-ref", "--no-deref", "HEAD", commit); err != nil {
		return err
	}
	_, err = call{dir: r.Top, config: off, timeout: long, args: []string{"read-tree", "--reset", commit}}.run(ctx)
	return err
}
