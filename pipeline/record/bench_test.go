package record

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// plainly is the limit of what a record can cost: for each task a file made and written, and two lines appended to
// one file.
func plainly(b *testing.B, tasks int) time.Duration {
	dir := b.TempDir()
	line := make([]byte, 300)
	journal, err := os.Create(filepath.Join(dir, "journal"))
	check(b, err)
	defer func() { _ = journal.Close() }()
	start := time.Now()
	for i := range tasks {
		check(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("hello\n"), 0o600))
		for range 2 {
			if _, err := journal.Write(line); err != nil {
				b.Fatal(err)
			}
		}
	}
	return time.Since(start) / time.Duration(tasks)
}

// BenchmarkRecord is what the record of a task costs: its log with one line, its two lines of the journal, and its
// share of run.json, against the limit ("x-plain").
func BenchmarkRecord(b *testing.B) {
	const tasks = 1000
	names := make([]string, tasks)
	for i := range names {
		names[i] = fmt.Sprintf("task-%d", i)
	}
	var ours, limit time.Duration
	for b.Loop() { // the two in turns, as the disk is never the same for long
		limit += plainly(b, tasks)
		s := At(b.TempDir())
		start := time.Now()
		recordRun(b, s, names)
		ours += time.Since(start) / tasks
	}
	perTask := float64(ours) / float64(b.N)
	limit /= time.Duration(b.N)
	b.ReportMetric(perTask, "ns/task")
	b.ReportMetric(perTask-float64(limit), "ns/task-over-plain")
	b.ReportMetric(perTask/float64(limit), "x-plain")
}

// recordRun records a run of tasks that pass and print one line each.
func recordRun(b testing.TB, s *Store, names []string) *Sealed {
	b.Helper()
	d := must[*Draft](b)(s.Begin(noon, func(p []byte) []byte { return p }, nil))
	tasks := make([]Task, 0, len(names))
	for _, name := range names {
		l := d.Log(name)
		begun := d.Event(Event{Type: "task_started", Task: name})
		_, _ = l.Write([]byte("hello\n"))
		log := must[Log](b)(l.Finish())
		code, took, tier := 0, int64(2), "none"
		t := Task{
			Name: name, Status: Passed, ExitCode: &code, Attempts: 1, StartedAt: &Time{noon}, DurationMS: &took, Log: &log,
			Sandbox: &tier, ProcessesLeft: &code,
		}
		ended := d.Event(Event{Type: "task_finished", Task: name, Fields: []Field{
			{Name: "status", Value: t.Status},
			{Name: "exit_code", Value: t.ExitCode},
			{Name: "signal", Value: t.Signal},
			{Name: "error", Value: t.Error},
			{Name: "duration_ms", Value: t.DurationMS},
			{Name: "log", Value: t.Log},
		}})
		if begun != nil || ended != nil {
			b.Fatal(begun, ended)
		}
		tasks = append(tasks, t)
	}
	return must[*Sealed](b)(d.Seal(Run{Status: Passed, Root: s.Root, StartedAt: Time{noon}, FinishedAt: Time{noon}, Tasks: tasks}))
}

// BenchmarkList is what a list of a thousand runs of ten tasks costs, against reading their files ("x-read").
func BenchmarkList(b *testing.B) {
	s := At(b.TempDir())
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("task-%d", i))
	}
	for range 1000 {
		recordRun(b, s, names)
	}
	start := time.Now()
	for _, id := range must[[]string](b)(s.ids()) {
		_ = must[[]byte](b)(os.ReadFile(filepath.Join(s.runs(), id, "run.json")))
	}
	limit := time.Since(start)
	for b.Loop() {
		if runs, errs := s.List(); len(runs) != 1000 || len(errs) != 0 {
			b.Fatal(len(runs), errs)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(limit), "x-read")
}
