package main

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// An outlet is stdout or stderr. What goes through is free of secrets, one Write is never mixed with another, and when
// it cannot be written to any more, that is kept for the end instead of stopping whoever writes.
//
// A Write to stdout is gathered with those that follow at once and written by another goroutine: a task that prints little
// costs a copy. When more than room is waiting, a Write waits for a reader as long as it takes (a pager that stands still is
// no fault) until somebody hurries it. A Write to an outlet with a before is written when it returns, and after all that went
// to before, so that a person reads both in order; before has a second for it, as what is said of a reader that stands still
// is not to wait for that reader.
type outlet struct {
	secrets *redact.Set
	w       io.Writer
	before  *outlet // its Writes come first; nil: none

	mu      sync.Mutex // guards what follows; never held while something is written
	pending []byte     // not written yet
	spare   []byte     // memory for the next pending
	pumping bool       // pump is at work
	waiting int        // who waits for it: it gathers nothing any more
	full    chan struct{}
	err     error
	lost    func(error)   // told once, when writing fails; may be nil
	limit   time.Duration // how long one write may take; 0: as long as it likes
	changed chan struct{} // closed when err or limit is not what it was, or something was written
	around  func(func())  // does a Write in a terminal that somebody draws in; nil: nobody does
}

// How much text waits for its reader, in bytes, and how long for more of it to be written at once.
const (
	outletRoom = 256 << 10
	gatherMost = 32 << 10
	gatherTime = 2 * time.Millisecond
)

// errUnread is why an outlet is written to no more, besides errors of the system.
var errUnread = errors.New("nobody read it")

func (o *outlet) Write(p []byte) (int, error) {
	o.writeClean(o.secrets.Bytes(p))
	return len(p), nil
}

// writeClean is a Write of what is free of secrets already, and goes through as it is.
func (o *outlet) writeClean(text []byte) {
	o.mu.Lock()
	around := o.around
	o.mu.Unlock()
	if around != nil {
		around(func() { o.write(text) })
	} else {
		o.write(text)
	}
}

// write is a writeClean of whoever owns the terminal.
func (o *outlet) write(text []byte) {
	if o.before != nil {
		o.before.flushFor(readerTime)
	}
	o.mu.Lock()
	for o.err == nil && len(o.pending) >= outletRoom {
		o.wait()
	}
	if o.err == nil && len(text) > 0 {
		o.pending = append(o.pending, text...)
		if !o.pumping {
			o.pumping = true
			if o.full == nil {
				o.full = make(chan struct{}, 1)
			}
			go o.pump()
		} else if len(o.pending) >= gatherMost {
			o.press()
		}
	}
	o.mu.Unlock()
	if o.before != nil {
		o.flush()
	}
}

// flush returns when everything is written, or nothing can be.
func (o *outlet) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.pumping {
		o.wait()
	}
}

// flushFor is flush, but gives up after so long.
func (o *outlet) flushFor(limit time.Duration) {
	end := time.Now().Add(limit)
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.pumping && time.Now().Before(end) {
		late := time.AfterFunc(time.Until(end), func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.wake()
		})
		o.wait()
		late.Stop()
	}
}

// wait lets go of mu, which the caller holds, until something has changed. One write of the system may take no longer than
// limit.
func (o *outlet) wait() {
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	changed, limit := o.changed, o.limit
	o.waiting++
	o.press()
	o.mu.Unlock()
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-changed:
	case <-late:
		o.fail(errUnread)
	}
	o.mu.Lock()
	o.waiting--
}

// press ends the gathering; the caller holds mu.
func (o *outlet) press() {
	select {
	case o.full <- struct{}{}:
	default:
	}
}

// pump writes what is pending until nothing is. A write to a pipe that nobody empties cannot be ended, only abandoned: so it
// has bytes of its own, and nobody waits for this goroutine but by wait.
func (o *outlet) pump() {
	for {
		o.gather()
		o.mu.Lock()
		if len(o.pending) == 0 || o.err != nil {
			o.pumping = false
			o.wake()
			o.mu.Unlock()
			return
		}
		text := o.pending
		o.pending, o.spare = o.spare[:0], nil
		o.mu.Unlock()

		_, err := o.w.Write(text)

		o.mu.Lock()
		if cap(text) <= 2*outletRoom {
			o.spare = text
		}
		o.wake()
		o.mu.Unlock()
		if err != nil {
			o.fail(err)
		}
	}
}

// gather gives those who write a moment to write more.
func (o *outlet) gather() {
	o.mu.Lock()
	enough := o.waiting > 0 || len(o.pending) == 0 || len(o.pending) >= gatherMost
	o.mu.Unlock()
	if enough {
		return
	}
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-o.full:
	case <-timer.C:
	}
}

// hurry gives every write, also one that waits already, so long and no longer; one that takes longer is the last.
func (o *outlet) hurry(limit time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limit = limit
	o.wake()
}

// fail keeps the first reason why nothing can be written any more.
func (o *outlet) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.err = err
	o.wake()
	if o.lost != nil {
		o.lost(err)
	}
}

// wake lets those who wait look again; the caller holds mu.
func (o *outlet) wake() {
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// problem is why the outlet cannot be written to, or nil; of what was flushed all is known.
func (o *outlet) problem() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// onLost sets who is told when writing fails; at once when it already did.
func (o *outlet) onLost(f func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = f
	if o.err != nil && f != nil {
		f(o.err)
	}
}

// drawnIn sets who draws in the terminal, and does Writes between the frames; nil: nobody any more.
func (o *outlet) drawnIn(around func(func())) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.around = around
}
