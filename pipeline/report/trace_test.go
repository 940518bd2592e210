package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(ms int64) record.Time {
	return record.Time{Time: noon.Add(time.Duration(ms) * time.Millisecond)}
}
func ptr[T any](v T) *T { return &v }
func ran(name string, start, dur int64) record.Task {
	return record.Task{Name: name, Status: record.Passed, ExitCode: ptr(0), Attempts: 1, StartedAt: ptr(at(start)), DurationMS: &dur}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	failed := ran("test", 30, 20)
	failed.Status, failed.ExitCode, failed.Attempts = record.Failed, ptr(3), 2
	r := record.Run{
		ID: "20261121T120000Z-0000", Status: record.Failed, ExitCode: 1, StartedAt: at(0), FinishedAt: at(60),
		Tasks: []record.Task{
			ran("build", 5, 25),
			ran(`</script>"`, 6, 50),
			failed,
			{Name: "deploy", Status: record.Skipped, Reason: ptr("dependency"), BlockedBy: ptr("test")},
		},
	}
	after := func(name string) []string {
		return map[string][]string{"test": {"build"}, "deploy": {"test", "build"}}[name]
	}
	b, err := Trace(r, after)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Trace(r, after)
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("a second time it is another: %v", err)
	}
	want := `{
		"traceEvents": [
			{"name": "process_name", "ph": "M", "ts": 0, "pid": 1, "tid": 0, "args": {"name": "run 20261121T120000Z-0000"}},
			{"name": "thread_name", "ph": "M", "ts": 0, "pid": 1, "tid": 1, "args": {"name": "slot 1"}},
			{"name": "thread_name", "ph": "M", "ts": 0, "pid": 1, "tid": 2, "args": {"name": "slot 2"}},
			{"name": "build", "cat": "task", "ph": "X", "ts": 5000, "dur": 25000, "pid": 1, "tid": 1,
				"args": {"status": "passed", "exit_code": 0, "signal": null, "attempts": 1, "blocked_by": null}},
			{"name": "</script>\"", "cat": "task", "ph": "X", "ts": 6000, "dur": 50000, "pid": 1, "tid": 2,
				"args": {"status": "passed", "exit_code": 0, "signal": null, "attempts": 1, "blocked_by": null}},
			{"name": "test", "cat": "task", "ph": "X", "ts": 30000, "dur": 20000, "pid": 1, "tid": 1,
				"args": {"status": "failed", "exit_code": 3, "signal": null, "attempts": 2, "blocked_by": null}},
			{"name": "needs", "cat": "dependency", "ph": "s", "ts": 29999, "pid": 1, "tid": 1, "id": 1},
			{"name": "needs", "cat": "dependency", "ph": "f", "ts": 30000, "pid": 1, "tid": 1, "id": 1, "bp": "e"}
		],
		"displayTimeUnit": "ms",
		"otherData": {"run": "20261121T120000Z-0000", "status": "failed", "exit_code": 1, "started_at": "2026-11-21T12:00:00.000Z",
			"not_started": [{"task": "deploy", "status": "skipped", "reason": "dependency", "blocked_by": "test"}]}
	}`
	var got, wanted any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wanted, got); d != "" {
		t.Error(d)
	}
}

func TestTraceOfOddRuns(t *testing.T) {
	t.Parallel()
	unknown := ran("unknown", 10, 0)
	unknown.DurationMS = nil
	for name, tt := range map[string]struct {
		run  record.Run
		want []string // name start end row
	}{
		"nothing": {record.Run{}, nil},
		"a clock that was set back": {
			record.Run{StartedAt: at(100), FinishedAt: at(90), Tasks: []record.Task{ran("a", 110, 5), ran("b", 50, 5)}},
			[]string{"b 0 5000 1", "a 60000 65000 1"},
		},
		"how long it took is not known": {
			record.Run{StartedAt: at(0), FinishedAt: at(40), Tasks: []record.Task{unknown}},
			[]string{"unknown 10000 40000 1"},
		},
		"nor when the run ended": {record.Run{StartedAt: at(0), Tasks: []record.Task{unknown}}, []string{"unknown 10000 10000 1"}},
		"a negative duration":    {record.Run{StartedAt: at(0), Tasks: []record.Task{ran("a", 1, -5)}}, []string{"a 1000 1000 1"}},
		"no start of the run":    {record.Run{Tasks: []record.Task{ran("a", 10, 5), ran("b", 12, 5)}}, []string{"a 0 5000 1", "b 2000 7000 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := Trace(tt.run, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events(t, b, "X") {
				got = append(got, fmt.Sprint(e.Name, " ", e.TS, " ", e.TS+*e.Dur, " ", e.TID))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// No two events of one row overlap, no task is lost, and there are no more rows than tasks at the same time.
func TestRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := record.Run{ID: "r", StartedAt: at(0), FinishedAt: at(1000)}
		for i := range rapid.IntRange(0, 40).Draw(rt, "tasks") {
			r.Tasks = append(r.Tasks, ran(fmt.Sprintf("t%d", i), rapid.Int64Range(-5, 60).Draw(rt, "start"), rapid.Int64Range(0, 30).Draw(rt, "dur")))
		}
		after := func(name string) []string {
			n, err := strconv.Atoi(name[1:])
			if err != nil {
				rt.Fatal(err)
			}
			return []string{fmt.Sprintf("t%d", n/2), fmt.Sprintf("t%d", n-1)}
		}
		b, err := Trace(r, after)
		if err != nil {
			rt.Fatal(err)
		}
		tasks := events(rt, b, "X")
		if len(tasks) != len(r.Tasks) {
			rt.Fatalf("%d events for %d tasks", len(tasks), len(r.Tasks))
		}
		rows, most := 0, 0
		for i, e := range tasks {
			rows = max(rows, e.TID)
			if e.TS < 0 || e.TID < 1 {
				rt.Errorf("%+v", e)
			}
			same := 1
			for _, o := range tasks[:i] {
				if o.TS+*o.Dur > e.TS {
					same++
					if o.TID == e.TID {
						rt.Errorf("%s (%d+%d) and %s (%d+%d) are both in row %d", o.Name, o.TS, *o.Dur, e.Name, e.TS, *e.Dur, e.TID)
					}
				}
			}
			most = max(most, same)
		}
		if rows > most {
			rt.Errorf("%d rows, and at most %d tasks at the same time", rows, most)
		}
		if names := events(rt, b, "M"); len(names) != rows+1 {
			rt.Errorf("%d names for %d rows", len(names), rows)
		}
		// Both ends of an arrow lie on a task of their row, and none goes back in time.
		starts, ends := events(rt, b, "s"), events(rt, b, "f")
		if len(starts) != len(ends) {
			rt.Fatalf("%d arrows begin, %d end", len(starts), len(ends))
		}
		for i := range starts {
			if starts[i].ID != ends[i].ID || starts[i].TS > ends[i].TS {
				rt.Errorf("arrow %+v %+v", starts[i], ends[i])
			}
			for _, e := range []event{starts[i], ends[i]} {
				if !slices.ContainsFunc(tasks, func(x event) bool { return x.TID == e.TID && x.TS <= e.TS && e.TS <= x.TS+*x.Dur }) {
					rt.Errorf("%+v lies on no task", e)
				}
			}
		}
	})
}

func events(t interface{ Fatal(...any) }, b []byte, ph string) []event {
	var all struct {
		TraceEvents []event `json:"traceEvents"`
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.TraceEvents, func(e event) bool { return e.Ph != ph })
}
