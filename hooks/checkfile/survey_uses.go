package checkfile

import (
	"path"

	"github.com/async-pipeline/async-pipeline/internal/lang"
)

// uses returns the files of the tree that the source at p uses, and whether it imports a library for tests.
func (s *survey) uses(p string, src []byte) (files []string, testing bool) {
	if lang.ByPath(p) == "shell" {
		return s.shellUses(path.Dir(p), src), false
	}
	return lang.Imports(s.Index, p, src)
}
