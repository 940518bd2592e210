package task

import (
	"fmt"
	"io"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// BenchmarkOverhead is what a task costs in this package alone, without its process and its record: environment,
// folder, redaction, hint.
func BenchmarkOverhead(b *testing.B) {
	t := &pipeline.Task{Name: "x", Dir: ".", Run: argv("true")}
	r := runner(b, t)
	for i := range 100 { // as a person's shell has them
		r.Environ = append(r.Environ, fmt.Sprintf("VARIABLE_%d=%d", i, i))
	}
	box := sandbox.Box{Tier: sandbox.None, Secrets: true}
	b.ReportAllocs()
	for b.Loop() {
		c, err := r.command(r.Config.Root, t, box)
		if err != nil || len(c.Env) < 3 {
			b.Fatal(c.Env, err)
		}
		check(b, r.Redact.Writer(io.Discard).Close())
	}
}
