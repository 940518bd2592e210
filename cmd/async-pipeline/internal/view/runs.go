// The recorded runs, one a line, newest first; and the logs of one run.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// What a run or a task can be besides the statuses of the record.
const (
	Running = "running"
	Lost    = "lost"    // a task that ran when its run was ended without a verdict
	Damaged = "damaged" // a run whose verdict cannot be read
)

// A RunLine is one run of `runs`.
type RunLine struct {
	ID     string
	Status string // passed | failed | interrupted | running | damaged
	At     time.Time
	Took   time.Duration // below zero: not known
	Job    string        // empty: none
	Tasks  []string      // names of the selected tasks
	Failed []string      // names of those that failed or timed out
}

// Runs shows the table of `runs`; older is how many more there are.
func (s *Screen) Runs(runs []RunLine, older int, now time.Time) {
	var b strings.Builder
	b.WriteString(s.paint(bold, pad("RUN", 21)+"  "+pad("STATUS", 11)+"  "+pad("STARTED", 12)+"  "+pad("TOOK", 6)+
		"  TASKS") + "\n")
	for _, r := range runs {
		took := "?"
		if r.Took >= 0 {
			took = Duration(r.Took)
		}
		head := pad(Harmless(r.ID), 21) + "  " + s.paint(runColour(r.Status), pad(Harmless(r.Status), 11)) + "  " +
			pad(moment(r.At, now), 12) + "  " + pad(took, 6) + "  "
		room := max(s.wide()-58, 20)
		b.WriteString(strings.TrimRight(head+cut(runTasks(r), room), " ") + "\n")
	}
	if older > 0 {
		b.WriteString(s.paint(dim, fmt.Sprintf("and %s before; --limit 0 shows all",
			english.Count(older, "run"))) + "\n")
	}
	s.put(b.String())
}

func runColour(status string) string {
	switch status {
	case record.Passed:
		return green
	case record.Failed, Damaged:
		return red
	case Running:
		return cyan
	}
	return yellow
}

// runTasks returns the job or tasks of a run, and which of them failed.
func runTasks(r RunLine) string {
	what := english.Count(len(r.Tasks), "task")
	switch {
	case r.Status == Damaged || len(r.Tasks) == 0:
		return Harmless(r.Job)
	case len(r.Failed) > 0:
		// What failed comes first, because a narrow terminal cuts off the rest.
		names := strings.Join(TaskNames(r.Failed[:min(len(r.Failed), mostNames)]), ", ")
		what = fmt.Sprintf("%s (%d of %d)", Harmless(names), len(r.Failed), len(r.Tasks))
		if r.Job != "" {
			what += ", " + Harmless(r.Job)
		}
		return what
	case r.Job == "" && len(r.Tasks) <= 3:
		what = Harmless(strings.Join(TaskNames(r.Tasks), ", "))
	}
	if r.Job != "" {
		return Harmless(r.Job) + ", " + what
	}
	return what
}

// A LogLine is one log of `logs RUN`.
type LogLine struct {
	Task  record.Task // Status is running or empty where there is no end yet
	Bytes int64
	None  bool // there is no log
}

// Logs lists the logs of a run; dir is where they are.
func (s *Screen) Logs(id, dir string, lines []LogLine) {
	names := make([]string, len(lines))
	for i, l := range lines {
		names[i] = l.Task.Name
	}
	wide := max(nameColumns(names, 30), len("TASK"))
	var b strings.Builder
	b.WriteString("Logs of run " + Harmless(id) + " in " + s.Path(dir) + ":\n")
	b.WriteString(s.paint(bold, "  "+pad("TASK", wide)+"  "+pad("SIZE", 10)+"  ENDED") + "\n")
	for _, l := range lines {
		size := english.Size(l.Bytes)
		if l.None {
			size = "none"
		}
		end := standingOf(l.Task)
		if l.Task.Log != nil && l.Task.Log.LeftOutBytes > 0 {
			end += ", " + english.Size(l.Task.Log.LeftOutBytes) + " more left out"
		}
		end = cut(end, max(s.wide()-wide-16, 20))
		b.WriteString("  " + pad(taskName(l.Task.Name), wide) + "  " + pad(size, 10) + "  " + end + "\n")
	}
	s.put(b.String())
}

// NoLog shows why a task has no log: it was not started, or it has printed nothing.
func (s *Screen) NoLog(id string, t record.Task) {
	name := TaskName(t.Name)
	switch t.Status {
	case Running:
		s.Note(fmt.Sprintf("task %s of run %s has printed nothing so far", name, id))
	case Lost:
		s.Note(fmt.Sprintf("task %s of run %s had printed nothing when the run was ended", name, id))
	default:
		s.Note(fmt.Sprintf("task %s of run %s has no log: %s", name, id, standingOf(t)))
	}
}
