package record

import (
	"errors"
	"fmt"
	"time"
)

// SchemaVersion of run.json and graph.json.
const SchemaVersion = 1

// A Run is run.json: the verdict, written last, never changed.
type Run struct {
	SchemaVersion int     `json:"schema_version"`
	ID            string  `json:"id"`
	Root          string  `json:"root"`
	Job           *string `json:"job"`

	// Affected is of run --affected: only tasks that changes since Commit may have changed, and what those depend on.
	Affected *Affected `json:"affected,omitempty"`
	// Resumes is of run --resume: only tasks that did not pass in an earlier run.
	Resumes     *Resumed `json:"resumes,omitempty"`
	Status      string   `json:"status"` // passed | failed | interrupted
	ExitCode    int      `json:"exit_code"`
	CI          bool     `json:"ci"`
	StartedAt   Time     `json:"started_at"`
	FinishedAt  Time     `json:"finished_at"`
	DurationMS  int64    `json:"duration_ms"`
	Git         *Git     `json:"git"`
	Healing     Healing  `json:"healing"`
	Tasks       []Task   `json:"tasks"`
	Journal     *Anchor  `json:"journal"`      // the end of events.jsonl, filled in by Seal
	GraphDigest *string  `json:"graph_digest"` // of graph.json, filled in by Seal
}

// Affected is where the changes of run --affected are counted from.
type Affected struct {
	Base   string `json:"base"`   // as it was typed, or was found: origin/main
	Commit string `json:"commit"` // in which HEAD left it
}

// Resumed is what a run took over from an earlier one.
type Resumed struct {
	Run    string   `json:"run"`
	Passed []string `json:"passed"` // tasks that passed there, or in a run that it had resumed, and were not run again
}

// Args are the arguments of run TASK -- ARGS, without secrets. Hidden is whether one was left out.
type Args struct {
	Args   []string `json:"args"`
	Hidden bool     `json:"args_hidden"`
}

// A Git is the commit and branch of the tree; fields are nil where they are not known.
type Git struct {
	Commit *string `json:"commit"`
	Branch *string `json:"branch"`
	Dirty  *bool   `json:"dirty"`
}

// A Healing records whether failures of the run are answered with proposals.
type Healing struct {
	Mode   string  `json:"mode"` // on | off | ci
	Reason *string `json:"reason"`
}

// An Anchor ties a journal to what contains the anchor: no line can be changed or removed without notice.
type Anchor struct {
	Lines int64   `json:"lines"`
	Head  *string `json:"head"` // sha256:<hex> of the last line; nil for no line
}

// Statuses of a task.
const (
	Passed    = "passed"
	Cached    = "cached"
	Failed    = "failed"
	TimedOut  = "timed_out"
	Skipped   = "skipped"
	Cancelled = "cancelled"
)

// Interrupted is the status of a run that a signal ended. Passed and Failed are the others.
const Interrupted = "interrupted"

// A Task is a task as it ended.
type Task struct {
	Name          string  `json:"name"`
	Status        string  `json:"status"`
	Reason        *string `json:"reason"` // fail_fast | dependency | signal | not_needed | run_ended | agents_off | null
	BlockedBy     *string `json:"blocked_by"`
	ExitCode      *int    `json:"exit_code"`
	Signal        *string `json:"signal"`
	Error         *string `json:"error"` // why it could not be started, in words
	Hint          *string `json:"hint"`  // what may have made it fail: a variable that is set in the person's environment and not passed
	Attempts      int     `json:"attempts"`
	StartedAt     *Time   `json:"started_at"`
	DurationMS    *int64  `json:"duration_ms"`
	Log           *Log    `json:"log"`
	Cache         *Cache  `json:"cache"`
	ReceiptDigest *string `json:"receipt_digest"` // of cache/<task>.json
	Sandbox       *string `json:"sandbox"`
	ProcessesLeft *int    `json:"processes_left"`

	Service *Service `json:"service,omitempty"` // of a service that was started
	Agent   *Agent   `json:"agent,omitempty"`   // of a task that an agent does

	Args       []string `json:"args,omitempty"`        // of run TASK -- ARGS, without secrets
	ArgsHidden bool     `json:"args_hidden,omitempty"` // a secret was left out of them: the command cannot be made again

	Processor time.Duration `json:"-"` // see sandbox.Result
}

