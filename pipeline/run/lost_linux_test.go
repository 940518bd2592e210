package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/task"
)

// losing makes the test program a child of TestRunLosesItsRecord.
const losing = "RUN_TEST_LOSING"

// A disk that is full, a folder that nobody may write any more, a folder that is gone, in the middle of a run: the
// error says where and what to do, nothing more is started, and what was recorded can be read. The child has a disk
// of its own.
func TestRunLosesItsRecord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		uid  int // inside: root may write anywhere
		says []string
	}{
		{"full", 0, []string{"logs/a.log", "no space left on the disk", "free some"}},
		{"closed", 1000, []string{"logs/a.log", "permission denied", "make its folder writable"}},
		{"gone", 0, []string{"logs/a.log", "its folder is gone", "run again"}},
		{"full before", 0, []string{".async/runs/", "no space left on the disk", "free some"}},
		{"read-only", 0, []string{".async", "file system is read-only", "make it writable"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			program, err := os.Executable()
			check(t, err)
			root := t.TempDir()
			t.Cleanup(func() { // so that it can be removed
				logs, _ := filepath.Glob(filepath.Join(root, ".async", "runs", "*", "logs"))
				for _, dir := range logs {
					_ = os.Chmod(dir, 0o700)
				}
			})
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestLosing$", "-test.v")
			cmd.Env = append(os.Environ(), losing+"="+tt.name, losing+"_ROOT="+root)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: tt.uid, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: tt.uid, HostID: os.Getgid(), Size: 1}},
			}
			out, err := cmd.CombinedOutput()
			text := string(out)
			if start := (*os.PathError)(nil); errors.As(err, &start) || strings.Contains(text, "no disk of its own") {
				t.Skipf("no namespace for a disk of its own here: %v: %s", err, text)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			for _, want := range tt.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not said: %s", want, text)
				}
			}
		})
	}
}

// TestLosing is the child.
func TestLosing(t *testing.T) {
	how, root := os.Getenv(losing), os.Getenv(losing+"_ROOT")
	if how == "" {
		t.Skip("it is the child of TestRunLosesItsRecord")
	}
	commands := map[string]string{
		"full":      "cat /dev/zero >fill || true; echo printed",
		"closed":    "chmod 0500 .async/runs/*/logs",
		"gone":      "rm -rf .async/runs",
		"read-only": "true",
	}
	if how != "closed" {
		if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=256k"); err != nil {
			t.Fatalf("no disk of its own: %v", err)
		}
	}
	if how == "read-only" {
		if err := syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatalf("no disk of its own: %v", err)
		}
		_, err := record.At(root).Begin(time.Now(), nil, nil)
		fmt.Println(err)
		return
	}
	if how == "full before" {
		fullBefore(t, root)
		return
	}
	c := &pipeline.Config{Root: root, Tasks: []*pipeline.Task{
		{Name: "a", Run: shell(commands[how])},
		{Name: "b", DependsOn: []string{"a"}, Run: shell("touch b-ran")},
		{Name: "c", DependsOn: []string{"b"}, Run: shell("touch c-ran")},
	}}
	g, err := pipeline.Select(c, nil, false)
	check(t, err)
	r := &Run{
		Config: c, Graph: g, Store: record.At(root), Parallel: 1,
		Tasks: &task.Runner{Config: c, Environ: os.Environ(), Redact: new(redact.Set)},
	}
	d := begin(t, r)
	tasks, err := r.walker(d).walk(t.Context())
	fmt.Println(err)
	if err == nil || tasks[0].Status != record.Passed || tasks[1].Status == record.Passed || tasks[1].Attempts != 0 || tasks[2].Status != record.Skipped {
		t.Errorf("tasks %+v, %v", tasks, err)
	}
	for _, name := range []string{"b-ran", "c-ran"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			t.Errorf("%s: a task ran that could not be recorded", name)
		}
	}
	verdict := record.Run{Status: record.Interrupted, ExitCode: 2, Tasks: tasks}
	if how == "gone" {
		if _, err := d.Seal(verdict); err == nil || !strings.Contains(err.Error(), "its folder is gone") {
			t.Errorf("a verdict into nothing: %v", err)
		}
		return
	}
	whole := 0
	events, err := os.ReadFile(filepath.Join(d.Dir, "events.jsonl"))
	for line := range bytes.Lines(events) {
		if !json.Valid(line) || !bytes.HasSuffix(line, []byte("\n")) {
			t.Errorf("line %q of the journal", line)
		}
		whole++
	}
	if err != nil || whole == 0 {
		t.Errorf("the journal has %d lines, %v", whole, err)
	}
	if how == "full" {
		if _, err := d.Seal(verdict); err == nil || !strings.Contains(err.Error(), "run.json") {
			t.Errorf("a verdict on a full disk: %v", err)
		}
		if runs, errs := record.At(root).List(); len(runs) != 0 || len(errs) != 0 {
			t.Errorf("half a verdict is read: %v, %v", runs, errs)
		}
		check(t, os.Remove(filepath.Join(root, "fill")))
	}
	if _, err := d.Seal(verdict); err != nil { // the second try of a full disk, after some was freed
		t.Error(err)
	}
	if runs, errs := record.At(root).List(); len(runs) != 1 || len(errs) != 0 {
		t.Errorf("runs %v, %v", runs, errs)
	}
}

// fullBefore is a run that cannot begin: it leaves none behind that never was.
func fullBefore(t *testing.T, root string) {
	s := record.At(root)
	d, err := s.Begin(time.Now(), nil, nil)
	check(t, err)
	f, err := os.Create(filepath.Join(root, "fill"))
	check(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	_ = f.Close()
	_, err = s.Begin(time.Now(), nil, nil)
	fmt.Println(err)
	entries, look := os.ReadDir(filepath.Dir(d.Dir))
	if err == nil || look != nil || len(entries) != 1 || entries[0].Name() != d.ID {
		t.Errorf("runs: %v, %v", entries, look)
	}
}
