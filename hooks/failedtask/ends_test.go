package failedtask

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/testreport"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// How tasks ended, oldest first; what did not end says nothing, and a log is read only when somebody asks.
func TestEnds(t *testing.T) {
	t.Parallel()
	store := record.At(t.TempDir())
	run := func(id, verdict string) string {
		dir := filepath.Join(store.Dir, "runs", id)
		fixtest.Check(t, os.MkdirAll(filepath.Join(dir, "logs"), 0o700))
		if verdict != "" {
			fixtest.Put(t, dir, "run.json", `f:{"schema_version":1,"id":"`+id+`",`+verdict+`}`)
		}
		return dir
	}
	run("20261121T020000Z-0001", `"status":"passed","duration_ms":5,"started_at":"2026-11-21T02:00:00.000Z","tasks":[{"name":"a","status":"passed"},{"name":"b","status":"cached"}]`)
	dir := run("20261121T030000Z-0002", `"status":"failed","duration_ms":7,"started_at":"2026-11-21T03:00:00.000Z","tasks":[
		{"name":"a","status":"failed","exit_code":1,"started_at":"2026-11-21T03:00:01.000Z","log":{"path":"logs/a.log","bytes":1}},
		{"name":"b","status":"skipped"},{"name":"c","status":"timed_out"}]`)
	fixtest.Check(t, os.WriteFile(filepath.Join(dir, "logs", "a.log"), []byte("not ok 1 - x\n"), 0o600))
	run("20261121T040000Z-0003", `"status":"interrupted","tasks":[{"name":"a","status":"cancelled"}]`)
	gone := run("20261121T050000Z-0004", "")
	long := time.Now().Add(-time.Hour)
	fixtest.Check(t, os.Chtimes(gone, long, long))
	run("20261121T060000Z-0005", "") // just made: its maker, who holds the lock, may be about to say so
	lock, err := store.RunLock()
	fixtest.Check(t, err)
	defer func() { _ = lock.Unlock() }()
	run("20261121T070000Z-0006", `"status":5`)

	all := Ends(store)
	ends, runs, errs := all.Tasks, all.Runs, all.Errs
	var got []string
	for _, e := range ends {
		got = append(got, fmt.Sprintf("%s %s %v %s", e.Run[17:], e.Task, e.Passed, e.At.Format("15:04:05")))
	}
	if want := "0001 a true 02:00:00, 0001 b true 02:00:00, 0002 a false 03:00:01, 0002 c false 03:00:00"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	first := "20261121T020000Z-0001"
	if runs.First == nil || *runs.First != first {
		t.Errorf("the oldest run: %v", runs.First)
	}
	runs.First = nil
	if want := (fix.RunStats{Total: 6, Passed: 1, Failed: 1, Interrupted: 2, Running: 1, Unreadable: 1, WallClockMS: 12}); runs != want || len(errs) != 1 {
		t.Errorf("%+v, %v", runs, errs)
	}
	want := testreport.Fingerprint("a", testreport.Signature{ExitCode: 1, Tests: []string{"x"}}, nil)
	if print := ends[2].Fingerprint(); print != want {
		t.Errorf("%s, want %s", print, want)
	}
	for range mostLogs {
		ends[2].Fingerprint()
	}
	if print := ends[2].Fingerprint(); print != "" {
		t.Errorf("more than %d logs were read", mostLogs)
	}
}
