package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// printed is 64 KiB of what compilers and tests print, as a pipe gives it.
func printed() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 64<<10; i++ {
		fmt.Fprintf(&b, "ok  \tgithub.com/somebody/shop/internal/cart%d\t0.%03ds\n", i%17, i%1000)
		fmt.Fprintf(&b, "compiling src/cart/%d.c with -O2 -g -Wall -Wextra -o build/cart/%d.o\n", i, i)
	}
	return b.Bytes()[:64<<10]
}

// pump is the least that can be done: each line after a prefix.
func pump(w io.Writer, buf, chunk []byte) []byte {
	buf = buf[:0]
	for len(chunk) > 0 {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			i = len(chunk) - 1
		}
		buf = append(append(buf, "build │ "...), chunk[:i+1]...)
		chunk = chunk[i+1:]
	}
	_, _ = w.Write(buf)
	return buf
}

// BenchmarkLinesOutput prints, as x-pump, how many times the least it takes.
func BenchmarkLinesOutput(b *testing.B) {
	ascii := printed()
	for name, chunk := range map[string][]byte{
		"ascii":    ascii,
		"umlauts":  bytes.ReplaceAll(ascii, []byte("compiling"), []byte("übersetze")),
		"coloured": bytes.ReplaceAll(ascii, []byte("ok  "), []byte("\x1b[32mok\x1b[0m")),
	} {
		b.Run(name, func(b *testing.B) {
			l := (&Screen{W: io.Discard}).Lines([]string{"build"})
			var buf []byte
			ours, least := time.Hour, time.Hour // the best of all: what a busy machine adds is not ours
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				l.Output("build", chunk)
				between := time.Now()
				buf = pump(io.Discard, buf, chunk)
				ours, least = min(ours, between.Sub(began)), min(least, time.Since(between))
			}
			b.ReportMetric(float64(ours)/float64(least), "x-pump")
			b.ReportMetric(float64(ours.Nanoseconds()), "best-ns/op")
		})
	}
}

// BenchmarkLinesTask is a task that does nothing: two lines.
func BenchmarkLinesTask(b *testing.B) {
	l := (&Screen{W: io.Discard, Colour: true}).Lines([]string{"build"})
	t := &pipeline.Task{Name: "build", Run: pipeline.Command{Argv: []pipeline.Text{{Value: "true"}}}}
	took := int64(2)
	b.ReportAllocs()
	for b.Loop() {
		l.Started(t)
		l.Runs(t)
		delete(l.shown, "build")
		l.Finished(record.Task{Name: "build", Status: record.Passed, DurationMS: &took})
	}
}

// BenchmarkLiveFrame is a frame with 16 tasks at work, all of which have printed something.
func BenchmarkLiveFrame(b *testing.B) {
	var names []string
	for i := range 16 {
		names = append(names, fmt.Sprintf("task%d", i))
	}
	now := time.Now()
	l := (&Screen{W: io.Discard, Colour: true, Columns: 80}).Live(names, func() time.Time { return now })
	for _, n := range names {
		l.Started(&pipeline.Task{Name: n})
	}
	line := []byte(strings.Repeat("compiling ", 9) + "\n")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for _, n := range names {
			l.Output(n, line[i%9:])
		}
		if l.Frame(80, 24, true) == nil {
			b.Fatal("no frame")
		}
	}
}

// BenchmarkLiveOutput measures output of a task that is not shown.
func BenchmarkLiveOutput(b *testing.B) {
	chunk := printed()
	l := (&Screen{W: io.Discard}).Live([]string{"build"}, time.Now)
	l.Started(&pipeline.Task{Name: "build"})
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		l.Output("build", chunk)
	}
}
