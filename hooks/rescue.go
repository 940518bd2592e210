package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// What an attempt left is stored before anything of its copy is thrown away.

// keep moves a copy whose difference could not be stored to where nobody sweeps it, and says where, as an error does.
func (h *healing) keep(c *scratch.Copy, n int) error {
	to := filepath.Join(h.homes.Rescued, fmt.Sprintf("%s-%s-%d", h.run.ID, filename.Of(h.task.Name), n))
	if err := h.base.Keep(c, to); err != nil {
		return fmt.Errorf("the work of attempt %d could be kept neither as a patch nor at %s: %w", n, to, err)
	}
	return fmt.Errorf("the copy that attempt %d worked in is kept at %s", n, to)
}

// rescue stores the difference of an attempt.
func (h *healing) rescue(n int, changes []patch.Change, a *fix.Attempt) error {
	if len(changes) == 0 {
		return nil
	}
	r, err := rescuePatch(h.draft, n, changes)
	if err != nil {
		return err
	}
	a.Rescue = orNull(cmp.Or(r.Path, r.Redacted))
	h.fix.Omitted = append(h.fix.Omitted, r.Left...)
	h.step("%s changed %s; rescue patch: %s", h.now, english.Count(len(changes), "file"), cmp.Or(r.Path, "none"))
	if r.Redacted != "" {
		h.step("what holds a secret is there without it: %s", r.Redacted)
	}
	return nil
}

// rescuePatch stores a difference and journals that it did.
func rescuePatch(d *draft.Draft, attempt int, changes []patch.Change) (draft.Rescued, error) {
	r, err := d.Rescue(attempt, changes)
	left := []string{}
	for _, o := range r.Left {
		left = append(left, o.Path)
	}
	for _, rel := range []string{r.Path, r.Redacted} {
		if err == nil && rel != "" {
			err = d.Event("rescue_saved", map[string]any{"attempt": attempt, "path": rel, "redacted": rel == r.Redacted, "left_out": left})
		}
	}
	return r, err
}

// keepLimit is the largest file, in bytes, that is kept beside a rescue patch.
const keepLimit = 1 << 30

// keepLarge says what a patch leaves out, and keeps the files that are only too large for it.
func keepLarge(d *draft.Draft, c *scratch.Copy, n int, omitted []tree.Omitted) (named []string, err error) {
	root, err := os.OpenRoot(c.Dir)
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
			rel, err := keepFile(d, root, n, o.Path)
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
		err = d.Event("left_out", map[string]any{"attempt": n, "paths": named})
	}
	return named, err
}

// keepFile keeps one file; "" when there is none any more, or when it is beyond all measure.
func keepFile(d *draft.Draft, root *os.Root, n int, path string) (string, error) {
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
	return d.KeepFile(n, path, io.LimitReader(f, keepLimit))
}
