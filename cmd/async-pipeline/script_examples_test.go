package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// withMore adds, to the commands of script_commands_test.go:
//
//	warmgo                             fills $GOCACHE with what go test and go vet need of the standard library
//	machinego                          $GOCACHE is that of the machine: for builds of more than warmgo has
//	modproxy PROXY MODULE VERSION DIR  files of a module as a proxy has them
//	copyexample NAME DIR               a copy of examples/NAME
//	quiet DIR                          waits up to 3 minutes until no process carries the mark of a hook of DIR's runs
func withMore(commands map[string]scriptCommand) map[string]scriptCommand {
	maps.Copy(commands, map[string]scriptCommand{
		"warmgo": cmdWarmgo, "machinego": cmdMachinego, "modproxy": cmdModproxy, "copyexample": cmdCopyExample, "quiet": cmdQuiet,
	})
	return commands
}

func cmdCopyExample(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 2, "copyexample NAME DIR")
	from, to := filepath.Join("..", "..", "examples", args[0]), ts.MkAbs(args[1])
	ts.Check(filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".async" || d.Name() == "node_modules" { // of somebody who tried it in place
			return fs.SkipDir
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, info.Mode().Perm())
	}))
}

func cmdQuiet(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "quiet DIR")
	runs, err := os.ReadDir(filepath.Join(ts.MkAbs(args[0]), ".async", "runs"))
	ts.Check(err)
	if len(runs) == 0 {
		ts.Fatalf("there is no run in %s", args[0])
	}
	for end := time.Now().Add(endsWithin); ; time.Sleep(50 * time.Millisecond) {
		left := ""
		dirs, err := filepath.Glob("/proc/[0-9]*")
		ts.Check(err)
		for _, dir := range dirs {
			environ, err := os.ReadFile(dir + "/environ")
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				continue // of another user, or just ended
			}
			for _, run := range runs {
				if bytes.Contains(environ, []byte("ASYNC_PIPELINE_HOOK="+run.Name()+"/")) {
					args, _ := os.ReadFile(dir + "/cmdline") // it may have ended
					left += fmt.Sprintf(" %s %q", filepath.Base(dir), args)
				}
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("still alive:%s", left)
		}
	}
}
