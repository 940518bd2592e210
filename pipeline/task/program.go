package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

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
			return fmt.Sprintf("task %q: %s is a folder, not a program: correct run, or name the program in it", t.Name, path)
		case refused:
			return fmt.Sprintf("task %q: %s cannot be executed: make it executable (chmod +x), or name its interpreter in run", t.Name, path)
		}
		return fmt.Sprintf("task %q: there is no program %s: correct run, or build it in a task that this one depends on", t.Name, path)
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
		return fmt.Sprintf("task %q: %s in PATH cannot be executed: make it executable (chmod +x)", t.Name, name)
	}
	return fmt.Sprintf("task %q: the program %s was not found in PATH: install it, or correct run or PATH", t.Name, name)
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
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return absent
	case err == nil && info.IsDir():
		return isFolder
	case err != nil, info.Mode()&0o111 == 0:
		return refused
	}
	return found
}
