package main

import (
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// tailBytes is how much of a log's end is read for the summary.
const tailBytes = 32 << 10

// summary shows how the run ended and what to type next.
func (p *performance) summary(s *record.Sealed) {
	var failures []view.Failure
	var next []view.Next
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.Status != record.Failed && t.Status != record.TimedOut {
			continue
		}
		f := view.Failure{Task: *t, Log: logPath(s, t)}
		if task := p.config.Task(t.Name); task != nil {
			f.Command, f.Dir = view.Command(task.Run), task.Dir
		}
		if t.Log != nil {
			tail, err := s.Tail(t.Name, tailBytes)
			if err != nil {
				tail = []byte("(the log cannot be read: " + err.Error() + ")")
			}
			f.Tail = tail
		}
		failures = append(failures, f)
		next = append(next, p.next(s, t)...)
	}
	p.screen.Summary(s.Run, failures, next)
}

// next is what a person may want to type about one failed task.
func (p *performance) next(s *record.Sealed, t *record.Task) []view.Next {
	next := []view.Next{{Does: "run it again", Type: p.h.typed("run", t.Name)}}
	task := p.config.Task(t.Name)
	if task == nil {
		return next
	}
	for _, hook := range task.OnFail {
		if hook.Agent != nil && s.Healing.Mode != "on" {
			return append(next, view.Next{Does: "have a fix proposed", Type: p.h.typed("heal", s.ID, t.Name)})
		}
	}
	return next
}
