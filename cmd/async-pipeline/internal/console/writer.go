package console

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A Writer is stdout or stderr. It redacts secrets, never mixes one Write with another, and keeps the error of a
// failed write for the end (Err) instead of returning it to whoever writes.
//
// A Write to stdout is gathered with those that follow at once and written by another goroutine, so a task that
// prints little costs a copy. While more than writerRoom is waiting, a Write blocks as long as the reader takes (a
// paused pager is no error) until Hurry is called. A Write to a Writer with before returns when it is written,
// after all that went to before, so that a person reads both in order; it waits at most a second for before,
// because a message about a blocked reader must not wait for it.
type Writer struct {
	secrets *redact.Set
	to      io.Writer
	before  *Writer // its Writes come first; nil: none

	mu      sync.Mutex // guards what follows; never held while something is written
	pending []byte     // not written yet
	spare   []byte     // memory for the next pending
	pumping bool       // pump is running
	waiting int        // how many wait for pump: it stops gathering
	full    chan struct{}
	err     error
	lost    func(error)   // called once, when writing fails; may be nil
	limit   time.Duration // of one write; 0: none
	changed chan struct{} // closed when err or limit changes or something was written
	around  func(func())  // calls a write between the frames of a drawing; nil: nothing is drawn
}

// How much text may wait for the reader, in bytes; how much is gathered into one write, and for how long.
const (
	writerRoom = 256 << 10
	gatherMost = 32 << 10
	gatherTime = 2 * time.Millisecond
)

// errUnread is the error of a Writer whose reader took too long.
var errUnread = errors.New("nobody read it")

// Write redacts p and writes it. It never fails.
func (w *Writer) Write(p []byte) (int, error) {
	w.WriteClean(w.secrets.Bytes(p))
	return len(p), nil
}

// WriteClean is a Write of text that is free of secrets already.
func (w *Writer) WriteClean(text []byte) {
	w.mu.Lock()
	around := w.around
	w.mu.Unlock()
	if around != nil {
		around(func() { w.write(text) })
	} else {
		w.write(text)
	}
}

// write is WriteClean without regard to a drawing.
func (w *Writer) write(text []byte) {
	if w.before != nil {
		w.before.FlushFor(ReaderTime)
	}
	w.mu.Lock()
	for w.err == nil && len(w.pending) >= writerRoom {
		w.wait()
	}
	if w.err == nil && len(text) > 0 {
		w.pending = append(w.pending, text...)
		if !w.pumping {
			w.pumping = true
			if w.full == nil {
				w.full = make(chan struct{}, 1)
			}
			go w.pump()
		} else if len(w.pending) >= gatherMost {
			w.press()
		}
	}
	w.mu.Unlock()
	if w.before != nil {
		w.Flush()
	}
}

// Flush returns when everything is written, or writing has failed.
func (w *Writer) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && w.pumping {
		w.wait()
	}
}

// FlushFor is Flush that gives up after limit.
func (w *Writer) FlushFor(limit time.Duration) {
	end := time.Now().Add(limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && w.pumping && time.Now().Before(end) {
		timer := time.AfterFunc(time.Until(end), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.wake()
		})
		w.wait()
		timer.Stop()
	}
}

// wait releases mu, which the caller holds, until something has changed. One system write may take no longer than
// limit.
func (w *Writer) wait() {
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	changed, limit := w.changed, w.limit
	w.waiting++
	w.press()
	w.mu.Unlock()
	var expired <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-changed:
	case <-expired:
		w.Fail(errUnread)
	}
	w.mu.Lock()
	w.waiting--
}

// press ends the gathering; the caller holds mu.
func (w *Writer) press() {
	select {
	case w.full <- struct{}{}:
	default:
	}
}

// pump writes until nothing is pending. A write to a pipe that nobody empties cannot be ended, only abandoned: so
// pump owns its bytes, and others wait for it in wait only.
func (w *Writer) pump() {
	for {
		w.gather()
		w.mu.Lock()
		if len(w.pending) == 0 || w.err != nil {
			w.pumping = false
			w.wake()
			w.mu.Unlock()
			return
		}
		text := w.pending
		w.pending, w.spare = w.spare[:0], nil
		w.mu.Unlock()

		_, err := w.to.Write(text)

		w.mu.Lock()
		if cap(text) <= 2*writerRoom {
			w.spare = text
		}
		w.wake()
		w.mu.Unlock()
		if err != nil {
			w.Fail(err)
		}
	}
}

// gather waits a moment for more to write.
func (w *Writer) gather() {
	w.mu.Lock()
	enough := w.waiting > 0 || len(w.pending) == 0 || len(w.pending) >= gatherMost
	w.mu.Unlock()
	if enough {
		return
	}
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-w.full:
	case <-timer.C:
	}
}

// Hurry limits how long each write may take, also one in progress. A write that takes longer is the last.
func (w *Writer) Hurry(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = limit
	w.wake()
}

// Fail makes the Writer drop everything from now on. The first error is kept.
func (w *Writer) Fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.err = err
	w.wake()
	if w.lost != nil {
		w.lost(err)
	}
}

// wake wakes those in wait; the caller holds mu.
func (w *Writer) wake() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// Problem returns why writing has failed, or nil. After Flush it is final for what was written.
func (w *Writer) Problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// OnFailure sets a function that is called once when writing fails; at once when it already did. nil removes it.
func (w *Writer) OnFailure(f func(error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = f
	if w.err != nil && f != nil {
		f(w.err)
	}
}

// writeAround sets a function that calls each write between the frames of a drawing; nil removes it.
func (w *Writer) writeAround(around func(func())) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.around = around
}
