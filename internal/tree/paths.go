// Options.Paths as a tree of names.

package tree

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// A selection is what Options.Paths names.
type selection struct {
	below map[string][]string // folder → names to look at in it
	exact map[string]bool     // named themselves, not only folders above
	all   map[string]bool     // named with a / at the end
}

// selectPaths gives nil when everything is wanted.
func selectPaths(paths []string) (*selection, error) {
	if paths == nil {
		return nil, nil
	}
	s := &selection{map[string][]string{}, map[string]bool{}, map[string]bool{}}
	known := map[string]bool{}
	for _, given := range paths {
		p := strings.TrimSuffix(given, "/")
		if !filepath.IsLocal(p) || path.Clean(p) != p || p == "." {
			return nil, fmt.Errorf("walk: path %q: want a path inside the tree", given)
		}
		s.exact[p] = true
		if p != given {
			s.all[p] = true
		}
		for !known[p] {
			known[p] = true
			dir, name := path.Split(p)
			dir = strings.TrimSuffix(dir, "/")
			s.below[dir] = append(s.below[dir], name)
			if dir == "" {
				break
			}
			p = dir
		}
	}
	return s, nil
}
