package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// workDir returns the task's working folder, as the command sees it, after checking it on the disk.
func workDir(dir string, t *pipeline.Task, box sandbox.Box) (string, error) {
	rel := filepath.FromSlash(t.Dir)
	if rel == "" {
		rel = "."
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("task %q has dir = %q, which is not inside the root: write a path relative to the folder of PIPELINE.hcl", t.Shown(), t.Dir)
	}
	at := filepath.Join(dir, rel)
	if at == filepath.Clean(dir) {
		return at, nil // the common case; if it is missing, starting the command fails
	}
	if err := checkFolder(at, t, box); err != nil {
		return "", err
	}
	if to, inside := resolve(dir, at, box); !inside {
		return "", fmt.Errorf("task %q has dir = %q, which leads outside the root through a link (to %s): write a path inside the folder of PIPELINE.hcl", t.Shown(), t.Dir, to)
	}
	return at, nil
}

// checkFolder returns why a task cannot work in a folder, in words for a person, or nil.
func checkFolder(at string, t *pipeline.Task, box sandbox.Box) error {
	switch info, err := os.Stat(onDisk(at, box)); {
	case unixat.IsNotExist(err):
		return fmt.Errorf("task %q works in %s, which does not exist: make that folder, or correct dir in PIPELINE.hcl", t.Shown(), at)
	case err != nil:
		return fmt.Errorf("task %q works in %s: %w", t.Shown(), at, err)
	case !info.IsDir():
		return fmt.Errorf("task %q works in %s, which is not a folder: correct dir in PIPELINE.hcl", t.Shown(), at)
	}
	return nil
}

// resolve follows the links of a path as a command in the box sees them, and reports whether the result is below dir.
func resolve(dir, at string, box sandbox.Box) (to string, inside bool) {
	root, err := realPath(dir, box)
	if err != nil {
		return err.Error(), false
	}
	if to, err = realPath(at, box); err != nil {
		return err.Error(), false
	}
	rel, err := filepath.Rel(root, to)
	return to, err == nil && filepath.IsLocal(rel)
}

// realPath returns a path as a command in the box sees it, without links. In View a link to the tree's path leads to the
// copy.
func realPath(path string, box sandbox.Box) (string, error) {
	for range 40 {
		to, err := filepath.EvalSymlinks(onDisk(path, box))
		if err != nil {
			return "", err
		}
		if to = inBox(to, box); to == path {
			return to, nil
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// onDisk maps a path that a command in the box sees to the disk: in View the copy is mounted at the tree's path. Where
// the copy has only what differs from a base, the rest is in the base.
func onDisk(path string, box sandbox.Box) string {
	if box.Tier != sandbox.View || box.Copy == "" || box.Tree == "" {
		return path
	}
	rel, ok := below(box.Tree, path)
	if !ok {
		return path
	}
	at := filepath.Join(box.Copy, rel)
	if box.Base != "" {
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(box.Base, rel)
		}
	}
	return at
}

// inBox is the inverse of onDisk, for a path without links.
func inBox(path string, box sandbox.Box) string {
	if box.Tier != sandbox.View || box.Tree == "" {
		return path
	}
	for _, dir := range []string{box.Copy, box.Base} {
		real, err := filepath.EvalSymlinks(dir)
		if rel, ok := below(real, path); dir != "" && err == nil && ok {
			return filepath.Join(box.Tree, rel)
		}
	}
	return path
}

// below returns a path relative to dir, and whether it is in it.
func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// unrunnable returns why the program of a task could not be run, or "" when it ran and failed by itself.
func unrunnable(t *pipeline.Task, c sandbox.Command, box sandbox.Box, res sandbox.Result) string {
	if t.Run.Argv == nil || res.ExitCode != 127 && res.ExitCode != 126 {
		return "" // a shell says so in its output
	}
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		switch executable(onDisk(path, box)) {
		case found:
			return ""
		case isFolder:
			return fmt.Sprintf("task %q: %s is a folder, not a program: correct run, or name the program in it",
				t.Shown(), path)
		case refused:
			return fmt.Sprintf("task %q: %s cannot be executed: make it executable (chmod +x), or name its interpreter in run", t.Shown(), path)
		}
		return fmt.Sprintf("task %q: there is no program %s: correct run, or build it in a task that this one depends on", t.Shown(), path)
	}
	list := parse(c.Env)["PATH"]
	best := absent // a folder of that name does not count
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Dir, dir)
		}
		if is := executable(onDisk(filepath.Join(dir, name), box)); is != isFolder {
			best = max(best, is)
		}
	}
	switch best {
	case found:
		return ""
	case refused:
		return fmt.Sprintf("task %q: %s in PATH cannot be executed: make it executable (chmod +x)", t.Shown(), name)
	}
	return fmt.Sprintf("task %q: the program %s was not found in PATH: install it, or correct run or PATH",
		t.Shown(), name)
}

// Kinds of files, seen as a program. The order matters: the largest found in PATH decides the message.
const (
	absent = iota
	isFolder
	refused
	found
)

func executable(path string) int {
	info, err := os.Stat(path)
	switch {
	case unixat.IsNotExist(err):
		return absent
	case err == nil && info.IsDir():
		return isFolder
	case err != nil, info.Mode()&0o111 == 0:
		return refused
	}
	return found
}
