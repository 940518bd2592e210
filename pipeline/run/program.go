package run

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

// unrunnable says why the program of a task could not be run, or "" when it was run and failed by itself.
func unrunnable(t *pipeline.Task, c sandbox.Command, box sandbox.Box, res sandbox.Result) string {
	if t.Run.Argv == nil || res.ExitCode != 127 && res.ExitCode != 126 {
		return "" // a shell has said it in the output
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
			return fmt.Sprintf("task %q: %s is a folder and no program: mend run, or name the program in it", t.Name, path)
		case refused:
			return fmt.Sprintf("task %q: %s cannot be executed: make it executable (chmod +x), or name its interpreter in run", t.Name, path)
		}
		return fmt.Sprintf("task %q: there is no program %s: mend run, or make it in a task that this one depends on", t.Name, path)
	}
	list := parse(c.Env)["PATH"]
	best := absent // a folder that happens to have the name is no program that could be made executable
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
	return fmt.Sprintf("task %q: the program %s was not found in PATH: install it, or mend run or PATH", t.Name, name)
}

// What a file is as a program.
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
