package console

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// broken fails like a pipe that nobody reads.
type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestOutlet(t *testing.T) {
	t.Parallel()
	t.Run("secrets", func(t *testing.T) {
		t.Parallel()
		set := &redact.Set{}
		set.Add("TOKEN", "hunter2-hunter2")
		var b bytes.Buffer
		o := &Writer{to: &b, secrets: set}
		if n, err := o.Write([]byte("a hunter2-hunter2 b\n")); n != 20 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
		o.Flush()
		if want := "a " + redact.Mark + " b\n"; b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	})
	t.Run("nobody reads", func(t *testing.T) {
		t.Parallel()
		w, told := &broken{}, 0
		o := &Writer{to: w, secrets: &redact.Set{}}
		o.OnFailure(func(error) { told++ })
		for range 3 {
			if n, err := o.Write([]byte("abc")); n != 3 || err != nil {
				t.Errorf("Write = %d, %v: whoever writes is not to be stopped", n, err)
			}
			o.Flush()
		}
		if w.writes != 1 || told != 1 || !errors.Is(o.Problem(), syscall.EPIPE) {
			t.Errorf("%d writes, told %d times, %v", w.writes, told, o.Problem())
		}
		o.OnFailure(func(error) { told++ })
		if told != 2 {
			t.Error("who asks later is not told")
		}
	})
}

// A sink remembers what was written, one string a Write.
type sink struct {
	mu    sync.Mutex
	parts []string
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, string(p))
	return len(p), nil
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.parts, "")
}

func TestOutletGathers(t *testing.T) {
	t.Parallel()
	s := &sink{}
	o := &Writer{to: s, secrets: &redact.Set{}}
	var want strings.Builder
	for range 20000 {
		_, _ = o.Write([]byte("✓ a task passed 0.0s\n"))
		want.WriteString("✓ a task passed 0.0s\n")
	}
	o.Flush()
	if s.text() != want.String() {
		t.Error("the text is not what was written")
	}
	if n := len(s.parts); n > 2000 {
		t.Errorf("%d writes of the system for 20000 lines", n)
	}
}

// What few lines there are is not held back for more.
func TestOutletWritesSoon(t *testing.T) {
	t.Parallel()
	s := &sink{}
	o := &Writer{to: s, secrets: &redact.Set{}}
	_, _ = o.Write([]byte("prompt> "))
	for end := time.Now().Add(2 * time.Minute); s.text() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing was written")
		}
	}
}

// A person who sees both in one terminal reads them in the order they were written in.
func TestOutletOrder(t *testing.T) {
	t.Parallel()
	s := &sink{}
	out := &Writer{to: s, secrets: &redact.Set{}}
	err := &Writer{to: s, secrets: &redact.Set{}, before: out}
	for range 200 {
		_, _ = out.Write([]byte("o"))
		_, _ = err.Write([]byte("e"))
	}
	out.Flush()
	if s.text() != strings.Repeat("oe", 200) {
		t.Errorf("got %q", s.text())
	}
}

// A message about a reader that does not read must not wait for that reader.
func TestOutletBeforeStands(t *testing.T) {
	t.Parallel()
	w := &standing{make(chan struct{}, 9), make(chan struct{})}
	defer close(w.free)
	out := &Writer{to: w, secrets: &redact.Set{}}
	_, _ = out.Write([]byte("a"))
	<-w.began
	s := &sink{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := &Writer{to: s, secrets: &redact.Set{}, before: out}
		_, _ = err.Write([]byte("note: nobody reads\n"))
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("it waits")
	}
	if s.text() != "note: nobody reads\n" || out.Problem() != nil {
		t.Errorf("%q, %v", s.text(), out.Problem())
	}
}

func TestOutletIsDrawnIn(t *testing.T) {
	t.Parallel()
	s := &sink{}
	o := &Writer{to: s, secrets: &redact.Set{}}
	o.writeAround(func(write func()) {
		o.write([]byte("<"))
		write()
		o.write([]byte(">"))
	})
	_, _ = o.Write([]byte("a"))
	o.writeAround(nil)
	_, _ = o.Write([]byte("b"))
	o.Flush()
	if s.text() != "<a>b" {
		t.Errorf("got %q", s.text())
	}
}

// A standing is a pipe that nobody empties, until free is closed.
type standing struct{ began, free chan struct{} }

func (s *standing) Write(p []byte) (int, error) {
	s.began <- struct{}{}
	<-s.free
	return len(p), nil
}

func TestOutletThatNobodyReads(t *testing.T) {
	t.Parallel()
	t.Run("hurried", func(t *testing.T) {
		t.Parallel()
		w := &standing{make(chan struct{}, 9), make(chan struct{})}
		defer close(w.free)
		o := &Writer{to: w, secrets: &redact.Set{}}
		big := make([]byte, writerRoom)
		_, _ = o.Write(big) // on its way
		<-w.began
		_, _ = o.Write(big) // the room is full
		written := make(chan int)
		for range 2 {
			go func() {
				n, _ := o.Write([]byte("abc"))
				written <- n
			}()
		}
		go func() {
			o.Flush()
			written <- 3
		}()
		select {
		case <-written:
			t.Fatal("more is waiting than there is room for, and a Write does not wait")
		case <-time.After(20 * time.Millisecond):
		}
		if err := o.Problem(); err != nil { // asking waits for nobody
			t.Errorf("a reader that is slow is no fault: %v", err)
		}
		o.Hurry(time.Millisecond)
		for range 3 {
			select {
			case n := <-written:
				if n != 3 {
					t.Errorf("Write = %d: whoever writes is not to be stopped", n)
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("Write still waits")
			}
		}
		if !errors.Is(o.Problem(), errUnread) || len(w.began) > 0 {
			t.Errorf("%v, %d more writes", o.Problem(), len(w.began))
		}
	})
	t.Run("hurried, and read", func(t *testing.T) {
		t.Parallel()
		s := &sink{}
		o := &Writer{to: s, secrets: &redact.Set{}}
		o.Hurry(time.Minute)
		_, _ = o.Write([]byte("abc"))
		if o.Flush(); o.Problem() != nil || s.text() != "abc" {
			t.Errorf("%q, %v", s.text(), o.Problem())
		}
	})
}

// What a task that prints little costs: run with -benchmem.
func BenchmarkOutletLine(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	o := &Writer{to: null, secrets: &redact.Set{}}
	line := []byte("✓ a task passed 0.0s\n")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = o.Write(line)
	}
	o.Flush()
}

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
