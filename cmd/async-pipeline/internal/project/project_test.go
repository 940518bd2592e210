package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTyped(t *testing.T) {
	t.Parallel()
	if got, want := (&Project{}).Typed("fix", "apply", "r", "t"), "async-pipeline fix apply r t"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := (&Project{Into: "my dir"}).Typed("run", "it's"), `async-pipeline -C 'my dir' run 'it'\''s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFindProgram(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, mode := range map[string]os.FileMode{"yes": 0o755, "no": 0o644} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	p := &Project{Environ: []string{"PATH=relative:" + root}}
	for program, want := range map[string]bool{
		"./yes": true, "yes": true, filepath.Join(root, "yes"): true, "./no": false, "no": false, "./absent": false, "absent": false,
	} {
		if err := p.FindProgram(root, program); (err == nil) != want {
			t.Errorf("FindProgram(%s) = %v", program, err)
		}
	}
}

// Nobody typed -C, so nothing is said of it.
func TestStartGone(t *testing.T) {
	t.Parallel()
	_, err := (&Project{Dir: filepath.Join(t.TempDir(), "gone"), Into: Here}).Start()
	if err == nil || !strings.HasPrefix(err.Error(), "the working directory cannot be read (") {
		t.Errorf("%v", err)
	}
}
