// Package report writes what a run was in the formats of other tools. It reads nothing and writes nothing by itself.
package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A trace is the object form of the Trace Event Format of Chrome, which Perfetto reads too. Times and durations are
// in microseconds; displayTimeUnit is what a viewer shows them in. Keys beside these two are shown as facts of the
// whole trace.
type trace struct {
	TraceEvents     []event `json:"traceEvents"`
	DisplayTimeUnit string  `json:"displayTimeUnit"`
	OtherData       facts   `json:"otherData"`
}

// An event is a complete event (ph X: a task), metadata (M: a name of a row), or one end of an arrow (s and f) from
// a task to one that waited for it.
type event struct {
	Name string `json:"name"`
	Cat  string `json:"cat,omitempty"`
	Ph   string `json:"ph"`
	TS   int64  `json:"ts"`
	Dur  *int64 `json:"dur,omitempty"`
	PID  int    `json:"pid"`
	TID  int    `json:"tid"`
	ID   int    `json:"id,omitempty"`
	BP   string `json:"bp,omitempty"` // e: an arrow ends at the event that is there, not at the next one
	Args any    `json:"args,omitempty"`
}

type facts struct {
	Run        string      `json:"run"`
	Status     string      `json:"status"`
	ExitCode   int         `json:"exit_code"`
	StartedAt  record.Time `json:"started_at"`
	NotStarted []skipped   `json:"not_started"` // they took no time, so they are no events
}

type skipped struct {
	Task      string  `json:"task"`
	Status    string  `json:"status"`
	Reason    *string `json:"reason"`
	BlockedBy *string `json:"blocked_by"`
}

type taskArgs struct {
	Status    string  `json:"status"`
	ExitCode  *int    `json:"exit_code"`
	Signal    *string `json:"signal"`
	Attempts  int     `json:"attempts"`
	BlockedBy *string `json:"blocked_by"`
}

// A span is when a task ran, in microseconds from the beginning of the trace, and its row.
type span struct {
	task       *record.Task
	start, end int64
	row        int
}

// Trace returns a run as a Chrome trace (chrome://tracing, ui.perfetto.dev): a complete event a task, one row for
// each task that ran at the same time. after returns what each task waits for; nil leaves the arrows out. The same
// run gives the same bytes.
func Trace(r record.Run, after func(name string) []string) ([]byte, error) {
	spans, none := spansOf(r)
	rows := assign(spans)

	t := trace{DisplayTimeUnit: "ms", OtherData: facts{r.ID, r.Status, r.ExitCode, r.StartedAt, none}}
	name := func(what string, row int, value string) {
		t.TraceEvents = append(t.TraceEvents,
			event{Name: what, Ph: "M", PID: 1, TID: row, Args: map[string]string{"name": value}})
	}
	name("process_name", 0, "run "+r.ID)
	for row := range rows {
		name("thread_name", row+1, "slot "+strconv.Itoa(row+1))
	}
	for _, s := range spans {
		dur := s.end - s.start
		t.TraceEvents = append(t.TraceEvents, event{
			Name: s.task.Name, Cat: "task", Ph: "X", TS: s.start, Dur: &dur, PID: 1, TID: s.row,
			Args: taskArgs{s.task.Status, s.task.ExitCode, s.task.Signal, s.task.Attempts, s.task.BlockedBy},
		})
	}
	if after != nil {
		t.TraceEvents = append(t.TraceEvents, arrows(spans, after)...)
	}

	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(t)
	return b.Bytes(), err
}

// spansOf returns the tasks that were started, by start, and those that were not, in the order of the record. The
// trace begins with the run, or with a task that a clock set back makes older.
func spansOf(r record.Run) ([]span, []skipped) {
	var spans []span
	none := []skipped{}
	origin := r.StartedAt.Time
	for _, task := range r.Tasks {
		if task.StartedAt != nil && !task.StartedAt.IsZero() && (origin.IsZero() || task.StartedAt.Before(origin)) {
			origin = task.StartedAt.Time
		}
	}
	for i := range r.Tasks {
		task := &r.Tasks[i]
		if task.StartedAt == nil || task.StartedAt.IsZero() {
			none = append(none, skipped{task.Name, task.Status, task.Reason, task.BlockedBy})
			continue
		}
		s := span{task: task, start: task.StartedAt.Sub(origin).Microseconds()}
		s.end = s.start
		switch {
		case task.DurationMS != nil:
			s.end += max(*task.DurationMS, 0) * int64(time.Millisecond/time.Microsecond)
		case r.FinishedAt.After(task.StartedAt.Time): // how long it took is not known; it was over when the run was
			s.end = r.FinishedAt.Sub(origin).Microseconds()
		}
		spans = append(spans, s)
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	return spans, none
}

// assign gives every span the first row (from 1) that is free when it starts, and returns the number of rows. Spans
// sorted by start need no more rows this way than ran at the same time.
func assign(spans []span) int {
	var until []int64
	for i := range spans {
		s := &spans[i]
		row := slices.IndexFunc(until, func(end int64) bool { return end <= s.start })
		if row < 0 {
			row = len(until)
			until = append(until, 0)
		}
		until[row] = s.end
		s.row = row + 1
	}
	return len(until)
}

// arrows are the dependencies between tasks that ran. A viewer ties the end of an arrow to the event that is there
// at that time; so it leaves a task within its last microsecond and arrives when the other starts.
func arrows(spans []span, after func(name string) []string) []event {
	at := make(map[string]*span, len(spans))
	for i := range spans {
		at[spans[i].task.Name] = &spans[i]
	}
	var events []event
	id := 0
	for i := range spans {
		to := &spans[i]
		for _, d := range after(to.task.Name) {
			from := at[d]
			if from == nil || from.start > to.start {
				continue
			}
			id++
			leave := min(max(from.start, from.end-1), to.start)
			events = append(events,
				event{Name: "needs", Cat: "dependency", Ph: "s", TS: leave, PID: 1, TID: from.row, ID: id},
				event{Name: "needs", Cat: "dependency", Ph: "f", BP: "e", TS: to.start, PID: 1, TID: to.row, ID: id})
		}
	}
	return events
}
