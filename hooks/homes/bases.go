package homes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// Limits of the kept bases, those of all roots together: each is a whole copy of a tree.
const (
	mostBases = 8
	baseTime  = unusedTime
)

// baseFolder is the name of a kept base in the kept folder of its root.
const baseFolder = "base"

// KeptBase returns where the base of this root is kept; empty where nothing keeps agents out of it.
func (h *Homes) KeptBase(tier sandbox.Tier) string {
	if tier == sandbox.None {
		return ""
	}
	return filepath.Join(h.Kept, baseFolder)
}

// evictBases removes the least recently used bases until there is room for one more, and what is left of those whose
// removal was interrupted.
func (at Places) evictBases() error {
	all := filepath.Dir(at.Kept)
	if info, err := os.Lstat(all); err != nil || !info.IsDir() { // a link leads to folders of somebody else
		return err
	}
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	type other struct {
		dir  string
		used time.Time
	}
	var others []other
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !keptName.MatchString(e.Name()) {
			continue
		}
		dir := filepath.Join(all, e.Name())
		inside, err := os.ReadDir(dir)
		errs = append(errs, err)
		for _, e := range inside {
			if strings.HasPrefix(e.Name(), baseFolder+".gone-") {
				errs = append(errs, Remove(filepath.Join(dir, e.Name())))
			}
		}
		info, err := os.Lstat(filepath.Join(dir, rootFile))
		if dir == at.Kept || !recordfile.Exists(filepath.Join(dir, baseFolder)) {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			others = append(others, other{dir: dir})
		} else if err == nil {
			others = append(others, other{dir, info.ModTime()})
		}
	}
	slices.SortFunc(others, func(a, b other) int { return b.used.Compare(a.used) })
	for i, o := range others {
		if i+1 >= mostBases || time.Since(o.used) > baseTime {
			errs = append(errs, scratch.RemoveBase(filepath.Join(o.dir, baseFolder)))
		}
	}
	return errors.Join(errs...)
}
