package main

import (
	"errors"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// After a second signal the verdict holds the ends that the journal holds, and the journal takes no other.
func TestAsKnown(t *testing.T) {
	t.Parallel()
	config := &pipeline.Config{Root: t.TempDir(), Tasks: []*pipeline.Task{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	graph, err := pipeline.Select(config, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	draft, err := record.At(config.Root).Begin(time.Now(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	end := func(name string) error {
		return draft.Event(record.Event{Type: "task_finished", Task: name, Fields: []record.Field{{Name: "status", Value: record.Passed}}})
	}
	for _, e := range []error{draft.Event(record.Event{Type: "task_started", Task: "a"}), draft.Event(record.Event{Type: "task_started", Task: "b"}), end("a")} {
		if e != nil {
			t.Fatal(e)
		}
	}
	p := &performance{graph: graph}
	tasks, err := p.asKnown(draft)
	if err != nil || len(tasks) != 3 || tasks[0].Status != record.Passed || tasks[1].Status != record.Cancelled || tasks[2].Status != record.Cancelled {
		t.Errorf("%+v, %v", tasks, err)
	}
	if err := end("b"); !errors.Is(err, record.ErrStopped) {
		t.Errorf("the runner goes on, and is recorded: %v", err)
	}
	if err := draft.Event(record.Event{Type: "run_finished", Data: map[string]any{"status": record.Interrupted, "exit_code": 130}}); err != nil {
		t.Error(err)
	}
	sealed, err := draft.Seal(record.Run{Status: record.Interrupted, ExitCode: 130, Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	if err := sealed.Check(); err != nil {
		t.Error(err)
	}
}
