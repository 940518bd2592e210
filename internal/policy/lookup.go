package policy

import (
	"path/filepath"
	"strings"
)

// Lookup gives the path where a program named without a slash is found, as the sandbox looks for it: in the folders of searched
// (a PATH), relative ones seen from dir, both as the command sees them. runnable is lent and says whether a path is a program;
// empty: there is none.
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
