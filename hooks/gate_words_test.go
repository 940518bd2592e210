package hooks

import (
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func TestInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0.0s", 1240 * time.Millisecond: "1.2s", 59960 * time.Millisecond: "1m00s", 2 * time.Minute: "2m00s",
		123400 * time.Millisecond: "2m03s", 90 * time.Minute: "1h30m",
	} {
		if got := inWords(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

// What the healing says that a check may take is what it may take.
func TestCheckLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status        string
		took, timeout time.Duration
		other         bool // another task than the failed one
		want          time.Duration
	}{
		{record.Failed, time.Second, 0, false, 2 * time.Minute},
		{record.Failed, time.Minute, 0, false, 3 * time.Minute},
		{record.Failed, time.Second, 5 * time.Minute, false, 5 * time.Minute},
		{record.Failed, time.Minute, time.Second, false, 3 * time.Minute},
		{record.TimedOut, time.Second, time.Second, false, time.Second},
		{record.TimedOut, time.Second, 0, false, 0},
		{record.TimedOut, time.Second, time.Second, true, 2 * time.Minute},
	} {
		task := &pipeline.Task{Name: "test", Timeout: c.timeout}
		ms := c.took.Milliseconds()
		ended := record.Task{Name: "test", Status: c.status, DurationMS: &ms}
		h := &healing{task: task, ended: &ended, run: &record.Sealed{Run: record.Run{Tasks: []record.Task{ended}}}}
		if c.other {
			h.task = &pipeline.Task{Name: "lint"}
		}
		if got := h.checkLimit(task, h.patience(task)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
