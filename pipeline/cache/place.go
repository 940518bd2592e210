package cache

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// Place returns the folder of the cache of root: .async/cache, in a linked work tree of git that of the main work tree,
// so that all of them share their results.
func Place(root string) string {
	below := ""
	for dir := root; ; {
		at := filepath.Join(dir, ".git")
		if info, err := os.Lstat(at); err == nil {
			if main := mainTree(at); !info.IsDir() && main != "" {
				root = filepath.Join(main, below)
			}
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		below, dir = filepath.Join(filepath.Base(dir), below), up
	}
	return filepath.Join(root, ".async", "cache")
}

// mainTree returns the main work tree of a linked one, whose .git is file, or "": then there is none, or the folder is
// not one that both sides name.
func mainTree(file string) string {
	own := files.GitFolder(file)
	if own == "" {
		return ""
	}
	common, err := recordfile.Read(filepath.Join(own, "commondir"), 1<<16)
	back, backErr := recordfile.Read(filepath.Join(own, "gitdir"), 1<<16)
	if err != nil || backErr != nil || filepath.Clean(strings.TrimSpace(string(back))) != filepath.Clean(file) {
		return ""
	}
	at := strings.TrimSpace(string(common))
	if !filepath.IsAbs(at) {
		at = filepath.Join(own, at)
	}
	if filepath.Base(at) != ".git" {
		return "" // the main repository has no work tree
	}
	return filepath.Dir(at)
}
