package policy

import (
	"path/filepath"
	"strings"
)

// Lookup returns the path at which the sandbox finds a program that is named without a slash, or an empty string: it
// searches the folders of searched (a PATH), relative ones seen from dir, both as the command sees them. runnable
// reports whether a path is a program.
func Lookup(name, dir, searched string, runnable func(path string) bool) string {
	if name == "" || strings.Contains(name, "/") {
		return ""
	}
	for _, folder := range filepath.SplitList(searched) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if at := filepath.Join(folder, name); runnable(at) {
			return at
		}
	}
	return ""
}
