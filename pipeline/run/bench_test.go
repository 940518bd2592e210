package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
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
		check(b, err)
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
	r := runOf(b, &pipeline.Task{Name: "loud", Run: argv(loud...)})
	r.Tasks.Redact.Add("TOKEN", "ghp_16C7e42F292c6912E7710c838347Ae178B4a")
	b.SetBytes(megabytes << 20)
	for b.Loop() {
		carry(b, b.Context(), r)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(limit), "x-pipe")
}

// BenchmarkTasks is what a task costs that does nothing, full records included, of a thousand that may all run at
// once and of a thousand in a chain, against starting the same program with a log file each, as many at a time
// ("x-spawn"). The two are measured in turns: a machine is never equally fast for long.
func BenchmarkTasks(b *testing.B) {
	const n = 1000
	for _, shape := range []struct {
		name     string
		parallel int
	}{{"wide", runtime.NumCPU()}, {"chain", 1}} {
		b.Run(shape.name, func(b *testing.B) {
			tasks := make([]*pipeline.Task, n)
			for i := range tasks {
				tasks[i] = &pipeline.Task{Name: fmt.Sprintf("t%d", i), Run: argv("true")}
				if shape.name == "chain" && i > 0 {
					tasks[i].DependsOn = []string{tasks[i-1].Name}
				}
			}
			r := runOf(b, tasks...)
			r.Parallel = shape.parallel
			var ours, limit time.Duration
			for b.Loop() {
				limit += spawn(b, n, shape.parallel)
				start := time.Now()
				ended, _ := carry(b, b.Context(), r)
				ours += time.Since(start)
				if last := ended[n-1]; last.Status != record.Passed {
					b.Fatalf("%+v", last)
				}
			}
			b.ReportMetric(float64(ours)/float64(b.N)/n, "ns/task")
			b.ReportMetric(float64(ours)/float64(limit), "x-spawn")
		})
	}
}

// spawn starts a program that does nothing n times, each with a file for its output.
func spawn(b *testing.B, n, parallel int) time.Duration {
	b.Helper()
	program, err := exec.LookPath("true")
	check(b, err)
	dir := b.TempDir()
	places := make(chan int)
	var workers sync.WaitGroup
	start := time.Now()
	for range parallel {
		workers.Go(func() {
			for i := range places {
				log, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
				if err != nil {
					b.Error(err)
					continue
				}
				cmd := exec.CommandContext(b.Context(), program)
				cmd.Stdout, cmd.Stderr = log, log
				if err := errors.Join(cmd.Run(), log.Close()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		places <- i
	}
	close(places)
	workers.Wait()
	return time.Since(start)
}

// BenchmarkMemory is the most memory that a run of 10,000 tasks with records holds at once ("heap-MB"), their
// processes left out: what is known of each task, and run.json.
func BenchmarkMemory(b *testing.B) {
	const n = 10_000
	tasks := make([]*pipeline.Task, n)
	for i := range tasks {
		// is not there: nothing is started
		tasks[i] = &pipeline.Task{Name: fmt.Sprintf("t%d", i), Dir: "none", Run: argv("true")}
	}
	var most uint64
	for b.Loop() {
		r := runOf(b, tasks...)
		r.KeepGoing = true
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		ended := 0
		r.Observer.Finished = func(*pipeline.Task, record.Task) {
			if ended++; ended%500 == 0 {
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapInuse-min(before.HeapInuse, now.HeapInuse))
			}
		}
		carry(b, b.Context(), r)
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapInuse-min(before.HeapInuse, now.HeapInuse))
	}
	b.ReportMetric(float64(most)/(1<<20), "heap-MB")
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/task")
}
