package fixtest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// SealedRun records a run in which the task check failed and printed log.
func SealedRun(t testing.TB, root, log string) (*record.Store, *record.Sealed) {
	t.Helper()
	s := record.At(root)
	d, err := s.Begin(time.Now(), nil, nil)
	Check(t, err)
	w := d.Log("check")
	_, err = io.WriteString(w, log)
	Check(t, err)
	l, err := w.Finish()
	Check(t, err)
	sealed, err := d.Seal(record.Run{Root: root, Status: record.Failed, ExitCode: 1, Tasks: []record.Task{
		{Name: "fine", Status: record.Passed, ExitCode: new(0)},
		{Name: "check", Status: record.Failed, ExitCode: new(1), Attempts: 1, Log: &l},
	}})
	Check(t, err)
	return s, sealed
}

// Failing returns a tree in which the file a is bad, and a recorded run of its one task: check, with this hook.
func Failing(t testing.TB, hook *pipeline.AgentHook) (*pipeline.Config, *record.Store, *record.Sealed) {
	t.Helper()
	root := t.TempDir()
	Put(t, root, "a", "f:bad")
	store, run := SealedRun(t, root, "it is bad\n")
	return &pipeline.Config{Root: root, File: filepath.Join(root, "PIPELINE.hcl"), Tasks: []*pipeline.Task{{
		Name: "check", Dir: ".", Run: pipeline.Command{Argv: []pipeline.Text{{Value: "check-it"}}},
		OnFail: []pipeline.Hook{{Agent: hook}},
	}}}, store, run
}

// RunCheck runs the task check of Failing, which passes where the file a is good.
func RunCheck(_ context.Context, dir string, t *pipeline.Task, _ sandbox.Box, out io.Writer) (record.Task, error) {
	text, err := os.ReadFile(filepath.Join(dir, "a"))
	if string(text) == "good" {
		return record.Task{Name: t.Name, Status: record.Passed, ExitCode: new(0), DurationMS: new(int64(1))}, err
	}
	_, err = io.WriteString(out, "it is "+string(text)+"\n")
	return record.Task{Name: t.Name, Status: record.Failed, ExitCode: new(1), DurationMS: new(int64(1))}, err
}