// Delayed returns how long the tasks that depend on t had to wait for it: until it ended, or as a service was ready. ok
// is false where that is not known.
func (t *Task) Delayed() (took time.Duration, ok bool) {
	ms := t.DurationMS
	if t.Service != nil {
		ms = t.Service.ReadyMS
	}
	if ms == nil {
		return 0, false
	}
	return time.Duration(*ms) * time.Millisecond, true
}

// Reasons of services and of agent tasks. The other reasons are of package pipeline.
const (
	NotNeeded = "not_needed" // with Skipped: no task that depends on it had to run
	RunEnded  = "run_ended"  // with Passed: no other task was left; it was ended, unless Service.Kept
	AgentsOff = "agents_off" // with Skipped: no agent starts in --watch without --heal
)

// A Service is what is recorded of a service besides.
type Service struct {
	ReadyMS *int64 `json:"ready_ms"`        // null: it never was
	Since   string `json:"since,omitempty"` // the run that started it; empty: this one
	Kept    bool   `json:"kept,omitempty"`  // it went on when the run had ended
}

// A Log is the entry of a task's output in run.json. Bytes and LeftOutBytes together are what the task printed.
type Log struct {
	Path         string `json:"path"`           // relative to the run's folder
	Bytes        int64  `json:"bytes"`          // of output in the file, without the line that marks a cut
	LeftOutBytes int64  `json:"left_out_bytes"` // of output that is not in the file

	Digest *string `json:"digest"` // of the file, with the line that marks a cut
}

// A Cache is a cache receipt in short.
type Cache struct {
	Result    string  `json:"result"` // hit | miss | off | forced
	Key       *string `json:"key"`
	Reason    *string `json:"reason"`
	NotStored *string `json:"not_stored"` // why the result of a task that passed is not in the cache
	Run       *string `json:"run"`        // of a hit: the run that made the result
	SavedMS   *int64  `json:"saved_ms"`   // of a hit: how long the task took then

	// Undeclared is what a task with patterns that passed read besides its inputs; nil: nobody looked.
	Undeclared *Undeclared `json:"undeclared"`
	// Unchanged is whether the inputs, programs and environment of a task that ran were known to be the same when it
	// ended: only then Key tells what it was made of. nil: nobody looked, or the task failed where something stood in
	// the place of its outputs, which no key tells.
	Unchanged *bool `json:"unchanged"`
	// Flaky is of a task that failed the run in which it passed with the same key, and of one that passed a run in which
	// it failed; nil: none is known.
	Flaky *string `json:"flaky"`
}

// An Undeclared has what a task opened of the tree that is none of its inputs.
type Undeclared struct {
	Paths  []string `json:"paths"`  // of files and links, relative to the root, sorted; never nil
	More   int      `json:"more"`   // how many paths are left out, as there are too many
	Reason *string  `json:"reason"` // why it is not known what the task opened; nil: it is
}

// String says it in words. It is empty if there is nothing to say.
func (u *Undeclared) String() string {
	switch {
	case u == nil:
		return ""
	case u.Reason != nil:
		return *u.Reason
	case len(u.Paths) == 0:
		return ""
	case len(u.Paths) > 1 || u.More > 0:
		return fmt.Sprintf("it read %s and %d more that are not among its inputs", u.Paths[0], len(u.Paths)-1+u.More)
	}
	return fmt.Sprintf("it read %s, which is not among its inputs", u.Paths[0])
}

// Errors to test for.
var (
	ErrLocked    = errors.New("another run is at work here")
	ErrNoRun     = errors.New("no such run")
	ErrAmbiguous = errors.New("more than one run begins so")
)

// Time is RFC 3339 UTC with milliseconds in JSON; the zero Time is unknown and null.
type Time struct{ time.Time }

const timeFormat = `"2006-01-02T15:04:05.000Z07:00"`

// MarshalJSON is RFC 3339 UTC with milliseconds, or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().AppendFormat(nil, timeFormat), nil
}

// UnmarshalJSON takes any RFC 3339 time, or null.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		t.Time = time.Time{}
		return nil
	}
	at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b))
	t.Time = at.UTC()
	return err
}
