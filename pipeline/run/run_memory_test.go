package run

import (
	"runtime"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Output of 200 MB takes no memory that grows with it, and little disk.
func TestRunMemory(t *testing.T) {
	r := runOf(t, &pipeline.Task{Name: "loud", Run: shell("head -c 200000000 /dev/zero | tr '\\0' x | fold -w 99")})
	r.Tasks.Redact.Add("TOKEN", "hunter-2-hunter-2")
	var n int
	r.Observer.Output = func(_ *pipeline.Task, chunk []byte) { n += len(chunk) }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tasks, _ := carry(t, t.Context(), r)
	runtime.ReadMemStats(&after)
	// TotalAlloc counts all that was ever allocated: no garbage collection can hide anything.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("200 MB of output allocated %d bytes", grown)
	}
	log := tasks[0].Log
	if tasks[0].Status != record.Passed || n < 200e6 || log.Bytes > 4<<20 || log.Bytes+log.LeftOutBytes != int64(n) {
		t.Errorf("%+v, log %+v, %d bytes observed", tasks[0], log, n)
	}
}
