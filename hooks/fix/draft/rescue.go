package draft

import (
	"errors"
	"io"
	"os"

	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// SaveRescue is Rescue, and an event in the journal for each patch.
func (d *Draft) SaveRescue(attempt int, changes []patch.Change) (Rescued, error) {
	r, err := d.Rescue(attempt, changes)
	left := []string{}
	for _, o := range r.Left {
		left = append(left, o.Path)
	}
	for _, rel := range []string{r.Path, r.Redacted} {
		if err == nil && rel != "" {
			err = d.Event("rescue_saved", map[string]any{
				"attempt": attempt, "path": rel, "redacted": rel == r.Redacted,
				"left_out": left,
			})
		}
	}
	return r, err
}

// keepLimit is the largest file, in bytes, that is kept beside a rescue patch.
const keepLimit = 1 << 30

// KeepLarge keeps the files of a copy that are only too large for a patch, and journals what the patch leaves out.
// It returns the names of these, for a person, each with why.
func (d *Draft) KeepLarge(attempt int, copyDir string, omitted []tree.Omitted) (named []string, err error) {
	root, err := os.OpenRoot(copyDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, o := range omitted {
		if o.Why == "ignored" {
			continue
		}
		where := o.Path + " (" + o.Why + ")"
		if o.Why == "oversize" {
			rel, err := d.keepLarge(attempt, root, o.Path)
			if err != nil {
				return named, err
			}
			if rel != "" {
				where = o.Path + " (oversize, kept as " + rel + ")"
			}
		}
		named = append(named, where)
	}
	if len(named) > 0 {
		err = d.Event("left_out", map[string]any{"attempt": attempt, "paths": named})
	}
	return named, err
}

// keepLarge keeps one file. It returns "" where the file is gone or larger than keepLimit.
func (d *Draft) keepLarge(attempt int, root *os.Root, path string) (string, error) {
	f, err := root.Open(path)
	if errors.Is(err, os.ErrNotExist) { // an agent deleted a large file
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > keepLimit {
		return "", err
	}
	return d.KeepFile(attempt, path, io.LimitReader(f, keepLimit))
}
