// Package report writes what a run was in the formats of other tools.
package report

import "github.com/async-pipeline/async-pipeline/pipeline/record"

// Trace is a run as a Chrome trace (chrome://tracing, ui.perfetto.dev): a complete event a task, one row for each task that
// ran at the same time. after gives what each task waits for.
func Trace(r record.Run, after func(name string) []string) ([]byte, error) { panic("door") }
