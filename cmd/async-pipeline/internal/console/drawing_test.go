package console

import (
	"io"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Nobody who tells what happens waits for a frame that is being written.
func TestDrawingHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := &standing{make(chan struct{}, 9), make(chan struct{})}
	defer close(w.free)
	c := New(nil, w, io.Discard, func(string) string { return "" }, "", &redact.Set{})
	live := c.Results().Live([]string{"a", "b"}, time.Now)
	d := c.Draw(live)
	live.Finished(record.Task{Name: "a", Status: record.Passed})
	<-w.began // a frame is on its way, for ever
	told := make(chan struct{})
	go func() {
		defer close(told)
		live.Output("b", []byte("x\n"))
		live.Finished(record.Task{Name: "b", Status: record.Passed})
		_, _ = d.Write([]byte("a step of a hook\n"))
	}()
	select {
	case <-told:
	case <-time.After(2 * time.Minute):
		t.Fatal("they wait for the terminal")
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		d.Close()
	}()
	c.Out.Fail(errUnread)
	select {
	case <-closed:
	case <-time.After(2 * time.Minute):
		t.Fatal("the end waits for a terminal that was left")
	}
}
