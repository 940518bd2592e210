package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
)

// Place returns the folder of the cache of root: .async/cache, in a linked work tree of git that of the main work tree,
// so that all of them share their results.
func Place(root string) string {
	below := ""
	for dir := root; ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if main := mainTree(dir); main != "" {
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

// treesFolder has, in a cache that several trees share, what is known of each.
const treesFolder = "trees"

// treeFolder returns the folder of what the cache in dir knows of the tree of root; empty: dir itself, which is that tree's
// own cache.
func treeFolder(root, dir string) string {
	if filepath.Clean(dir) == filepath.Join(root, ".async", "cache") {
		return ""
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, treesFolder, hex.EncodeToString(sum[:8]))
}

// Unfit returns why a folder cannot have the cache of root, or nil. The cache keeps git out of its folder, and what is in
// .git or in the records is not its own.
func Unfit(root, dir string) error {
	for up := root; ; up = filepath.Dir(up) {
		if isSame(up, dir) {
			return fmt.Errorf("the cache cannot be in %s, as the project is there: name a folder of its own", dir)
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	records := filepath.Join(root, ".async")
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() && filepath.Clean(dir) != filepath.Join(records, "cache") {
		return fmt.Errorf("the cache cannot be in %s, which is a file: name a folder", dir)
	}
	if _, in := files.InRoot(root, dir); in && filepath.Clean(dir) != filepath.Join(records, "cache") && !store.Fits(dir) {
		return fmt.Errorf("the cache cannot be in %s, which has files of the project: name a folder of its own", dir)
	}
	for in := filepath.Clean(dir); ; in = filepath.Dir(in) {
		switch {
		case in == filepath.Join(records, "cache"), in == filepath.Dir(in):
			return nil
		case filepath.Base(in) == ".git", isSame(in, records):
			return fmt.Errorf("the cache cannot be in %s, which has files of git or of the records: name a folder of its own", dir)
		}
	}
}

// isSame reports whether two paths lead to one file.
func isSame(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// mainTree returns the main work tree of a linked one, whose top is given, or "": then there is none, or the folder is not
// one that both sides name.
func mainTree(top string) string {
	own, common, err := git.Folders(top)
	if err != nil || own == common {
		return ""
	}
	back, err := recordfile.Read(filepath.Join(own, "gitdir"), 1<<16)
	if err != nil || filepath.Clean(strings.TrimSpace(string(back))) != filepath.Join(top, ".git") || filepath.Base(common) != ".git" {
		return "" // or the main repository has no work tree
	}
	return filepath.Dir(common)
}
