package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// folder is where the task works, as the command sees it. It is looked for on the real disk.
func folder(dir string, t *pipeline.Task, box sandbox.Box) (string, error) {
	rel := filepath.FromSlash(t.Dir)
	if rel == "" {
		rel = "."
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("task %q has dir = %q, which is not inside the root: write a path relative to the folder of PIPELINE.hcl", t.Name, t.Dir)
	}
	at := filepath.Join(dir, rel)
	if at == filepath.Clean(dir) {
		return at, nil // nearly always; whether it is there shows when the command is started
	}
	if err := there(at, t, box); err != nil {
		return "", err
	}
	if to, inside := leads(dir, at, box); !inside {
		return "", fmt.Errorf("task %q has dir = %q, which leads outside the root through a link (to %s): write a path inside the folder of PIPELINE.hcl", t.Name, t.Dir, to)
	}
	return at, nil
}

// there says in words why a task cannot work in a folder, or nil.
func there(at string, t *pipeline.Task, box sandbox.Box) error {
	switch info, err := os.Stat(onDisk(at, box)); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("task %q works in %s, which does not exist: make that folder, or mend dir in PIPELINE.hcl", t.Name, at)
	case err != nil:
		return fmt.Errorf("task %q works in %s: %w", t.Name, at, err)
	case !info.IsDir():
		return fmt.Errorf("task %q works in %s, which is not a folder: mend dir in PIPELINE.hcl", t.Name, at)
	}
	return nil
}

// leads says where a path really lies, links resolved as a command in the box sees them, and whether that is below dir.
func leads(dir, at string, box sandbox.Box) (to string, inside bool) {
	root, err := real(dir, box)
	if err != nil {
		return err.Error(), false
	}
	if to, err = real(at, box); err != nil {
		return err.Error(), false
	}
	rel, err := filepath.Rel(root, to)
	return to, err == nil && filepath.IsLocal(rel)
}

// real is a path on the disk with no link in it. A link to the tree's own place is one to the copy in View.
func real(path string, box sandbox.Box) (string, error) {
	for range 40 {
		to, err := filepath.EvalSymlinks(onDisk(path, box))
		if err != nil {
			return "", err
		}
		if path = onDisk(to, box); path == to {
			return to, nil
		}
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// onDisk is where a path that a command in the box sees really lies: in View the copy stands at the tree's place.
func onDisk(path string, box sandbox.Box) string {
	if box.Tier != sandbox.View || box.Copy == "" || box.Tree == "" {
		return path
	}
	rel, err := filepath.Rel(box.Tree, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(box.Copy, rel)
}
