package cache

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// unmatched says why no output was found for a pattern that matches paths in the tree.
func unmatched(root, pattern string, there []string) string {
	for _, p := range there {
		for dir := files.Parent(p); dir != ""; dir = files.Parent(dir) {
			if info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(dir))); err == nil && info.Mode()&os.ModeSymlink != 0 {
				return dir + " is a link: what is behind it is not seen"
			}
		}
	}
	for _, p := range there {
		if info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(p))); err != nil || !info.IsDir() {
			return fmt.Sprintf("output %s is in folders that git ignores: name them in the pattern", pattern)
		}
	}
	return fmt.Sprintf("output %s matches a folder, and nothing in it: write %s/** for what is in %s", pattern, there[0], there[0])
}
