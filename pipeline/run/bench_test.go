package run

import (
	"errors"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

const megabytes = 256

// loud prints megabytes of lines.
var loud = []string{"sh", "-c", "yes 'a line of output that a build may print, some eighty bytes long, like this one is' | head -c 268435456"}

// BenchmarkOutput is a task that prints much, through redaction into its log, against a pipe that is only read
// ("x-pipe").
func BenchmarkOutput(b *testing.B) {
	limit := time.Hour
	for range 3 {
		start := time.Now()
		cmd := exec.CommandContext(b.Context(), loud[0], loud[1:]...)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 64<<10)
		for err == nil {
			_, err = out.Read(buf)
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		_ = cmd.Wait()
		limit = min(limit, time.Since(start))
	}
	r := runner(b, &pipeline.Task{Name: "loud", Run: argv(loud...)})
	r.Redact.Add("TOKEN", "ghp_16C7e42F292c6912E7710c838347Ae178B4a")
	g, err := pipeline.Select(r.Config, nil, false)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(megabytes << 20)
	for b.Loop() {
		d, err := record.At(r.Config.Root).Begin(time.Now(), nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Run(b.Context(), g, d); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(limit), "x-pipe")
}

// BenchmarkTasks is what a task costs that does nothing, records included, against starting it alone ("x-spawn").
func BenchmarkTasks(b *testing.B) {
	start := time.Now()
	for range 50 {
		if err := exec.CommandContext(b.Context(), "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
	limit := time.Since(start) / 50
	r := runner(b, &pipeline.Task{Name: "none", Run: argv("true")})
	g, err := pipeline.Select(r.Config, nil, false)
	if err != nil {
		b.Fatal(err)
	}
	d, err := record.At(r.Config.Root).Begin(time.Now(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Run(b.Context(), g, d); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(limit), "x-spawn")
}
