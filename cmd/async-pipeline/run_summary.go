package main

import (
	"slices"
	"time"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// tailBytes is how much of a log's end is read for the summary.
const tailBytes = 32 << 10

// summary prints how the run ended and what to type next.
func (p *runCall) summary(s *record.Sealed) {
	var failed []*record.Task
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status == record.Failed || t.Status == record.TimedOut {
			failed = append(failed, t)
		}
	}
	slices.SortStableFunc(failed, func(a, b *record.Task) int { return endOf(a).Compare(endOf(b)) }) // the first cause first
	var failures []view.Failure
	for _, t := range failed[:min(len(failed), view.MostFailures)] {
		failures = append(failures, p.failure(s, t, min(len(failed), view.MostFailures)))
	}
	next, note := p.next(s, failed)
	p.screen.Summary(s.Run, failures, p.criticalPath(s), next, note)
}

// endOf returns when a task ended; zero for a task that was not started.
func endOf(t *record.Task) time.Time {
	if t.StartedAt == nil || t.DurationMS == nil {
		return time.Time{}
	}
	return t.StartedAt.Add(time.Duration(*t.DurationMS) * time.Millisecond)
}

// failure returns one of several failures that are shown.
func (p *runCall) failure(s *record.Sealed, t *record.Task, of int) view.Failure {
	f := view.Failure{Task: *t, Log: logPath(s, t)}
	if task := p.config.Task(t.Name); task != nil {
		f.Command, f.Dir = view.Command(task.Run), task.Dir
	}
	if t.Log != nil {
		if !p.progress.Shown(t.Name) {
			tail, err := s.Tail(t.Name, tailBytes)
			if err != nil {
				tail = []byte("(the log cannot be read: " + err.Error() + ")")
			}
			f.Tail = tail
		}
		f.Failing = failingOf(s, t, of)
	}
	return f
}

// criticalPath returns the chain of tasks that took as long as the run, with their times.
func (p *runCall) criticalPath(s *record.Sealed) []view.Stretch {
	var path []view.Stretch
	for _, name := range record.CriticalPath(s.Tasks, p.graph.DependsOn) {
		if t := s.Task(name); t != nil && t.DurationMS != nil {
			path = append(path, view.Stretch{Task: name, Took: time.Duration(*t.DurationMS) * time.Millisecond})
		}
	}
	return path
}
