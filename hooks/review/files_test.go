package review

import (
	"fmt"
	"maps"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/checkfile"
)

// A files is a tree: content by path.
type files map[string]string

func (f files) tree() checkfile.Tree {
	return checkfile.Tree{Paths: slices.Sorted(maps.Keys(f)), Read: func(p string) ([]byte, error) {
		src, ok := f[p]
		if !ok {
			return nil, fmt.Errorf("no such file: %s", p)
		}
		return []byte(src), nil
	}}
}
