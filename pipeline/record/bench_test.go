package record

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkTask is what the record of one small task costs, against a file made and written ("x-file"), which every
// task's log needs anyway.
func BenchmarkTask(b *testing.B) {
	dir := b.TempDir()
	start := time.Now()
	for i := range 500 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("hello\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	limit := time.Since(start) / 500
	d := must[*Draft](b)(At(b.TempDir()).Begin(noon, func(p []byte) []byte { return p }, nil))
	code, n := 0, 0
	for b.Loop() {
		n++
		task := fmt.Sprintf("task-%d", n)
		l := must[*LogWriter](b)(d.Log(task))
		_ = d.Event(Event{Type: "task_started", Task: task})
		_, _ = l.Write([]byte("hello\n"))
		log := must[Log](b)(l.Finish())
		_ = d.Event(Event{Type: "task_finished", Task: task, Data: map[string]any{"status": Passed, "exit_code": &code, "log": log}})
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(limit), "x-file")
}
