// The tasks of a run that were not started, told at its end: one by one where few have the same cause, else in one line.
package view

import (
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// fewLeftOut is how many tasks that were skipped for one cause are named.
const fewLeftOut = 3

// A leftOut collects what was skipped while a run goes. One failure skips many, and at once: a line each would hide it.
type leftOut struct {
	causes []string // in the order in which they were told
	tasks  map[string][]record.Task
}

func (l *leftOut) add(t record.Task) {
	if l.tasks == nil {
		l.tasks = map[string][]record.Task{}
	}
	cause := why(t)
	if l.tasks[cause] == nil {
		l.causes = append(l.causes, cause)
	}
	l.tasks[cause] = append(l.tasks[cause], t)
}

// take gives the lines for what was collected, and forgets it.
func (l *leftOut) take(s *Screen) []string {
	var lines []string
	for _, cause := range l.causes {
		tasks := l.tasks[cause]
		if len(tasks) > fewLeftOut {
			lines = append(lines, s.told(s.paint(yellow, "–"), english.Count(len(tasks), "task"), "skipped ("+cause+")"))
			continue
		}
		for _, t := range tasks {
			lines = append(lines, s.end(t))
		}
	}
	*l = leftOut{}
	return lines
}
